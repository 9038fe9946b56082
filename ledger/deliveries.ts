/** Raw deliveries: stored before they are acknowledged (spec M1), once per delivery (M2), decided in order per place. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Source } from '../core/routing/trigger.ts'
import { endAlarm } from './alarms.ts'
import { type Database, transaction } from './database.ts'

export interface NewDelivery {
  source: Source
  transport: string
  /** Id of the hook that sent it; the same event over another hook is another delivery. */
  hook: string
  guid: string
  event: string
  headers: Record<string, string>
  body: string
  /** Deliveries of one place are decided in the order in which they came; null: in any. */
  place: string | null
}

export interface PendingDelivery {
  id: number
  source: Source
  event: string
  body: string | null
  tries: number
}

/**
 * Stores deliveries; what arrives while an insert is under way shares the next one, and so one commit. Resolves after that
 * commit, rejects for all that shared it when the database refuses.
 */
export function createDeliveryStore(db: Database): (delivery: NewDelivery) => Promise<'stored' | 'duplicate'> {
  const waiting: { delivery: NewDelivery; resolve: (stored: 'stored' | 'duplicate') => void; reject: (error: unknown) => void }[] = []
  let inserting = false

  const drain = async () => {
    inserting = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, 200)
      try {
        const stored = await insert(
          db,
          batch.map(({ delivery }) => delivery),
        )
        for (const [at, { resolve }] of batch.entries()) resolve(stored[at]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    inserting = false
  }

  return (delivery) =>
    new Promise((resolve, reject) => {
      waiting.push({ delivery, resolve, reject })
      if (!inserting) void drain()
    })
}

async function insert(db: Database, deliveries: NewDelivery[]): Promise<('stored' | 'duplicate')[]> {
  const rows = await db
    .insertInto('delivery')
    .values(
      deliveries.map(({ headers, ...rest }) => ({
        ...rest,
        headers: JSON.stringify(headers),
        sha: createHash('sha256').update(rest.body).digest(),
      })),
    )
    .onConflict((on) => on.columns(['source', 'hook', 'guid']).doNothing())
    .returning(['source', 'hook', 'guid'])
    .execute()
  const fresh = new Set(rows.map((row) => keyOf(row)))
  // Of two equal ones in a batch the first is the stored one.
  return deliveries.map((delivery) => (fresh.delete(keyOf(delivery)) ? 'stored' : 'duplicate'))
}

const keyOf = ({ source, hook, guid }: Pick<NewDelivery, 'source' | 'hook' | 'guid'>): string => JSON.stringify([source, hook, guid])

/** Deliveries that may be decided now: the oldest of each place, and none before its next try. Taken without a lock. */
export function pendingDeliveries(db: Database, source: Source, limit: number): Promise<PendingDelivery[]> {
  return db
    .selectFrom('delivery as d')
    .select(['d.id', 'd.source', 'd.event', 'd.body', 'd.tries'])
    .where('d.state', '=', 'pending')
    .where('d.source', '=', source)
    .where('d.nextTryAt', '<=', sql<Date>`now()`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('delivery as earlier')
            .select('earlier.id')
            .where('earlier.state', '=', 'pending')
            .whereRef('earlier.place', '=', 'd.place')
            .whereRef('earlier.id', '<', 'd.id'),
        ),
      ),
    )
    .orderBy('d.id')
    .limit(limit)
    .execute()
}

/** A delivery that could not be decided yet stays pending and is tried again: 1 s, 2 s, 4 s … at most every 5 minutes. */
export async function postponeDelivery(db: Database, { id, tries }: PendingDelivery, reason: string): Promise<void> {
  const seconds = Math.min(2 ** tries, 300)
  await db
    .updateTable('delivery')
    .set({ tries: tries + 1, reason, nextTryAt: sql<Date>`now() + make_interval(secs => ${seconds})` })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .execute()
}

/** Kept, with the reason why it became no Trigger (spec M5). */
export async function ignoreDelivery(db: Database, id: number, reason: string): Promise<void> {
  await transaction(db, async (tx) => {
    await tx
      .updateTable('delivery')
      .set({ state: 'ignored', reason, settledAt: sql<Date>`now()` })
      .where('id', '=', id)
      .where('state', '=', 'pending')
      .execute()
    await endAlarm(tx, 'intake', `delivery ${id}`)
  })
}

/** How far the Source's own log of its deliveries was read (spec M3). */
export interface Watermark {
  bornAt: Date
  readTo: Date
  /** A listing that a round left unfinished. */
  listing: { began: Date; cursor: string } | null
  failingSince: Date | null
  nextTryAt: Date
}

export async function readWatermark(db: Database, source: Source): Promise<Watermark> {
  const { listingBegan, listingCursor, ...row } = await db
    .selectFrom('watermark')
    .selectAll()
    .where('source', '=', source)
    .executeTakeFirstOrThrow()
  return { ...row, listing: listingBegan && listingCursor !== null ? { began: listingBegan, cursor: listingCursor } : null }
}

/**
 * After a round that went well; `readTo` never goes back. Of two rounds at once the later may put its listing in the other's place:
 * each is true by itself, so at most something is looked at twice.
 */
export async function moveWatermark(db: Database, source: Source, to: Pick<Watermark, 'readTo' | 'listing'>): Promise<void> {
  await db
    .updateTable('watermark')
    .set({
      readTo: sql<Date>`greatest(read_to, ${to.readTo})`,
      listingBegan: to.listing?.began ?? null,
      listingCursor: to.listing?.cursor ?? null,
      failingSince: null,
    })
    .where('source', '=', source)
    .execute()
}

/** After a round that failed: the mark stays, and the next round lists from the newest. Says since when rounds have failed. */
export async function holdWatermark(db: Database, source: Source, { now, nextTryAt }: { now: Date; nextTryAt: Date }): Promise<Date> {
  const { failingSince } = await db
    .updateTable('watermark')
    .set(({ fn, val }) => ({
      listingBegan: null,
      listingCursor: null,
      failingSince: fn.coalesce('failingSince', val(now)),
      nextTryAt,
    }))
    .where('source', '=', source)
    .returning('failingSince')
    .executeTakeFirstOrThrow()
  return failingSince ?? now
}

/** Those of `guids` that came over this hook already. */
export async function knownDeliveries(db: Database, source: Source, hook: string, guids: readonly string[]): Promise<Set<string>> {
  if (guids.length === 0) return new Set()
  const rows = await db
    .selectFrom('delivery')
    .select('guid')
    .where('source', '=', source)
    .where('hook', '=', hook)
    .where('guid', '=', sql<string>`any(${guids}::text[])`)
    .execute()
  return new Set(rows.map(({ guid }) => guid))
}
