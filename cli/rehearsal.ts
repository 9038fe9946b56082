/** When the rehearsal is over: told to its end, or come to rest without one, or longer than it may take. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../ledger/database.ts'

/** `told`: a Report or an alarm ends the story. `quiet`: nothing is left that could end it. */
export type RehearsalEnd = 'told' | 'quiet' | 'too long' | 'stopped'

const POLL_MS = 200
/** Between two pieces of work there are moments in which nothing is to be seen of either. */
const QUIET_MS = 5_000
export const LIMIT_MINUTES = 10

export async function rehearsalEnd(db: Database, stopping: AbortSignal, { quietMs = QUIET_MS } = {}): Promise<RehearsalEnd> {
  const limit = performance.now() + LIMIT_MINUTES * 60_000
  let busyAt = performance.now()
  while (!stopping.aborted) {
    const { ended, occupied, underWay } = await look(db)
    const now = performance.now()
    if (ended && !occupied) return 'told'
    if (occupied || underWay) busyAt = now
    if (now - busyAt >= quietMs) return 'quiet'
    if (now >= limit) return 'too long'
    await sleep(POLL_MS, undefined, { signal: stopping }).catch(() => 'the loop sees the signal')
  }
  return 'stopped'
}

interface Look {
  /** A Ticket reported its end, or an alarm says that one cannot. */
  ended: boolean
  /** Something waits to be read, or a Ticket works. */
  occupied: boolean
  /** A delivery is not decided yet, or a model request of an unfinished step is open or about to be made again. */
  underWay: boolean
}

async function look(db: Database): Promise<Look> {
  const unread = db.selectFrom('inbox').select('id').where('session', 'is', null).where('dropped', 'is', null)
  const working = db.selectFrom('ticket').select('id').where('state', '=', 'working')
  const report = db.selectFrom('report').select('id').where('status', 'in', ['done', 'cannot_complete', 'yielded'])
  const alarm = db.selectFrom('alarm').select('id').where('endedAt', 'is', null)
  const delivery = db.selectFrom('delivery').select('id').where('state', '=', 'pending')
  const asking = db
    .selectFrom('request')
    .leftJoin('step', (join) => join.onRef('step.session', '=', 'request.session').onRef('step.step', '=', 'request.step'))
    .select('request.id')
    .where('step.session', 'is', null)
    .where((is) => is.or([is('request.outcome', 'is', null), is('request.outcome', '=', 'failed')]))
  // one statement, so that a piece of work that passes from one table to another is seen in one of them
  return db
    .selectNoFrom(({ exists, or }) => [
      or([exists(report), exists(alarm)]).as('ended'),
      or([exists(unread), exists(working)]).as('occupied'),
      or([exists(delivery), exists(asking)]).as('underWay'),
    ])
    .$castTo<Look>()
    .executeTakeFirstOrThrow()
}
