/** Triggers as cards show them. */
import { sql } from 'kysely'
import type { Database, Tx } from './database.ts'

export interface ShownTrigger {
  id: number
  kind: 'message' | 'fact'
  event: string
  text: string | null
  url: string
  happenedAt: Date
  author: string
  member: boolean
  addressesAgent: boolean
  facts: Record<string, string>
  place: { source: string; kind: string; repository: string | null; number: number | null; title: string; url: string }
}

export async function shownTriggers(db: Database | Tx, ids: number[]): Promise<Map<number, ShownTrigger>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('trigger')
    .innerJoin('thread', 'thread.id', 'trigger.thread')
    .leftJoin('repository', 'repository.id', 'thread.repository')
    .select([
      'trigger.id',
      'trigger.kind',
      'trigger.event',
      'trigger.body',
      'trigger.url',
      'trigger.happenedAt',
      'trigger.authorLogin',
      'trigger.member',
      'trigger.addressesAgent',
      'trigger.facts',
      'thread.source',
      'thread.kind as placeKind',
      'thread.number',
      'thread.title',
      'thread.url as placeUrl',
      'repository.fullName',
    ])
    .where('trigger.id', 'in', ids)
    .execute()
  return new Map(
    rows.map((row) => [
      row.id,
      {
        id: row.id,
        kind: row.kind,
        event: row.event,
        text: row.body,
        url: row.url,
        happenedAt: row.happenedAt,
        author: row.authorLogin,
        member: row.member,
        addressesAgent: row.addressesAgent,
        facts: row.facts,
        place: {
          source: row.source,
          kind: row.placeKind,
          repository: row.fullName,
          number: row.number,
          title: row.title,
          url: row.placeUrl,
        },
      },
    ]),
  )
}

/** What the ledger has heard of an object of a Source, oldest first. */
export interface Heard {
  event: string
  happenedAt: Date
  body: string | null
}

export async function heardOf(db: Database, objects: readonly string[]): Promise<Map<string, Heard[]>> {
  if (objects.length === 0) return new Map()
  const rows = await db
    .selectFrom('trigger')
    .select(['object', 'event', 'happenedAt', 'body'])
    .where('object', '=', sql<string>`any(${objects}::text[])`)
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, ({ object }) => object)
}
