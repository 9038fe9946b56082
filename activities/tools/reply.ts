/** `reply`: a result, or that the work cannot be completed, under the message that it answers. */
import { reply as definition } from '../../core/tool/reply.ts'
import { hasClaimed } from './claimed.ts'
import { say } from './say.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function reply(call: ToolCall): Promise<ToolAnswer> {
  const saying = definition.input.parse(call.input)
  // else the same result could stand under everything that the Ticket hears of, a check or a label too (F125)
  if (saying.purpose === 'result' && !(await hasClaimed(call, saying.message)))
    return { refused: `Refused: T-${call.ticket} has not claimed message ${saying.message}, so no result was asked for there.` }
  return say(call, saying)
}
