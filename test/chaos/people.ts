/**
 * The people around a run of chaos and their GitHub: they open issues, write follow-ups, pause and resume, and deliver again what
 * failed, as an operator does. Every deed waits until the database takes it: a person tries again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createAppAuth } from '@octokit/auth-app'
import type { GithubSettings } from '../../core/deployment/settings.ts'
import type { Mark } from '../../core/ticket/scope.ts'
import { type Database, transaction } from '../../ledger/database.ts'
import { recordCommand } from '../../ledger/pauses.ts'
import { world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { type Operate, openIssue as openStagedIssue } from '../../rehearsal/stage.ts'

const repository = world.repository.fullName
const [person] = world.people

/** Until it works: the services die under it, and a connection that was kept may be closed just then. Gives up after a minute, with the last error. */
export async function steadily<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const until = Date.now() + 60_000; ; await sleep(200)) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > until) throw error
    }
  }
}

/** The scenario's issue again, under another title. */
export async function openIssue(operate: Operate, nth: number): Promise<number> {
  const issue = { ...world.issue, title: `${world.issue.title} (${nth})` }
  return (await steadily(() => openStagedIssue(operate, { ...world, issue }))).number
}

/** No word to the agent: the Ticket takes note and goes on. */
export async function followUp(operate: Operate, issue: number, nth: number): Promise<void> {
  const body = `The README is right, by the way (${nth}).`
  await steadily(async () => {
    const { comments }: { comments: { body: string }[] } = await operate('state')
    if (!comments.some((comment) => comment.body === body)) await operate('comment', { repository, number: issue, as: person!.login, body })
  })
}

export interface Hold {
  mark: Mark
  /** When it was certainly committed, by the database's clock. */
  since: Date
}

export function pause(db: Database, scope: string): Promise<Hold | { refused: string }> {
  return steadily(async () => {
    const given = { kind: 'pause', scope, actor: person!.login, transport: 'cli', reason: 'wait a moment' } as const
    const recorded = await transaction(db, (tx) => recordCommand(tx, given))
    return 'refused' in recorded ? recorded : { mark: recorded.mark, since: await clockOf(db) }
  })
}

export interface Lifted {
  /** The hold was not the one that was written any more. */
  byItself: boolean
  /** Requests and calls that began while it held. */
  startedMeanwhile: number
}

/** Looks whether the hold held, then lifts it. */
export async function resume(db: Database, { mark, since }: Hold): Promise<Lifted> {
  const { scope } = mark
  const looked = await steadily(async () => {
    const row = await db.selectFrom('pause').select(['held', 'generation']).where('scope', '=', scope).executeTakeFirstOrThrow()
    return { byItself: !row.held || row.generation !== mark.generation, startedMeanwhile: await startedSince(db, scope, since) }
  })
  await steadily(() =>
    transaction(db, (tx) => recordCommand(tx, { kind: 'resume', scope, actor: person!.login, transport: 'cli', reason: 'go on' })),
  )
  return looked
}

async function startedSince(db: Database, scope: string, since: Date): Promise<number> {
  const sessions = scope === 'all' ? '%' : scope === 'main' ? 'main-%' : `${scope.replace('ticket-', 't')}-%`
  const requests = await db.selectFrom('request').select('id').where('session', 'like', sessions).where('openedAt', '>', since).execute()
  const calls = await db.selectFrom('toolCall').select('call').where('session', 'like', sessions).where('startedAt', '>', since).execute()
  return requests.length + calls.length
}

async function clockOf(db: Database): Promise<Date> {
  const { now } = await db.selectNoFrom((of) => of.fn<Date>('clock_timestamp').as('now')).executeTakeFirstOrThrow()
  return now
}

interface Delivered {
  id: number
  /** When it was posted last. */
  at: string
  guid: string
  progress: 'waiting' | 'posting' | 'done'
  status: string
}

/** The product fetches what it missed when its server starts, and every five minutes; an operator waits so long at most. */
const PATIENCE_MS = 20_000

/**
 * GitHub never delivers again by itself: what failed some time ago and is not in the ledger either is asked for again over its API.
 * Says what came of it; null: nothing was missing.
 */
export async function redeliverMissed(db: Database, operate: Operate, { apiUrl, auth }: GithubSettings): Promise<string | null> {
  if (auth.kind !== 'app') throw new Error('only an app has a deliveries log')
  const { deliveries }: { deliveries: Delivered[] } = await steadily(() => operate('state'))
  const settled = new Set(deliveries.filter(({ progress, status }) => progress !== 'done' || status === 'OK').map(({ guid }) => guid))
  const fetched = await steadily(() => db.selectFrom('delivery').select('guid').execute())
  for (const { guid } of fetched) settled.add(guid)
  const isOld = ({ at }: Delivered) => Date.parse(at) < Date.now() - PATIENCE_MS
  const missed = new Map(deliveries.filter((each) => !settled.has(each.guid) && isOld(each)).map(({ guid, id }) => [guid, id]))
  if (missed.size === 0) return null
  const { token } = await createAppAuth({ appId: auth.appId, privateKey: auth.privateKey })({ type: 'app' })
  const asked = [...missed.values()].map((id) =>
    fetch(`${apiUrl}/app/hook/deliveries/${id}/attempts`, { method: 'POST', headers: { authorization: `Bearer ${token}` } }),
  )
  // GitHub's own mishaps meet this request too
  const answers = (await Promise.allSettled(asked)).map((each) =>
    each.status === 'fulfilled' ? String(each.value.status) : String(each.reason),
  )
  const refused = answers.filter((answer) => answer !== '202')
  return `${missed.size} deliveries that failed are asked for again${refused.length > 0 ? ` (not taken: ${refused.join(', ')})` : ''}`
}
