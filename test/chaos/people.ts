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

/** Says why when there is nothing to hold or to lift. */
export function command(db: Database, kind: 'pause' | 'resume', scope: string): Promise<Mark | { refused: string }> {
  return steadily(async () => {
    const given = { kind, scope, actor: person!.login, transport: 'cli', reason: 'a person says so' } as const
    const recorded = await transaction(db, (tx) => recordCommand(tx, given))
    return 'refused' in recorded ? recorded : recorded.mark
  })
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
