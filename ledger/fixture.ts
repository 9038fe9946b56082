/** What the ledger's tests share: a database of their own, and Triggers as GitHub would send them. */
import { randomUUID } from 'node:crypto'
import type { NormalisedTrigger } from '../core/routing/trigger.ts'
import { ticketScope } from '../core/ticket/scope.ts'
import { freshDatabase } from '../test/services.ts'
import { type Connected, connect, type Database, transaction } from './database.ts'
import { createDeliveryStore } from './deliveries.ts'
import { deliver } from './inbox.ts'
import { type Judged, type TakenIn, takeIn } from './intake.ts'
import { accountRow, repositoryRow } from './places.ts'
import { openRequest } from './requests.ts'
import { createConfigurationReader } from './revisions.ts'
import type { StepAddress } from './session-log.ts'
import { viewStep } from './step-view.ts'
import type { NewCall, TakenAnswer } from './steps.ts'
import { startTicket } from './tickets.ts'
import { type Documents, headVersion, readVersion, saveVersion, type VersionKind } from './versions.ts'

export interface TestLedger extends Connected {
  /** As the owner of the tables: what only a migration or a purge may do, and clocks turned back. */
  owner: Database
  ownerUrl: string
  appUrl: string
  drop(): Promise<void>
}

/** `db` is the app's role, which owns nothing. */
export async function openLedger(): Promise<TestLedger> {
  const { appUrl, ownerUrl, drop } = await freshDatabase('ledger')
  let dropping = false
  const onLost = (error: Error) => {
    if (!dropping) throw error // the drop ends sessions that are just closing
  }
  const connected = connect(appUrl, { onLost })
  const owner = connect(ownerUrl, { size: 2, onLost })
  return {
    ...connected,
    owner: owner.db,
    ownerUrl,
    appUrl,
    async drop() {
      dropping = true
      await owner.close()
      await connected.close()
      await drop()
    },
  }
}

export type Said = Partial<Omit<NormalisedTrigger, 'place' | 'author'>> & {
  number?: number
  author?: string
  self?: boolean
  member?: boolean
}

/** A comment on acme/widgets#7 by a member who addresses the agent, but for what is said. */
export async function judged(
  db: Database,
  { number = 7, author = 'lin', self = false, member = true, ...said }: Said = {},
): Promise<Judged> {
  const id = randomUUID()
  const trigger: NormalisedTrigger = {
    key: `issue_comment:${id}/created`,
    kind: 'message',
    event: 'issue_comment.created',
    object: `issue_comment:${id}`,
    place: {
      source: 'github',
      key: `github:9001#${number}`,
      kind: 'issue',
      repository: { id: '9001', fullName: 'acme/widgets', private: false, defaultBranch: 'main' },
      number,
      title: 'The total is wrong',
      url: `https://github.example/acme/widgets/issues/${number}`,
    },
    author: {
      source: 'github',
      id: author === 'ghost' ? null : `${author.length}00${author.charCodeAt(0)}`,
      login: author,
      kind: 'user',
      viaApp: null,
    },
    text: '@switchyard please fix this',
    commandText: (said.text ?? '').replaceAll('@switchyard', '').trim(),
    url: `https://github.example/acme/widgets/issues/${number}#issuecomment-${id}`,
    happenedAt: '2026-11-30T12:00:00Z',
    mentionsAgent: true,
    addressesAgent: true,
    references: [],
    concerns: { pullRequests: [], branches: [], commits: [], reviewThread: null },
    facts: {},
    ...said,
  }
  return {
    trigger,
    repository: await repositoryRow(db, 'github', trigger.place.repository),
    author: await accountRow(db, trigger.author),
    self,
    member,
  }
}

export async function delivered(db: Database): Promise<number> {
  const guid = randomUUID()
  await createDeliveryStore(db)({
    source: 'github',
    transport: 'webhook',
    hook: '1',
    guid,
    event: 'issue_comment',
    headers: {},
    body: '{}',
    place: null,
  })
  const { id } = await db.selectFrom('delivery').select('id').where('guid', '=', guid).executeTakeFirstOrThrow()
  return id
}

/** Delivers what was said and takes it in. */
export async function hear(db: Database, said: Said = {}): Promise<TakenIn> {
  const delivery = await delivered(db)
  const each = await judged(db, said)
  const taken = await transaction(db, (tx) => takeIn(tx, delivery, [each]))
  if (!taken?.[0]) throw new Error('the Trigger was not taken in')
  return taken[0]
}

