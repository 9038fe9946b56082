/**
 * One tool call (design §5): begun in a transaction that knows the holds, gated, run, its result stored once. A refusal is a
 * result: it says why and what would be legal.
 */
import { gate } from '../core/authority/gate.ts'
import type { Nature, Tool } from '../core/tool/tool.ts'
import { TOOLS } from '../core/tool/tools.ts'
import { type BegunCall, beginCall, type CallAddress, startOnce, storeResult } from '../ledger/calls.ts'
import { transaction } from '../ledger/database.ts'
import { ticketFacts } from '../ledger/mandates.ts'
import type { CallOutcome } from '../ledger/schema.ts'
import type { CallResult } from '../workflows/protocol.ts'
import type { Deps } from './deps.ts'
import { RUN } from './tools/run.ts'
import type { ToolAnswer, ToolCall } from './tools/tool-call.ts'

/** Natures that change or send something: the gate stands before them. */
const GATED: readonly Nature[] = ['work', 'once', 'effect']

export async function runTool(deps: Deps, at: CallAddress, signal: AbortSignal): Promise<CallResult> {
  const begun = await beginCall(deps.db, at)
  if ('outcome' in begun) return begun
  const { tool, input, fault, nature, role, ticket } = begun.begun
  const start = async () => (nature === 'once' ? startOnce(deps.db, at) : ('started' as const))
  const call = { deps, at, input, role, ticket, start, signal }
  const answer = fault === null ? await run(definitionOf(tool, role), call) : { refused: fault }
  // cut off: no result is stored, so the call runs again after the hold, or ends as interrupted if it must not
  signal.throwIfAborted()
  if ('paused' in answer) return { outcome: 'paused', holds: answer.paused }
  const result: { text: string; outcome: CallOutcome } =
    'text' in answer ? { text: answer.text, outcome: 'done' } : { text: answer.refused, outcome: 'refused' }
  await transaction(deps.db, (tx) => storeResult(tx, at, result))
  return { outcome: 'done' }
}

async function run(tool: Tool, call: ToolCall): Promise<ToolAnswer> {
  if (call.ticket !== null && GATED.includes(tool.nature)) {
    // effects outside are gated once more where their repository is known
    const { mandate, owed } = await ticketFacts(call.deps.db, call.ticket)
    const gated = gate({ ticket: call.ticket, effect: null, repository: null, mandate, owed })
    if ('refused' in gated) return gated
  }
  return RUN[tool.name]!(call)
}

function definitionOf(name: string, role: BegunCall['role']): Tool {
  const tool = TOOLS.find((each) => each.name === name && each.for.includes(role))
  if (!tool || !RUN[name]) throw new Error(`the tool ${name} of the role ${role} is in the ledger and not in this program`)
  return tool
}
