/**
 * The outbox: one row per outward effect, keyed by what it is (spec M4). The row stands before the effect is tried, says after a
 * crash that it may have happened, and keeps what it brought, so that the same call finds its result and another one is refused.
 */
import { sql } from 'kysely'
import { endAlarm, raiseAlarm } from './alarms.ts'
import { type Database, type Tx, transaction } from './database.ts'
import type { OutboxState } from './schema.ts'

interface EffectToWrite {
  key: string
  kind: string
  ticket: number | null
  /** The call that wants it; a notice, which the host says by itself, has none. */
  session: string | null
  step: number | null
  call: string | null
  thread: number | null
  payload: Record<string, unknown>
  body: string | null
}

export interface NewEffect extends EffectToWrite {
  session: string
  step: number
  call: string
}

export interface EffectRow {
  id: number
  key: string
  kind: string
  ticket: number | null
  /** Null: the host's own words. */
  session: string | null
  thread: number | null
  payload: Record<string, unknown>
  body: string | null
  state: OutboxState
  externalId: string | null
  url: string | null
  error: string | null
  tries: number
  createdAt: Date
}

/**
 * `mine`: made by this call, met again by it, or taken over from a call whose effect certainly did not happen. `left`: another call
 * tried it, and nobody knows what came of that. `taken`: another call did it.
 */
export type Intended = { mine: EffectRow } | { left: EffectRow } | { taken: EffectRow }

/** Writes the row down if none with its key is there. */
export async function insertOnce(tx: Tx, { payload, ...effect }: EffectToWrite): Promise<void> {
  const untried = { purgedAt: null, externalId: null, url: null, error: null, sentAt: null, settledAt: null }
  await tx
    .insertInto('outbox')
    .values({ ...effect, payload: JSON.stringify(payload), ...untried })
    .onConflict((on) => on.column('key').doNothing())
    .execute()
}

export function intend(db: Database, { payload, ...effect }: NewEffect): Promise<Intended> {
  return transaction(db, async (tx) => {
    await insertOnce(tx, { ...effect, payload })
    const row = await tx.selectFrom('outbox').selectAll().where('key', '=', effect.key).forUpdate().executeTakeFirstOrThrow()
    const same = row.session === effect.session && row.step === effect.step && row.call === effect.call
    if (same) return { mine: row }
    if (row.state === 'confirmed') return { taken: row }
    if (row.state === 'sent' || row.state === 'uncertain') return { left: row }
    // it certainly did not happen, so what happens now is what this call says
    const { session, step, call, body } = effect
    const taken = { session, step, call, body, payload: JSON.stringify(payload) }
    return { mine: await tx.updateTable('outbox').set(taken).where('id', '=', row.id).returningAll().executeTakeFirstOrThrow() }
  })
}

/**
 * Before the request leaves: from here on it may have happened. False: another attempt sent it meanwhile, so this one must not; what
 * became of that one is looked up first.
 */
export async function markSent(db: Database, id: number): Promise<boolean> {
  const marked = await db
    .updateTable('outbox')
    .set({ state: 'sent', sentAt: sql<Date>`now()`, tries: sql<number>`tries + 1` })
    .where('id', '=', id)
    .where('state', 'in', ['intent', 'failed'])
    .returning('id')
    .executeTakeFirst()
  return marked !== undefined
}

export type Settlement =
  | { state: 'confirmed'; externalId: string; url: string }
  | { state: 'uncertain'; error: string }
  | { state: 'failed'; error: string }
  | { state: 'intent' }

/**
 * What became of it. `intent`: it certainly did not happen and may be sent. People hear an `alarm` with it, and a confirmation ends
 * what they heard before.
 */
export async function settle(db: Database, id: number, settlement: Settlement, alarm?: string): Promise<void> {
  await transaction(db, async (tx) => {
    const settled = await tx
      .updateTable('outbox')
      .set({ ...settlement, settledAt: settlement.state === 'uncertain' || settlement.state === 'intent' ? null : sql<Date>`now()` })
      .where('id', '=', id)
      .where('state', '!=', 'confirmed')
      .returning('key')
      .executeTakeFirst()
    if (settled && settlement.state === 'confirmed') await endAlarm(tx, 'effect', settled.key)
    if (settled && alarm !== undefined) await raiseAlarm(tx, 'effect', settled.key, alarm)
  })
}

/** Effects of a Session's Ticket that may have happened and are not settled, oldest first. */
export function unsettled(db: Database, session: string): Promise<EffectRow[]> {
  return db
    .selectFrom('outbox')
    .selectAll()
    .where('ticket', '=', (of) => of.selectFrom('session').select('session.ticket').where('session.id', '=', session))
    .where('state', 'in', ['sent', 'uncertain'])
    .orderBy('id')
    .execute()
}
