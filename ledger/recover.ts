/** What must have a workflow (spec O5): the main Session and every Ticket that is not closed, with what holds it, in one snapshot. */
import { holdersOf, MAIN, ticketScope } from '../core/ticket/scope.ts'
import { type Database, transaction } from './database.ts'

export interface Live {
  scope: string
  /** A hold of its own or of everything, and who said so. */
  heldBy: string[]
}

export function liveWorkflows(db: Database): Promise<Live[]> {
  return transaction(
    db,
    async (tx) => {
      const tickets = await tx.selectFrom('ticket').select('id').where('state', '!=', 'closed').orderBy('id').execute()
      const holds = await tx.selectFrom('pause').select(['scope', 'actor']).where('held', '=', true).orderBy('scope').execute()
      return [MAIN, ...tickets.map(({ id }) => ticketScope(id))].map((scope) => ({
        scope,
        heldBy: holds.filter((hold) => holdersOf(scope).includes(hold.scope)).map(({ actor }) => actor ?? 'nobody known'),
      }))
    },
    'repeatable read',
  )
}
