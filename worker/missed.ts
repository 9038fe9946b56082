/**
 * What GitHub could not deliver is fetched from its own log of deliveries (spec M3): after a start and every five minutes, back to the
 * watermark of the last round. Everything that is not in the ledger is taken, whatever became of it by GitHub's account, through the
 * same store and under the same key as a webhook, so that nothing is taken twice (M2). What is older than the log, and everything
 * where there is no log, is looked up in GitHub's lists (`listed.ts`).
 *
 * The watermark moves only after every page was read (F118) and all that was missed is stored. Rounds may run in several processes.
 */
import type { Logger } from 'pino'
import type { GithubClient } from '../channels/github/client.ts'
import { GithubError } from '../channels/github/failure.ts'
import type { DeliveryLog, LoggedDelivery } from '../channels/github/missed.ts'
import { endAlarm, raiseAlarm } from '../ledger/alarms.ts'
import type { Database } from '../ledger/database.ts'
import { holdWatermark, knownDeliveries, moveWatermark, type NewDelivery, readWatermark, type Watermark } from '../ledger/deliveries.ts'
import { takeListed } from './listed.ts'
import { type Loop, startLoop } from './loop.ts'

export interface Missed {
  db: Database
  client: Pick<GithubClient, 'deliveryLog' | 'findChanges' | 'installedRepositories'>
  /** Served repositories as `owner/name`; empty: all that the identity sees. */
  repositories: readonly string[]
  store(delivery: NewDelivery): Promise<'stored' | 'duplicate'>
  log: Logger
  now(): Date
}

const EVERY_MS = 5 * 60_000
/** GitHub's list fills late (a slow receiver alone takes ten seconds), and its clock is not ours. */
const OVERLAP_MS = 10 * 60_000
const CLOCKS_MS = 60_000
/** GitHub keeps no more. */
const REACH_MS = 3 * 24 * 60 * 60_000
const PAGES = 50
const ALARM_AFTER_MS = 30 * 60_000

export function startTakingMissed(given: Missed): Loop {
  if (!given.client.deliveryLog) given.log.info(NO_LOG)
  return startLoop({ name: 'taking missed deliveries', idleMs: EVERY_MS, log: given.log, work: (signal) => takeMissed(given, signal) })
}

const NO_LOG =
  'GITHUB_TOKEN is no GitHub App: what GitHub could not deliver is found in its lists (M3), without labels, assignments and check results'

/** One round; 0: all that GitHub has logged by now is in the ledger, or the round failed and is for later. */
export async function takeMissed(given: Missed, signal: AbortSignal): Promise<number> {
  const { db, log, now } = given
  const mark = await readWatermark(db, 'github')
  if (mark.nextTryAt > now()) return 0
  try {
    const round = await takeRound(given, mark, signal)
    if (round === 'stopped') return 0
    await moveWatermark(db, 'github', round)
    await endAlarm(db, 'intake', SUBJECT)
    if (round.taken > 0) log.info({ taken: round.taken }, 'deliveries that had not arrived were fetched from GitHub')
    return round.listing ? Math.max(round.taken, 1) : round.taken
  } catch (error) {
    await fail(given, error)
    return 0
  }
}

const SUBJECT = 'missed deliveries'

async function fail({ db, log, now }: Missed, error: unknown): Promise<void> {
  log.warn({ err: error }, 'what GitHub could not deliver cannot be looked up now; the next round tries again')
  const at = now()
  const limited = error instanceof GithubError && error.failure.kind === 'rate-limited' ? error.failure.retryAt : at
  const since = await holdWatermark(db, 'github', { now: at, nextTryAt: limited })
  if (at.getTime() - since.getTime() < ALARM_AFTER_MS) return
  const reason = error instanceof Error ? error.message : String(error)
  await raiseAlarm(db, 'intake', SUBJECT, `cannot be looked up on GitHub since ${since.toISOString()}: ${reason}`)
}

interface Round extends Pick<Watermark, 'readTo' | 'listing'> {
  taken: number
}

