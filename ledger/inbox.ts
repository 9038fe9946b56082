/** The inbox: what waits for the main Session or a Ticket. A row is the message; a wake only says that rows are there. */
import { sql } from 'kysely'
import type { Database, Tx } from './database.ts'
import type { InboxKind } from './schema.ts'

export interface NewItem {
  address: string
  kind: InboxKind
  trigger?: number
  candidate?: number
  report?: number
  body?: string
}

export async function deliver(tx: Tx, items: NewItem[]): Promise<void> {
  if (items.length === 0) return
  const rows = items.map(({ address, kind, trigger, candidate, report, body }) => ({
    address,
    kind,
    trigger: trigger ?? null,
    candidate: candidate ?? null,
    report: report ?? null,
    body: body ?? null,
    purgedAt: null,
    signalledAt: null,
    seenAt: null,
    session: null,
    step: null,
    dropped: null,
  }))
  await tx.insertInto('inbox').values(rows).execute()
}

/** Items that will never be shown, and why: superseded by a newer state, or their Ticket closed. */
export async function drop(tx: Tx, ids: number[], reason: string): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('inbox')
    .set({ dropped: reason })
    .where('id', 'in', ids)
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .execute()
}

export interface Leased {
  address: string
  /** Those that were seen: one that was committed later, whatever its number, is due still. */
  rows: number[]
}

/**
 * Addresses to wake now. Each is leased for some seconds, as a whole and to one, so that several dispatchers share the work; a
 * dispatcher that dies leaves them to the next. Held and closed Sessions are skipped: their rows wait and cost nothing.
 */
export async function leaseWakes(db: Database, limit: number): Promise<Leased[]> {
  const { rows } = await sql<Leased>`
    with due as (
      select address from inbox
      where session is null and dropped is null and next_signal_at <= now()
        and not exists (select from pause where scope in (inbox.address, 'all') and held)
        and not exists (select from ticket where 'ticket-' || ticket.id = inbox.address and ticket.state = 'closed')
      group by address
      order by min(next_signal_at)
      limit ${limit}
    ), mine as ( -- without it dispatchers would wait for each other's rows, in an order that can deadlock
      select address from due where pg_try_advisory_xact_lock(hashtext('wake'), hashtext(address))
    ), leased as (
      update inbox set next_signal_at = now() + interval '10 seconds'
      where address in (select address from mine) and session is null and dropped is null and next_signal_at <= now()
      returning id, address
    )
    select address, array_agg(id) as rows from leased group by address`.execute(db)
  return rows
}

/**
 * The wake was accepted by Temporal. A row that nobody read within a minute is signalled again (a lost wake); one that a step
 * has seen and left, whatever the outcome, at most every 15 minutes.
 */
export async function confirmWake(db: Database, { rows }: Leased): Promise<void> {
  await sql`
    update inbox set signalled_at = now(),
      next_signal_at = now() + case when seen_at is null then interval '1 minute' else interval '15 minutes' end
    where id = any(${rows}) and session is null and dropped is null`.execute(db)
}
