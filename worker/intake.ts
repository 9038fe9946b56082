/**
 * From a stored delivery to its Triggers: normalise, ask outside what must be known, decide in one transaction (spec P). A fact
 * that cannot be had keeps the delivery pending and its place in order; nobody becomes an outsider because GitHub is down.
 */
import type { Logger } from 'pino'
import { permissionNow } from '../activities/permission.ts'
import type { GithubClient } from '../channels/github/client.ts'
import { normalise } from '../channels/github/normalise.ts'
import { parseExact } from '../channels/github/payload.ts'
import { mayWrite } from '../core/authority/permission.ts'
import type { AgentIdentity, Author, NormalisedTrigger } from '../core/routing/trigger.ts'
import { raiseAlarm } from '../ledger/alarms.ts'
import { type Database, transaction } from '../ledger/database.ts'
import { ignoreDelivery, type PendingDelivery, pendingDeliveries, postponeDelivery } from '../ledger/deliveries.ts'
import { type Judged, takeIn } from '../ledger/intake.ts'
import { accountRow, repositoryRow } from '../ledger/places.ts'

export interface Intake {
  db: Database
  client: GithubClient
  identity(): Promise<AgentIdentity>
  /** Served repositories as `owner/name`; empty: all that the identity sees. */
  repositories: readonly string[]
  tellOutsiders: boolean
  log: Logger
  now(): Date
}

/** One round; says how many deliveries were settled. */
export async function takeInPending(intake: Intake, signal: AbortSignal): Promise<number> {
  const pending = await pendingDeliveries(intake.db, 'github', 50)
  let settled = 0
  for (const delivery of pending) {
    if (signal.aborted) break
    try {
      await takeInOne(intake, delivery)
      settled += 1
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      intake.log.warn({ err: error, delivery: delivery.id, tries: delivery.tries }, 'a delivery cannot be decided yet')
      await postponeDelivery(intake.db, delivery, reason)
      if (delivery.tries >= 8)
        await raiseAlarm(intake.db, 'intake', `delivery ${delivery.id}`, `cannot be decided and holds back its place: ${reason}`)
    }
  }
  return settled
}

async function takeInOne(intake: Intake, delivery: PendingDelivery): Promise<void> {
  if (delivery.body === null) return ignoreDelivery(intake.db, delivery.id, 'its body was purged')
  const agent = await intake.identity()
  const normalised = normalise(delivery.event, parseExact(delivery.body) as Record<string, unknown>, agent)
  if ('ignored' in normalised) return ignoreDelivery(intake.db, delivery.id, normalised.ignored)
  const unserved = normalised.triggers.find(({ place }) => !isServed(intake, place.repository.fullName))
  if (unserved) return ignoreDelivery(intake.db, delivery.id, `${unserved.place.repository.fullName} is not served (GITHUB_REPOSITORIES)`)

  const judged: Judged[] = []
  for (const trigger of normalised.triggers) judged.push(await judge(intake, agent, trigger))
  await transaction(intake.db, (tx) => takeIn(tx, delivery.id, judged, intake))
}

const isServed = ({ repositories }: Intake, fullName: string): boolean =>
  repositories.length === 0 || repositories.some((served) => served.toLowerCase() === fullName.toLowerCase())

async function judge(intake: Intake, agent: AgentIdentity, trigger: NormalisedTrigger): Promise<Judged> {
  const { author, place } = trigger
  const repository = await repositoryRow(intake.db, place.source, place.repository)
  const row = await accountRow(intake.db, author)
  const self = author.id === agent.id || (author.viaApp !== null && author.viaApp === agent.appId)
  const editor = editorOf(trigger)
  const member =
    !self &&
    (await isMember(intake, trigger, author, repository)) &&
    (editor === null || (await isMember(intake, trigger, editor, repository)))
  return { trigger, repository, author: row, self, member }
}

/** Who else edited it: then the weaker of both authorities holds (spec N7). */
function editorOf({ author, facts }: NormalisedTrigger): Author | null {
  if (facts.editor === undefined) return null
  const kind = facts.editorKind === 'user' ? 'user' : 'unknown'
  return {
    source: author.source,
    id: facts.editor === 'unknown' ? null : facts.editor,
    login: facts.editorLogin ?? 'unknown',
    kind,
    viaApp: null,
  }
}

/** A person with write permission (spec Q1); nobody who writes through an app (N2), no bot, no deleted account. */
async function isMember(intake: Intake, { place, kind }: NormalisedTrigger, author: Author, repository: number): Promise<boolean> {
  if (kind !== 'message') return false
  const account = await accountRow(intake.db, author)
  if (account === null || author.kind !== 'user' || author.viaApp !== null) return false
  return mayWrite(await permissionNow(intake, { account, login: author.login, repository, fullName: place.repository.fullName }))
}
