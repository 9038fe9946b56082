/**
 * What every long activity lives by: a timer's heartbeat for its whole life, never the model's chunks, with which a cancel
 * arrives; a look at the ledger with each beat, so that a pause or a close ends the work also while Temporal is away (spec I2);
 * and the few errors that are worth no other attempt.
 */
import { ApplicationFailure, activityInfo, CancelledFailure, cancellationSignal, heartbeat } from '@temporalio/activity'
import { redacted } from '../channels/github/failure.ts'
import { type Mark, ticketOf } from '../core/ticket/scope.ts'
import { raiseAlarm } from '../ledger/alarms.ts'
import type { Database } from '../ledger/database.ts'
import { holdsOn } from '../ledger/pauses.ts'
import type { Address } from '../workflows/protocol.ts'
import type { Deps } from './deps.ts'
import { isOutage, retryAtOf } from './outage.ts'

const BEAT_MS = 3_000
/** An error that is on no list is a bug: so many tries, then an alarm, and the turn ends as `error`. */
const UNKNOWN_TRIES = 5

export type Stopped = { outcome: 'paused'; holds: Mark[] } | { outcome: 'closed' }

/** `work` ends when its signal says so; what was cut off by people comes back as `paused` or `closed`. */
export async function alive<Result>(
  deps: Deps,
  { session, step }: Address,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | Stopped> {
  const scope = scopeOf(session)
  const cancelled = cancellationSignal()
  const stopping = new AbortController()
  let stopped: Stopped | null = null
  const timer = setInterval(() => {
    heartbeat()
    stopFor(deps.db, scope).then(
      (found) => {
        if (!found) return
        stopped ??= found
        stopping.abort(new Error(`stopped by people: ${found.outcome}`))
      },
      (error) => deps.log.debug({ err: error }, 'the ledger cannot be asked for holds; the next beat asks again'),
    )
  }, BEAT_MS)
  try {
    return await work(AbortSignal.any([cancelled, stopping.signal]))
  } catch (error) {
    if (stopped && !cancelled.aborted) return stopped
    // as what it is, or the history would hold a failure with its stack
    if (cancelled.aborted) throw new CancelledFailure('cut off')
    if (error instanceof ApplicationFailure) throw error
    throw await judged(deps, { scope, session, step }, error)
  } finally {
    clearInterval(timer)
  }
}

/** What stops work of this scope that runs now. */
async function stopFor(db: Database, scope: string): Promise<Stopped | null> {
  const holds = await holdsOn(db, scope)
  if (holds.length > 0) return { outcome: 'paused', holds }
  const ticket = ticketOf(scope)
  if (ticket === null) return null
  const { state } = await db.selectFrom('ticket').select('state').where('id', '=', ticket).executeTakeFirstOrThrow()
  return state === 'closed' ? { outcome: 'closed' } : null
}

async function judged(deps: Deps, { scope, session, step }: Address & { scope: string }, error: unknown): Promise<ApplicationFailure> {
  const { attempt } = activityInfo()
  const message = closedWords(error)
  deps.log.error({ err: error, session, step, attempt }, 'an activity failed')
  if (isOutage(error)) {
    const retryAt = retryAtOf(error)
    const nextRetryDelay = retryAt === null ? undefined : Math.max(1_000, retryAt.getTime() - deps.now().getTime())
    return ApplicationFailure.create({ type: 'Outage', message, ...(nextRetryDelay === undefined ? {} : { nextRetryDelay }) })
  }
  if (attempt < UNKNOWN_TRIES) return ApplicationFailure.retryable(message, 'Unexpected')
  const words = redacted(error instanceof Error ? error.message : String(error)).slice(0, 400)
  await raiseAlarm(deps.db, 'error', scope, `step ${step} of ${session} failed ${UNKNOWN_TRIES} times: ${words}`)
  return ApplicationFailure.nonRetryable(message, 'Unexpected')
}

/** What Temporal's history may hold of an error (spec M7, M8): its name and code where they are single words, never its message. */
export function closedWords(error: unknown): string {
  const { name, code } = (error instanceof Error ? error : { name: typeof error }) as { name?: unknown; code?: unknown }
  const known = [name, code].filter((word) => typeof word === 'string' && /^\w{1,40}$/.test(word))
  return `an activity failed: ${known.join(' ') || 'Error'}; see the log`
}

/** `main-1` → `main`, `t7-2` → `ticket-7`. */
const scopeOf = (session: string): string => session.replace(/-\d+$/, '').replace(/^t(?=\d)/, 'ticket-')
