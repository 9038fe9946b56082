/**
 * The outbox: one row per outward effect, keyed by what it is (spec M4). The row stands before the effect is tried, says after a
 * crash that it may have happened, and keeps what it brought, so that the same call finds its result and another one is refused.
 */
import { sql } from 'kysely'
import { type Mark, sessionScope } from '../core/ticket/scope.ts'
import { endAlarm, raiseAlarm } from './alarms.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { holdsOn, isClosed, wroteDuringPause } from './pauses.ts'
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
  step: number | null
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
 * `sent`: the request may leave. `another`: another attempt sent it meanwhile, so this one must not; what became of that one is
 * looked up first. Or people hold it back: they pause now; or they wrote so many messages during a pause since it was decided, and
 * it is dropped.
 */
export type Leave = 'sent' | 'another' | 'closed' | { paused: Mark[] } | { dropped: true; wrote: number }

/**
 * Before the request leaves: from here on it may have happened. It may be long ago that its call began, so the holds are looked at
 * here, and shared until the row stands: a pause waits for it or is seen by it (spec I2). The host's own words are held by nobody.
 */
export function markSent(
  db: Database,
  { id, ticket, session, step }: Pick<EffectRow, 'id' | 'ticket' | 'session' | 'step'>,
): Promise<Leave> {
  return transaction(db, async (tx): Promise<Leave> => {
    const may = tx.updateTable('outbox').where('id', '=', id).where('state', 'in', ['intent', 'failed', 'dropped']).returning('id')
    if (session !== null && step !== null) {
      if (await isClosed(tx, ticket)) return (await may.set({ state: 'dropped' }).executeTakeFirst()) ? 'closed' : 'another'
      const scope = sessionScope(ticket)
      const paused = await holdsOn(tx, scope, { share: true })
      if (paused.length > 0) return { paused }
      const wrote = await wroteDuringPause(tx, scope, { session, step })
      if (wrote > 0) return (await may.set({ state: 'dropped' }).executeTakeFirst()) ? { dropped: true, wrote } : 'another'
    }
    const sent = await may.set({ state: 'sent', sentAt: sql<Date>`now()`, tries: sql<number>`tries + 1` }).executeTakeFirst()
    return sent ? 'sent' : 'another'
  })
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
