/**
 * The one way in which a workflow is woken, and started where none runs: by the dispatcher for unread inbox rows, by `recover` for
 * what Temporal lost. The signal carries nothing; what there is to do stands in the ledger.
 */
import type { Client } from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common'
import { MAIN, ticketOf } from '../core/ticket/scope.ts'
import { QUEUES, wake } from '../workflows/protocol.ts'

const ROLE = defineSearchAttributeKey('SyRole', SearchAttributeType.KEYWORD)

/** Workflows continue as new above `rollAfter` history events. */
export async function wakeWorkflow(client: Client, scope: string, rollAfter: number): Promise<void> {
  const ticket = ticketOf(scope)
  await client.workflow.signalWithStart(ticket === null ? 'mainSession' : 'ticket', {
    workflowId: scope,
    taskQueue: QUEUES.workflows,
    args: [ticket === null ? { rollAfter } : { ticket, rollAfter }],
    signal: wake,
    signalArgs: [],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    typedSearchAttributes: new TypedSearchAttributes([{ key: ROLE, value: ticket === null ? 'main' : 'executor' }]),
    staticSummary: ticket === null ? 'Main Session' : `Ticket T-${ticket}`,
    staticDetails: `What it says and does stands in the ledger: switchyard status ${ticket === null ? MAIN : `T-${ticket}`}`,
  })
}
