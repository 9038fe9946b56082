/** The activities as a worker registers them: each with a heartbeat, a signal, and the few errors that are worth no retry. */
import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity'
import type { Mark } from '../core/ticket/scope.ts'
import { raiseAlarm } from '../ledger/alarms.ts'
import { transaction } from '../ledger/database.ts'
import { recordCommand } from '../ledger/pauses.ts'
import { standing } from '../ledger/sessions.ts'
import type { Address, LedgerActivities, Opened, RawCommand, StepActivities } from '../workflows/protocol.ts'
import type { Deps } from './deps.ts'
import { modelStep } from './model-step.ts'
import { isOutage } from './outage.ts'
import { runTool } from './run-tool.ts'

const HEARTBEAT_MS = 4_000
/** An error that is on no list is a bug: so many tries, then an alarm, and the turn ends as `error`. */
const UNKNOWN_TRIES = 5

export type Activities = ReturnType<typeof createActivities>

export function createActivities(deps: Deps): StepActivities & LedgerActivities {
  const recorded = async (kind: 'pause' | 'resume' | 'close', { scope, id, by, reason }: RawCommand): Promise<Mark> => {
    const result = await transaction(deps.db, (tx) =>
      recordCommand(tx, { kind, scope, actor: by, reason, transport: 'temporal', updateId: id }),
    )
    if ('refused' in result) throw ApplicationFailure.nonRetryable(result.refused, 'Refused')
    return result.mark
  }
  return {
    modelStep: (at) => alive(deps, at, (signal) => modelStep(deps, at, { signal, attempt: activityInfo().attempt })),
    runTool: (at) => alive(deps, at, (signal) => runTool(deps, at, signal)),
    openSubagent: async ({ session }) => {
      throw ApplicationFailure.nonRetryable(`session ${session} asked for a subagent, and no provider of subagents is there`, 'NoSubagents')
    },
    async openSession({ scope }): Promise<Opened | null> {
      const where = await transaction(deps.db, (tx) => standing(tx, scope), 'repeatable read')
      return (
        where && { at: { session: where.session, step: where.step }, opening: where.opening, holds: where.holds, threads: where.threads }
      )
    },
    recordPause: (given) => recorded('pause', given),
    recordResume: (given) => recorded('resume', given),
    recordClose: (given) => recorded('close', given),
  }
}

/** A timer's heartbeat for the activity's whole life, never the model's chunks; a cancel arrives with it. */
async function alive<Result>(deps: Deps, { session, step }: Address, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const timer = setInterval(() => heartbeat(), HEARTBEAT_MS)
  const signal = cancellationSignal()
  try {
    return await work(signal)
  } catch (error) {
    if (signal.aborted || error instanceof ApplicationFailure) throw error
    const message = error instanceof Error ? error.message.slice(0, 400) : String(error)
    deps.log.error({ err: error, session, step, attempt: activityInfo().attempt }, 'an activity failed')
    if (isOutage(error)) throw ApplicationFailure.retryable(message, 'Outage')
    if (activityInfo().attempt < UNKNOWN_TRIES) throw ApplicationFailure.retryable(message, 'Unexpected')
    await raiseAlarm(deps.db, 'error', scopeOf(session), `step ${step} of ${session} failed ${UNKNOWN_TRIES} times: ${message}`)
    throw ApplicationFailure.nonRetryable(message, 'Unexpected')
  } finally {
    clearInterval(timer)
  }
}

/** `main-1` → `main`, `t7-2` → `ticket-7`. */
const scopeOf = (session: string): string => session.replace(/-\d+$/, '').replace(/^t(?=\d)/, 'ticket-')
