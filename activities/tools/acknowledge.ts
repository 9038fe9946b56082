/** `orchestrator_acknowledge`: the receipt under a message that this Ticket has claimed, once (spec H2). */
import { orchestratorAcknowledge } from '../../core/tool/orchestrator-acknowledge.ts'
import { hasClaimed } from './claimed.ts'
import { say } from './say.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function acknowledge(call: ToolCall): Promise<ToolAnswer> {
  const { message, text } = orchestratorAcknowledge.input.parse(call.input)
  if (!(await hasClaimed(call, message)))
    return { refused: `Refused: T-${call.ticket} has not claimed message ${message}, so it has nothing to acknowledge there.` }
  return say(call, { message, purpose: 'acknowledge', text })
}
