/** Alarms (spec O1): one open row per kind and subject, however often it is raised, until its end. */
import { sql } from 'kysely'
import type { Database, Tx } from './database.ts'
import { storable } from './texts.ts'

export type AlarmKind = 'assembly' | 'provider' | 'context' | 'budget' | 'error' | 'effect' | 'intake'

export async function raiseAlarm(db: Database | Tx, kind: AlarmKind, subject: string, body: string): Promise<void> {
  await db
    .insertInto('alarm')
    .values({ kind, subject, body: storable(body), endedAt: null })
    .onConflict((on) => on.columns(['kind', 'subject']).where('endedAt', 'is', null).doNothing())
    .execute()
}

export async function endAlarm(db: Database | Tx, kind: AlarmKind, subject: string): Promise<void> {
  await db
    .updateTable('alarm')
    .set({ endedAt: sql<Date>`now()` })
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('endedAt', 'is', null)
    .execute()
}
