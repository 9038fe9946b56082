/** What stops a Session's work: people's holds, and the move to a fresh history. Shared by a Ticket and its subagents. */
import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow'
import type { Mark } from '../core/ticket/scope.ts'

export type Control = ReturnType<typeof createControl>

/**
 * The pause rows of the ledger are the truth; this remembers what was heard of them, in whatever order it arrived.
 * A scope is held while its newest pause is newer than its newest resume.
 */
export function createControl(rollAfter = 1_200) {
  const paused = new Map<string, number>()
  const resumed = new Map<string, number>()
  const running = new Set<CancellationScope>()
  const hear = (marks: Map<string, number>, { scope, generation }: Mark) => marks.set(scope, Math.max(generation, marks.get(scope) ?? 0))

  const control = {
    /** The history is long enough: finish what runs, start nothing, continue as new. */
    get rolling(): boolean {
      const { historyLength, continueAsNewSuggested } = workflowInfo()
      return historyLength > rollAfter || continueAsNewSuggested
    },
    get held(): boolean {
      return [...paused].some(([scope, generation]) => generation > (resumed.get(scope) ?? 0))
    },
    pause(mark: Mark): void {
      hear(paused, mark)
      if (control.held) control.cut()
    },
    /** Ends what runs; it is awaited to its end and counts as not done. */
    cut(): void {
      for (const scope of running) scope.cancel()
    },
    resume(mark: Mark): void {
      hear(resumed, mark)
    },
    /**
     * Runs work side by side and returns its results once all of it has ended, or null: nothing was started because people
     * hold or the history rolls, or a hold cut it off. After null the same step runs again; what is stored is found done.
     */
    async run<Result>(work: (() => Promise<Result>)[]): Promise<(Result | { outcome: 'error' })[] | null> {
      if (control.held || control.rolling) return null
      const scope = new CancellationScope()
      running.add(scope)
      const ended = await scope.run(() => Promise.allSettled(work.map((start) => start())))
      running.delete(scope)
      if (scope.consideredCancelled) return null
      return ended.map((end) => {
        if (end.status === 'fulfilled') return end.value
        if (isCancellation(end.reason)) throw end.reason // the whole workflow was cancelled from outside
        return { outcome: 'error' }
      })
    },
  }
  return control
}
