/** What the gate asks the ledger, at the moment of an effect (spec F4, H2). */

import type { GateFacts } from '../core/authority/gate.ts'
import { messageKey, type Words } from '../core/message/purpose.ts'
import type { Database, Tx } from './database.ts'

export interface TicketFacts {
  opening: number
  mandate: GateFacts['mandate']
  owed: number[]
  repository: { id: number; externalId: string; fullName: string; defaultBranch: string } | null
}

export async function ticketFacts(db: Database | Tx, ticket: number): Promise<TicketFacts> {
  const { opening, repository } = await db
    .selectFrom('ticket')
    .select(['opening', 'repository'])
    .where('id', '=', ticket)
    .executeTakeFirstOrThrow()
  const mandates = await db.selectFrom('mandate').select(['effects', 'repositories']).where('ticket', '=', ticket).execute()
  const ids = mandates.flatMap(({ repositories }) => repositories)
  const known = ids.length === 0 ? [] : await db.selectFrom('repository').selectAll().where('id', 'in', ids).execute()
  const own = known.find(({ id }) => id === repository)
  return {
    opening,
    mandate: {
      effects: [...new Set(mandates.flatMap(({ effects }) => effects))],
      repositories: known.map(({ id, fullName }) => ({ id, fullName })),
    },
    owed: await owedAcknowledgements(db, ticket, opening),
    repository: own ? { id: own.id, externalId: own.externalId, fullName: own.fullName, defaultBranch: own.defaultBranch } : null,
  }
}

export const acknowledgementKey = (ticket: number, opening: number, message: number): string =>
  messageKey({ by: { ticket, opening }, purpose: 'acknowledge', about: String(message) } satisfies Words)

/** Claimed messages that started the Ticket or by which a member addresses the agent, without a receipt and without a final refusal. */
async function owedAcknowledgements(db: Database | Tx, ticket: number, opening: number): Promise<number[]> {
  const claimed = await db
    .selectFrom('claim')
    .innerJoin('trigger', 'trigger.id', 'claim.trigger')
    .select('trigger.id')
    .where('claim.ticket', '=', ticket)
    .where('claim.state', '=', 'claimed')
    .where('trigger.kind', '=', 'message')
    .where('trigger.member', '=', true)
    .where('trigger.addressesAgent', '=', true)
    .orderBy('trigger.id')
    .execute()
  if (claimed.length === 0) return []
  const keys = new Map(claimed.map(({ id }) => [acknowledgementKey(ticket, opening, id), id]))
  const settled = await db
    .selectFrom('outbox')
    .select('key')
    .where('key', 'in', [...keys.keys()])
    .where('state', 'in', ['confirmed', 'failed'])
    .execute()
  for (const { key } of settled) keys.delete(key)
  return [...keys.values()]
}
