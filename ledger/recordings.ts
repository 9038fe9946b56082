/**
 * Recordings of what the model answered (spec D9): a person switches them on and off for the whole deployment, which is a row like
 * every human action (O7). A purge may remove the words, not that there were any (O6).
 */
import { sql } from 'kysely'
import type { Database, Tx } from './database.ts'
import { shaOf, storable } from './texts.ts'

export interface RecordingState {
  on: boolean
  by: string
  since: Date
  reason: string
}

/** Part of the statement that writes a request down: the newest word counts, and it costs no round trip. */
export const RECORDING_STATE = sql<boolean>`coalesce((
  select kind = 'record_on' from command where kind in ('record_on', 'record_off') order by id desc limit 1), false)`

/** Null: nobody has ever switched it. */
export async function recordingState(db: Database | Tx): Promise<RecordingState | null> {
  const row = await db
    .selectFrom('command')
    .select(['kind', 'actor', 'createdAt', 'reason'])
    .where('kind', 'in', ['record_on', 'record_off'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? { on: row.kind === 'record_on', by: row.actor, since: row.createdAt, reason: row.reason } : null
}

export interface Switch {
  on: boolean
  actor: string
  transport: 'cli' | 'panel'
  reason: string
}

/** `already`: it was so before, and who did it; then nothing is written. No workflow needs to hear of it. */
export async function switchRecording(tx: Tx, { on, actor, transport, reason }: Switch): Promise<{ already: RecordingState | null }> {
  await sql`select pg_advisory_xact_lock(hashtext('switchyard recording'))`.execute(tx)
  const state = await recordingState(tx)
  if (state?.on === on) return { already: state }
  await tx
    .insertInto('command')
    .values({
      kind: on ? 'record_on' : 'record_off',
      scope: 'recording',
      actor,
      transport,
      reason,
      basis: null,
      generation: 0,
      updateId: null,
      deliveredAt: sql<Date>`now()`,
      error: null,
    })
    .execute()
  return { already: null }
}

/** An answer as it came over HTTP, whole or as far as it came. */
export interface Answered {
  status: number
  contentType: string
  body: string
}

export async function storeRecording(db: Database, request: number, { status, contentType, body }: Answered): Promise<void> {
  const text = storable(body)
  await db
    .insertInto('recording')
    .values({ request, status, contentType, body: text, sha: shaOf(text), purgedAt: null })
    .execute()
}
