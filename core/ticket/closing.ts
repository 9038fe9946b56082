/**
 * Whether a Ticket closes at the end of a turn (spec R2). Facts in, decision out; the ledger gathers the facts and acts in the
 * transaction that stores the turn's end.
 */

export type ClosedReason = 'delivered' | 'merged' | 'cannot_complete' | 'yielded' | 'stopped' | 'withdrawn'
export type ReportStatus = 'progress' | 'draft' | 'done' | 'cannot_complete' | 'yielded'

export interface ClosingFacts {
  /** The Ticket's last Report. `outdated`: a message, answer, fact or note was read after it. */
  report: { status: ReportStatus; outdated: boolean; reminders: number } | null
  pendingClaims: number
  openQuestions: number
  runningJobs: number
  /** The agent's own, e.g. `#12`; a person's may stay open after `yielded`. */
  openPullRequests: readonly string[]
  /** The turn that P5 grants once people have merged or closed every pull request of the Ticket. */
  lastTurn: { merged: boolean; pushedInIt: boolean; unreportedRequest: boolean } | null
}

export type Closing = { closes: ClosedReason } | { remind: string } | { stays: readonly string[] }

const CLOSES_AS: Partial<Record<ReportStatus, ClosedReason>> = { done: 'delivered', cannot_complete: 'cannot_complete', yielded: 'yielded' }
/** After so many reminders an outdated Report stands. */
const MOST_REMINDERS = 2

export function decideClosing(facts: ClosingFacts): Closing {
  const { report, lastTurn } = facts
  const open = whatIsOpen(facts)
  if (lastTurn && !lastTurn.pushedInIt && !lastTurn.unreportedRequest && open.length === 0)
    return { closes: lastTurn.merged ? 'merged' : 'stopped' }

  const reason = report && CLOSES_AS[report.status]
  if (!report || !reason) return { stays: ['no Report says that the work has ended'] }
  if (open.length > 0) return { stays: open }
  if (!report.outdated || report.reminders >= MOST_REMINDERS) return { closes: reason }
  return {
    remind: `Your last Report said "${report.status}", and you have read something since. Report again: the same status if it still holds, or what has changed.`,
  }
}

/** What keeps a Ticket open whatever its Report says, in words. */
export function whatIsOpen({
  pendingClaims,
  openQuestions,
  runningJobs,
  openPullRequests,
}: Pick<ClosingFacts, 'pendingClaims' | 'openQuestions' | 'runningJobs' | 'openPullRequests'>): string[] {
  return [
    counted(pendingClaims, 'message to claim or hand back', 'messages to claim or hand back'),
    counted(openQuestions, 'open question', 'open questions'),
    counted(runningJobs, 'running job', 'running jobs'),
    openPullRequests.length > 0 ? `open pull request${openPullRequests.length === 1 ? '' : 's'} ${openPullRequests.join(', ')}` : null,
  ].filter((each) => each !== null)
}

const counted = (count: number, one: string, many: string): string | null => (count === 0 ? null : `${count} ${count === 1 ? one : many}`)
