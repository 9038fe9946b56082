/** One turn of a Session: model step, tool calls, model step, … until the model ends it or something stops it. */
import { ActivityCancellationType, ActivityFailure, type ActivityOptions, proxyActivities, TimeoutFailure } from '@temporalio/workflow'
import type { Control } from './control.ts'
import { type Address, type Call, type CallResult, isWorkspaceQueue, QUEUES, type StepActivities, type StepResult } from './protocol.ts'

export type TurnEnd = 'end' | 'more' | 'idle' | 'handoff' | 'budget' | 'blocked' | 'unbuilt' | 'error' | 'closed' | 'stopped'

/**
 * Attempts are unlimited: an activity decides itself what is worth another one (an outage is, without end; a bug is not), and
 * says so with a non-retryable failure. The heartbeat comes from a timer around the whole activity.
 */
const STEADY: ActivityOptions = {
  startToCloseTimeout: '2h',
  heartbeatTimeout: '20s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '5m' },
}
const { modelStep } = proxyActivities<StepActivities>({ ...STEADY, taskQueue: QUEUES.model })
const { openSubagent, loseHost } = proxyActivities<StepActivities>({ ...STEADY, taskQueue: QUEUES.ledger })

/** So long a call waits for the host that has its checkout before anybody asks whether that host is gone. */
const HOST: ActivityOptions = { scheduleToStartTimeout: '1m' }

/** Advances `session.step` only past steps whose every result is stored, so a stopped turn goes on exactly where it was. */
export async function turn(session: Address, control: Control): Promise<TurnEnd> {
  for (;;) {
    const summary = `model step ${session.step}`
    const stepped = await control.run([() => modelStep.executeWithOptions({ summary }, [{ ...session }])])
    if (!stepped) return 'stopped'
    const [step] = stepped as [StepResult]
    if (step.outcome === 'end' || step.outcome === 'more') session.step += 1
    if (step.outcome !== 'tools') return stop(step, control)

    for (const batch of batches(step.calls)) {
      const results = await control.run(batch.map((call) => () => runCall(session, call, control)))
      if (!results) return 'stopped'
      const halt = results.find((result) => result.outcome !== 'done')
      if (halt) return stop(halt, control)
    }
    session.step += 1
  }
}

/** A tool call is one activity; a subagent is a turn of its own inside this one, with the same holds. */
async function runCall(session: Address, call: Call, control: Control): Promise<CallResult | { outcome: 'stopped' }> {
  const at = { ...session, call: call.id }
  if (call.subagent) {
    const child = await openSubagent(at)
    const end = await turn(child, control)
    if (end === 'stopped' || end === 'closed') return { outcome: end }
  }
  const waits = isWorkspaceQueue(call.queue) ? HOST : {}
  const { runTool } = proxyActivities<StepActivities>({ ...STEADY, ...waits, taskQueue: call.queue })
  try {
    return await runTool.executeWithOptions({ summary: call.tool }, [at]) // for a subagent: stores its last answer as the call's result
  } catch (error) {
    if (!wasNotTaken(error)) throw error
    await loseHost({ ...at, queue: call.queue })
    return { outcome: 'stopped' } // the same step again: calls that still lack a result go to where the checkout is by then
  }
}

const wasNotTaken = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'SCHEDULE_TO_START'

function stop(result: Exclude<StepResult, { outcome: 'tools' }> | CallResult | { outcome: 'stopped' }, control: Control): TurnEnd {
  if (result.outcome === 'paused') {
    for (const hold of result.holds) control.pause(hold)
    return 'stopped'
  }
  return result.outcome === 'done' ? 'end' : result.outcome
}

/** Neighbouring calls that may run side by side do; every other call runs alone, in the model's order. */
function batches(calls: Call[]): Call[][] {
  const found: Call[][] = []
  for (const call of calls) {
    const last = found.at(-1)
    if (call.parallel && last?.at(-1)?.parallel) last.push(call)
    else found.push([call])
  }
  return found
}
