/** Commands on their way to the workflows: the row holds already; the update only tells (design §4, Pause). */
import { sql } from 'kysely'
import { ALL, MAIN, ticketScope } from '../core/ticket/scope.ts'
import type { Database } from './database.ts'
import type { CommandKind } from './pauses.ts'

export interface UndeliveredCommand {
  id: number
  kind: CommandKind
  scope: string
  actor: string
  reason: string
  generation: number
  tries: number
}

/** Commands that no workflow has confirmed, leased for some seconds so that several dispatchers share them. */
export async function leaseCommands(db: Database, limit: number): Promise<UndeliveredCommand[]> {
  const { rows } = await sql<UndeliveredCommand>`
    update command set tries = tries + 1, next_try_at = now() + least(interval '5 seconds' * power(2, least(tries, 6)), interval '5 minutes')
    where id in (
      select id from command where delivered_at is null and next_try_at <= now() order by id limit ${limit} for update skip locked
    )
    returning id, kind, scope, actor, reason, generation, tries`.execute(db)
  return rows.toSorted((a, b) => a.id - b.id)
}

export async function confirmCommand(db: Database, id: number): Promise<void> {
  await db.updateTable('command').set({ deliveredAt: sql<Date>`now()` }).where('id', '=', id).where('deliveredAt', 'is', null).execute()
}

export async function failCommand(db: Database, id: number, error: string): Promise<void> {
  await db.updateTable('command').set({ error }).where('id', '=', id).execute()
}

/** The scopes whose workflows must hear a command: its own, or every live one for `all`. */
export async function scopesToTell(db: Database, scope: string): Promise<string[]> {
  if (scope !== ALL) return [scope]
  const tickets = await db.selectFrom('ticket').select('id').where('state', '!=', 'closed').orderBy('id').execute()
  return [MAIN, ...tickets.map(({ id }) => ticketScope(id))]
}
