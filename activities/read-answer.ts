/** What the model answered, read against the tools that it was offered: what stands in the log, and the calls as they will run. */
import type { Answer } from '../core/prompt/conversation.ts'
import type { Offered } from '../core/tool/packages.ts'
import { findTool, parseInput } from '../core/tool/parse-input.ts'
import type { NewCall } from '../ledger/steps.ts'
import type { ModelAnswer } from './model/stream.ts'

export type ReadCall = NewCall & { said: { name: string; input: unknown } }

export function readAnswer(answer: ModelAnswer, step: number, offered: Offered): { said: Answer; calls: ReadCall[] } {
  const calls = answer.calls.map((call, position) => readCall(call, `call_${step}_${position + 1}`, offered))
  const said: Answer = {
    text: answer.text,
    ...(answer.reasoning === '' ? {} : { reasoning: answer.reasoning }),
    calls: calls.map(({ call, said }) => ({ id: call, ...said })),
  }
  return { said, calls }
}

/** A call as it will run, or why it cannot: the model is told by the call's result, and the turn goes on. */
function readCall(given: ModelAnswer['calls'][number], call: string, { tools }: Offered): ReadCall {
  if ('unparsed' in given) {
    const fault = `${given.name}: the arguments are no JSON, so nothing was done: ${JSON.stringify(given.unparsed.slice(0, 200))}. Call it again with one JSON object.`
    return { call, tool: 'unknown', input: {}, fault, nature: 'read', place: 'ledger', said: { name: given.name, input: {} } }
  }
  const input = (given.input ?? {}) as Record<string, unknown>
  const found = findTool(given.name, tools)
  if ('refused' in found)
    return { call, tool: 'unknown', input, fault: found.refused, nature: 'read', place: 'ledger', said: { name: given.name, input } }
  const parsed = parseInput(found.tool, input)
  const { name, nature, place } = found.tool
  if ('refused' in parsed) return { call, tool: name, input, fault: parsed.refused, nature: 'read', place: 'ledger', said: { name, input } }
  return { call, tool: name, input: parsed.value, fault: null, nature, place, said: { name, input } }
}