/** A Ticket that a member's message on issue `number` started. */
export async function started(db: Database, number: number): Promise<{ ticket: number; trigger: number; thread: number; session: string }> {
  const { trigger } = await hear(db, { number })
  const candidate = await db.selectFrom('candidate').select(['id', 'thread']).where('trigger', '=', trigger).executeTakeFirstOrThrow()
  const result = await transaction(db, (tx) => startTicket(tx, { candidate: candidate.id, title: 'Fix it', note: '', decidedBy: 'main-1' }))
  if ('refused' in result) throw new Error(result.refused)
  return { ticket: result.ticket, trigger, thread: candidate.thread, session: `t${result.ticket}-1` }
}

/** Live Tickets that own the Thread of issue `number` together, as attaching makes them; without Mandate and origin message. */
export async function owners(db: Database, number: number, count: number): Promise<number[]> {
  const { trigger, repository } = await judged(db, { number })
  const { key, source, kind, title, url } = trigger.place
  const { id: thread } = await db
    .insertInto('thread')
    .values({ key, source, kind, repository, number, title, url })
    .returning('id')
    .executeTakeFirstOrThrow()
  const tickets = await db
    .insertInto('ticket')
    .values(Array.from({ length: count }, () => ({ title: 'Shared', origin: thread, repository, closedReason: null })))
    .returning('id')
    .execute()
  const ids = tickets.map(({ id }) => id)
  await db
    .insertInto('subscription')
    .values(ids.map((ticket) => ({ ticket, thread, role: 'owner' as const, endedAt: null })))
    .execute()
  await db
    .insertInto('session')
    .values(
      ids.map((ticket) => ({
        id: `t${ticket}-1`,
        role: 'executor' as const,
        ticket,
        number: 1,
        endedAt: null,
        baseCommit: null,
        agentsMd: null,
      })),
    )
    .execute()
  await db
    .insertInto('pause')
    .values(ids.map((ticket) => ({ scope: ticketScope(ticket), actor: null, reason: null })))
    .execute()
  return ids
}

const readConfiguration = createConfigurationReader()

export const look = (db: Database, at: StepAddress) => viewStep(db, at, readConfiguration)

/** What the view shows, written down as a request with next to nothing around it. */
export async function open(db: Database, at: StepAddress): Promise<{ request: number | 'moved'; inputs: TakenAnswer['inputs'] }> {
  const view = await look(db, at)
  const inputs = view.unread.map(({ id, kind }) => ({ inbox: id, text: `${kind} ${id}` }))
  const opened = await openRequest(db, at, view.scope, newRequest(view, inputs), new Set())
  return { request: opened === 'moved' ? opened : opened.id, inputs }
}

export const newRequest = (
  { configuration, logSeq }: Pick<Awaited<ReturnType<typeof look>>, 'configuration' | 'logSeq'>,
  inputs: TakenAnswer['inputs'],
) => ({
  revision: configuration.revision,
  policyVersion: configuration.policy.version,
  sections: [],
  tools: '[]',
  logSeq,
  inputs,
  facts: { github: true, cwd: null, environment: [] },
  provider: 'scripted',
  model: 'scripted',
})

export const answered = (request: number, inputs: TakenAnswer['inputs'], text = 'done', calls: NewCall[] = []): TakenAnswer => ({
  request,
  answer: { text, calls: calls.map(({ call, tool, input }) => ({ id: call, name: tool, input })) },
  calls,
  finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
  usage: { inputTokens: 100, cachedTokens: null, outputTokens: 10 },
  wireSha: null,
  inputs,
})

export const newCall = (call: string, over: Partial<NewCall> = {}): NewCall => ({
  call,
  tool: 'read',
  input: { path: 'a' },
  fault: null,
  nature: 'read',
  place: 'ledger',
  ...over,
})

export const notice = (db: Database, address: string, body = 'look') =>
  transaction(db, (tx) => deliver(tx, [{ address, kind: 'notice', body }]))

/** The log of a Session as it is stored. */
export const logOf = async (db: Database, session: string) =>
  (await db.selectFrom('sessionLog').selectAll().where('session', '=', session).orderBy('seq').execute()).map((row) => ({
    ...row,
    body: JSON.parse(row.body!),
  }))

/** A person saves this document on the newest version, or the same one again. Returns its number. */
export async function save<Kind extends VersionKind>(db: Database, kind: Kind, document?: Documents[Kind]): Promise<number> {
  const { number: base } = await headVersion(db, kind)
  const next = document ?? (await readVersion(db, kind, base))!.document
  const saved = await saveVersion(db, kind, { base, document: next, origin: 'cli', actor: 'lin', note: null })
  if ('head' in saved) throw new Error(`somebody else saved ${kind}`)
  return saved.number
}
