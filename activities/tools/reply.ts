/** `reply`: a result, or that the work cannot be completed, under the message that it answers. */
import { reply as definition } from '../../core/tool/reply.ts'
import { say } from './say.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function reply(call: ToolCall): Promise<ToolAnswer> {
  return say(call, definition.input.parse(call.input))
}
