/** Runs a workspace tool in the Ticket's checkout; a nested AGENTS.md comes with the first result that touches its folder (N12). */

import type { Answer, Given } from '../workspace/given.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

/** The input was parsed by the tool's own schema when the model's answer was taken in. */
export const inCheckout =
  <Input>(tool: (given: Given<Input>) => Promise<Answer>) =>
  async (call: ToolCall): Promise<ToolAnswer> => {
    const place = await checkoutOf(call)
    if ('refused' in place) return place
    return tool({ folder: place.folder, sandbox: call.deps.workspaces.sandbox, input: call.input as Input, signal: call.signal })
  }

export interface CheckoutPlace {
  folder: string
  ticket: number
  base: string
  repository: { id: number; externalId: string; fullName: string; defaultBranch: string }
}

export async function checkoutOf({ deps, at, ticket, signal }: ToolCall): Promise<CheckoutPlace | { refused: string }> {
  if (ticket === null) return { refused: 'This Session has no checkout.' }
  const row = await deps.db
    .selectFrom('session')
    .innerJoin('ticket', 'ticket.id', 'session.ticket')
    .innerJoin('repository', 'repository.id', 'ticket.repository')
    .select(['session.baseCommit', 'repository.id', 'repository.externalId', 'repository.fullName', 'repository.defaultBranch'])
    .where('session.id', '=', at.session)
    .executeTakeFirst()
  if (!row?.baseCommit) return { refused: 'This Ticket has no repository, so there is no checkout: read and ask only.' }
  const { baseCommit: base, ...repository } = row
  const { path } = await deps.workspaces.open({ ticket, repository, base, signal })
  return { folder: path, ticket, base, repository }
}
