/** `orchestrator_report`: a row for the record, an item for the main Session. Asked again it finds its row. */

import { whatIsOpen } from '../../core/ticket/closing.ts'
import { MAIN } from '../../core/ticket/scope.ts'
import { orchestratorReport } from '../../core/tool/orchestrator-report.ts'
import type { CallAddress } from '../../ledger/calls.ts'
import { closingFacts } from '../../ledger/closing.ts'
import { type Tx, transaction } from '../../ledger/database.ts'
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
    const open = ENDS.has(status) ? await stillOpen(tx, ticket, at) : []
    return { text: open.length === 0 ? `reported: ${status}` : `reported: ${status}. The Ticket stays open: ${open.join(', ')}.` }
  })
}

/** Reports after which a Ticket closes when its turn ends, unless something is open (spec R2). */
const ENDS: ReadonlySet<string> = new Set(['done', 'cannot_complete', 'yielded'])

async function stillOpen(tx: Tx, ticket: number, at: CallAddress): Promise<string[]> {
  return whatIsOpen(await closingFacts(tx, ticket, at))
}