async function takeRound(given: Missed, mark: Watermark, signal: AbortSignal): Promise<Round | 'stopped'> {
  const { client, now } = given
  const began = mark.listing?.began ?? now()
  const since = Math.max(mark.readTo.getTime() - OVERLAP_MS, mark.bornAt.getTime() - CLOCKS_MS)
  const logged = client.deliveryLog === null ? null : now().getTime() - REACH_MS
  // the older first, as it happened; a listing that goes on was preceded by it
  const isOlder = mark.listing === null && (logged === null || since < logged)
  const until = logged === null ? null : new Date(logged + OVERLAP_MS)
  const found = isOlder ? await takeListed(given, { since: new Date(since), until }, signal) : 0
  if (signal.aborted) return 'stopped'
  if (client.deliveryLog === null || logged === null) return { taken: found, readTo: began, listing: null }

  const { deliveries, next } = await list(client.deliveryLog, mark.listing?.cursor ?? null, Math.max(since, logged), signal)
  const { stored, lost } = await takeAll(given, client.deliveryLog, deliveries, signal)
  // what the log names and has no more may be seen in the lists (F119)
  const seen = lost === null ? 0 : await takeListed(given, { since: new Date(lost.getTime() - CLOCKS_MS), until: null }, signal)
  if (signal.aborted) return 'stopped'
  const taken = found + stored + seen
  return next === null ? { taken, readTo: began, listing: null } : { taken, readTo: mark.readTo, listing: { began, cursor: next } }
}

/** Newest first; `next` is where a listing that is too long for one round goes on. */
async function list(
  log: DeliveryLog,
  from: string | null,
  since: number,
  signal: AbortSignal,
): Promise<{ deliveries: LoggedDelivery[]; next: string | null }> {
  const deliveries: LoggedDelivery[] = []
  let cursor = from
  for (let pages = 0; pages < PAGES && !signal.aborted; pages++) {
    const page = await log.page(cursor)
    const within = page.deliveries.filter(({ at }) => at.getTime() >= since)
    deliveries.push(...within)
    if (within.length < page.deliveries.length || page.next === null) return { deliveries, next: null }
    cursor = page.next
  }
  return { deliveries, next: cursor }
}

/** In the order in which they happened; `lost` is when the first of those happened that GitHub has no more. One that GitHub cannot give does not hold back the others, but the round has failed. */
async function takeAll(
  { db, store, log }: Missed,
  source: DeliveryLog,
  listed: LoggedDelivery[],
  signal: AbortSignal,
): Promise<{ stored: number; lost: Date | null }> {
  let stored = 0
  let lost: Date | null = null
  const failed: GithubError[] = []
  for (const each of await unknown(db, source, listed)) {
    if (signal.aborted) break
    try {
      const delivery = await source.whole(each)
      if ('lost' in delivery) {
        lost ??= each.at
        log.error({ guid: each.guid, event: each.event, at: each.at, reason: delivery.lost }, LOST)
      } else if ((await store(delivery)) === 'stored') stored += 1
    } catch (error) {
      if (!isItsOwn(error) || failed.push(error) === ENOUGH_FAILED) throw error
    }
  }
  if (failed[0]) throw failed[0]
  return { stored, lost }
}

/** Then it is GitHub that fails, not one delivery. */
const ENOUGH_FAILED = 10
const LOST = 'a delivery that never arrived is gone from GitHub, too; what of it is in the lists is taken from there'

/** An answer about this one delivery; a limit, a refused key or a dead line would meet the next one as well. */
const isItsOwn = (error: unknown): error is GithubError =>
  error instanceof GithubError && error.failure.kind === 'server' && error.failure.status !== null

/** Oldest first, each event once. The list does not name the hook, so a new entry's headers tell it; without it all are looked at. */
async function unknown(db: Database, source: DeliveryLog, listed: LoggedDelivery[]): Promise<LoggedDelivery[]> {
  const once = [...new Map(listed.toReversed().map((each) => [each.guid, each])).values()]
  const hook = await hookOf(source, listed)
  const known =
    hook === null
      ? new Set()
      : await knownDeliveries(
          db,
          'github',
          hook,
          once.map(({ guid }) => guid),
        )
  return once.filter(({ guid }) => !known.has(guid))
}

async function hookOf(source: DeliveryLog, listed: LoggedDelivery[]): Promise<string | null> {
  for (const each of listed.slice(0, 3)) {
    try {
      const delivery = await source.whole(each)
      if (!('lost' in delivery)) return delivery.hook
    } catch (error) {
      if (!isItsOwn(error)) throw error // and one that fails alone is met again when it is taken
    }
  }
  return null
}
