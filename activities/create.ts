/** The activities as a worker registers them. */
import { ApplicationFailure, activityInfo, getClient } from '@temporalio/activity'
import type { Mark } from '../core/ticket/scope.ts'
import { transaction } from '../ledger/database.ts'
import { recordCommand } from '../ledger/pauses.ts'
import { standing } from '../ledger/sessions.ts'
import type { LedgerActivities, Opened, RawCommand, StepActivities } from '../workflows/protocol.ts'
import { alive } from './alive.ts'
import type { Deps } from './deps.ts'
import { loseHost, pollingHosts } from './hosts.ts'
import { modelStep } from './model-step.ts'
import { runTool } from './run-tool.ts'

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
    loseHost: (call) => {
      const { workflowService, options } = getClient()
      return loseHost(deps, call, () => pollingHosts(workflowService, options.namespace))
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
