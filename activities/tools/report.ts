/** `orchestrator_report`: a row for the record, an item for the main Session. Asked again it finds its row. */

import { MAIN } from '../../core/ticket/scope.ts'
import { orchestratorReport } from '../../core/tool/orchestrator-report.ts'
import { transaction } from '../../ledger/database.ts'
import { deliver } from '../../ledger/inbox.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function report({ deps, at, input, ticket }: ToolCall): Promise<ToolAnswer> {
  if (ticket === null) return { refused: 'Only a Ticket reports.' }
  const { status, summary, evidence = [], pullRequest } = orchestratorReport.input.parse(input)
  return transaction(deps.db, async (tx): Promise<ToolAnswer> => {
    const own = await tx.selectFrom('pullRequest').select(['id', 'number', 'url']).where('ticket', '=', ticket).orderBy('id').execute()
    const named = pullRequest === undefined ? null : own.find(({ number }) => number === pullRequest)
    if (named === undefined) {
      const legal =
        own.length === 0 ? 'This Ticket has none: leave it out.' : `This Ticket has ${own.map(({ number }) => number).join(', ')}.`
      return { refused: `Pull request ${pullRequest} is not this Ticket's. ${legal}` }
    }
    const row = await tx
      .insertInto('report')
      .values({ ...at, ticket, status, body: summary, purgedAt: null, evidence: JSON.stringify(evidence), pullRequest: named?.id ?? null })
      .onConflict((on) => on.columns(['session', 'step', 'call']).doNothing())
      .returning('id')
      .executeTakeFirst()
    if (row) await deliver(tx, [{ address: MAIN, kind: 'report', report: row.id }])
    return { text: `reported: ${status}` }
  })
}
