/** The host's own words to people (spec H3): answers to commands, and what is said once. Rows of the outbox that a sender takes up. */

import { sql } from 'kysely'
import { messageKey } from '../core/message/purpose.ts'
import type { Database, Tx } from './database.ts'
import { type EffectRow, insertOnce } from './outbox.ts'

export interface Notice {
  /** What it is about, e.g. `command:12`: the same thing is said once. */
  about: string
  thread: number
  text: string
}

/** Nothing is written for a place that holds no conversation. */
export async function postNotice(tx: Tx, { about, thread, text }: Notice): Promise<void> {
  const place = await tx
    .selectFrom('thread')
    .innerJoin('repository', 'repository.id', 'thread.repository')
    .select(['thread.key', 'thread.number', 'repository.fullName'])
    .where('thread.id', '=', thread)
    .executeTakeFirst()
  if (!place || place.number === null) return
  const reviewComment = /\/review:(\d+)$/.exec(place.key)?.[1] ?? null
  await insertOnce(tx, {
    key: messageKey({ by: 'main', purpose: 'notice', about }),
    kind: 'comment',
    ticket: null,
    session: null,
    step: null,
    call: null,
    thread,
    payload: { repository: place.fullName, number: place.number, reviewComment },
    body: text,
  })
}

/** Notices to send now, the oldest of each Thread, leased for a minute so that several senders share them. */
export async function leaseNotices(db: Database, limit: number): Promise<EffectRow[]> {
  const leased = await sql<{ id: number }>`
    update outbox set next_try_at = now() + interval '1 minute'
    where id in (
      select id from outbox o
      where session is null and state in ('intent', 'sent', 'uncertain') and next_try_at <= now()
        and not exists (
          select from outbox earlier
          where earlier.thread = o.thread and earlier.id < o.id and earlier.session is null and earlier.state in ('intent', 'sent', 'uncertain')
        )
      order by id limit ${limit} for update skip locked
    ) returning id`.execute(db)
  const ids = leased.rows.map(({ id }) => id)
  return ids.length === 0 ? [] : db.selectFrom('outbox').selectAll().where('id', 'in', ids).orderBy('id').execute()
}

/** After a failure: 2 s, 4 s, 8 s … at most every 5 minutes. */
export async function postponeNotice(db: Database, { id, tries }: EffectRow): Promise<void> {
  const seconds = Math.min(2 ** Math.min(tries + 1, 9), 300)
  await db
    .updateTable('outbox')
    .set({ nextTryAt: sql<Date>`now() + make_interval(secs => ${seconds})` })
    .where('id', '=', id)
    .execute()
}
