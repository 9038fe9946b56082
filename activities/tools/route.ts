/** `orchestrator_route`: each decision of the batch is a transaction of its own and stands or falls by itself (spec E2). */
import { orchestratorRoute, readDecision } from '../../core/tool/orchestrator-route.ts'
import { transaction } from '../../ledger/database.ts'
import { ignoreCandidate, startTicket } from '../../ledger/tickets.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function route({ deps, at, input }: ToolCall): Promise<ToolAnswer> {
  const { decisions } = orchestratorRoute.input.parse(input)
  const lines: string[] = []
  for (const [index, written] of decisions.entries()) {
    const outcome = await decide(written)
    lines.push(`${index + 1}. C-${written.candidate}: ${outcome}`)
  }
  return { text: lines.join('\n') }

  async function decide(written: (typeof decisions)[number]): Promise<string> {
    const decision = readDecision(written)
    if ('refused' in decision) return `refused: ${decision.refused}`
    const { candidate } = decision
    const decidedBy = at.session
    if (decision.decision === 'ignore') {
      const ignored = await transaction(deps.db, (tx) => ignoreCandidate(tx, { candidate, reason: decision.reason, decidedBy }))
      return 'refused' in ignored ? await again(candidate, ignored.refused) : 'ignored'
    }
    const started = await transaction(deps.db, (tx) =>
      startTicket(tx, { candidate, title: decision.title, note: decision.note ?? '', decidedBy }),
    )
    return 'refused' in started ? await again(candidate, started.refused) : `started T-${started.ticket}`
  }

  /** A call that runs again after a crash meets its own decisions: they stand, and are told as what they did. */
  async function again(candidate: number, refused: string): Promise<string> {
    const row = await deps.db
      .selectFrom('candidate')
      .select(['state', 'ticket', 'decidedBy', 'decidedAt'])
      .where('id', '=', candidate)
      .executeTakeFirst()
    const call = await deps.db
      .selectFrom('toolCall')
      .select('startedAt')
      .where('session', '=', at.session)
      .where('step', '=', at.step)
      .where('call', '=', at.call)
      .executeTakeFirstOrThrow()
    const own = row?.decidedBy === at.session && row.decidedAt !== null && call.startedAt !== null && row.decidedAt >= call.startedAt
    if (own && row.state === 'started') return `started T-${row.ticket}`
    if (own && row.state === 'ignored') return 'ignored'
    return `refused: ${refused}`
  }
}
