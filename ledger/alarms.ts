/** Alarms (spec O1): one open row per kind and subject, however often it is raised, until its end. */
import { sql } from 'kysely'
import { ticketScope } from '../core/ticket/scope.ts'
import type { Database, Tx } from './database.ts'
import { storable } from './texts.ts'

export type AlarmKind = 'assembly' | 'provider' | 'context' | 'budget' | 'error' | 'effect' | 'intake' | 'stuck' | 'host'

export async function raiseAlarm(db: Database | Tx, kind: AlarmKind, subject: string, body: string): Promise<void> {
  await db
    .insertInto('alarm')
    .values({ kind, subject, body: storable(body), endedAt: null })
    .onConflict((on) => on.columns(['kind', 'subject']).where('endedAt', 'is', null).doNothing())
    .execute()
}

export async function endAlarm(db: Database | Tx, kind: AlarmKind | readonly AlarmKind[], subject: string): Promise<void> {
  await db
    .updateTable('alarm')
    .set({ endedAt: sql<Date>`now()` })
    .where('kind', 'in', typeof kind === 'string' ? [kind] : kind)
    .where('subject', '=', subject)
    .where('endedAt', 'is', null)
    .execute()
}

/** A Ticket that closed cannot go on, and nobody needs to look: what was said of it, and of its effects, is over. */
export async function endAlarmsOf(tx: Tx, ticket: number): Promise<void> {
  const scope = ticketScope(ticket)
  await tx
    .updateTable('alarm')
    .set({ endedAt: sql<Date>`now()` })
    .where('endedAt', 'is', null)
    .where((is) => is.or([is('subject', '=', scope), is('subject', 'like', `${scope}.%`), is('subject', 'like', `${scope}/%`)]))
    .execute()
}
