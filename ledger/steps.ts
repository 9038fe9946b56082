/**
 * A model step's two sides in the ledger: the one snapshot from which a request is made, and the one transaction that takes in
 * its answer (design §5). Two live attempts of a step may run; one wins, the other is told what was stored.
 */
import { sql } from 'kysely'
import type { Answer, LogEntry } from '../core/prompt/conversation.ts'
import type { Mark } from '../core/ticket/scope.ts'
import { ticketOf } from '../core/ticket/scope.ts'
import { answerClaim } from './claims.ts'
import { endOfTurn } from './closing.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { holdsOn } from './pauses.ts'
import type { Configuration } from './revisions.ts'
import type { InboxKind } from './schema.ts'
import { currentSession, type OpenCall, openCalls } from './sessions.ts'
import { shaOf, storable, storableJson, storeTexts } from './texts.ts'
import { showState } from './tickets.ts'
import { type ShownTrigger, shownTriggers } from './triggers.ts'

export interface StepAddress {
  session: string
  step: number
}

export type Stored = { outcome: 'end' | 'more' | 'closed' } | { outcome: 'tools'; calls: OpenCall[]; revision: number }

/** What is stored for a finished step, or null. For `tools`: the calls that still lack a result; for an end that closed the Ticket: `closed`. */
export async function storedStep(db: Database | Tx, { session, step }: StepAddress): Promise<Stored | null> {
  const row = await db
    .selectFrom('step')
    .leftJoin('request', 'request.id', 'step.request')
    .innerJoin('session', 'session.id', 'step.session')
    .leftJoin('ticket', 'ticket.id', 'session.ticket')
    .select(['step.outcome', 'request.revision', 'ticket.state', 'session.endedAt'])
    .where('step.session', '=', session)
    .where('step.step', '=', step)
    .executeTakeFirst()
  if (!row) return null
  // the turn that it ended closed the Ticket, or somebody did meanwhile
  if (row.outcome !== 'tools') return { outcome: row.state === 'closed' || row.endedAt !== null ? 'closed' : row.outcome }
  return { outcome: 'tools', calls: await openCalls(db, session, step), revision: row.revision ?? 0 }
}

export interface UnreadItem {
  id: number
  kind: InboxKind
  body: string | null
  createdAt: Date
  trigger: ShownTrigger | null
  candidate: { id: number; explicit: boolean; round: number; reasons: { ticket: number; reason: string }[] } | null
  report: { ticket: number; status: string; body: string | null; evidence: string[]; pullRequest: string | null } | null
}

export interface StepView {
  scope: string
  role: 'main' | 'executor'
  session: string
  ticket: TicketView | null
  closed: boolean
  /** A newer Session took over. */
  replaced: boolean
  holds: Mark[]
  configuration: Configuration
  log: LogEntry[]
  logSeq: number
  unread: UnreadItem[]
  /** What the Session stands on (spec C2, N12); null before its first request. */
  baseCommit: string | null
  agentsMd: Buffer | null
}

export interface TicketView {
  id: number
  title: string
  state: string
  repository: { id: number; externalId: string; fullName: string; defaultBranch: string } | null
  requester: string | null
  note: string
  effects: string[]
  origin: { url: string; title: string; number: number | null }
  spentTokens: number
}

/** One snapshot: pause, revision, Policy, log, unread inbox. At most `mostItems` items; the caller shows as many as fit. */
export function viewStep(
  db: Database,
  { session }: StepAddress,
  readConfiguration: (tx: Tx) => Promise<Configuration>,
  mostItems = 200,
): Promise<StepView> {
  return transaction(
    db,
    async (tx) => {
      const row = await tx.selectFrom('session').selectAll().where('id', '=', session).executeTakeFirstOrThrow()
      if (row.role === 'subagent') throw new Error(`session ${session} is a subagent's; subagents cannot run yet`)
      const scope = row.ticket === null ? 'main' : `ticket-${row.ticket}`
      const ticket = row.ticket === null ? null : await ticketView(tx, row.ticket)
      const entries = await tx
        .selectFrom('sessionLog')
        .select(['seq', 'kind', 'step', 'call', 'body'])
        .where('session', '=', session)
        .orderBy('seq')
        .execute()
      return {
        scope,
        role: row.role,
        session,
        ticket,
        closed: ticket?.state === 'closed',
        replaced: (await currentSession(tx, scope)) !== session,
        holds: await holdsOn(tx, scope),
        configuration: await readConfiguration(tx),
        log: entries.map(logEntry),
        logSeq: entries.at(-1)?.seq ?? 0,
        unread: await unreadItems(tx, scope, mostItems),
        baseCommit: row.baseCommit,
        agentsMd: row.agentsMd,
      }
    },
    'repeatable read',
  )
}

function logEntry(row: {
  seq: number
  kind: 'input' | 'answer' | 'result'
  step: number
  call: string | null
  body: string | null
}): LogEntry {
  const body = row.body === null ? { text: '[removed from the record]', calls: [] } : JSON.parse(row.body)
  return { seq: row.seq, kind: row.kind, step: row.step, body, ...(row.call === null ? {} : { call: row.call }) } as LogEntry
}

async function ticketView(tx: Tx, id: number): Promise<TicketView> {
  const row = await tx
    .selectFrom('ticket')
    .innerJoin('thread', 'thread.id', 'ticket.origin')
    .leftJoin('repository', 'repository.id', 'ticket.repository')
    .select([
      'ticket.title',
      'ticket.state',
      'repository.id as repositoryId',
      'repository.externalId',
      'repository.fullName',
      'repository.defaultBranch',
      'thread.url',
      'thread.title as threadTitle',
      'thread.number',
    ])
    .where('ticket.id', '=', id)
    .executeTakeFirstOrThrow()
  const mandate = await tx
    .selectFrom('mandate')
    .select(['note', 'effects', 'basis'])
    .where('ticket', '=', id)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const spent = await tx
    .selectFrom('request')
    .innerJoin('session', 'session.id', 'request.session')
    .select(sql<number>`coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0)`.as('tokens'))
    .where('session.ticket', '=', id)
    .executeTakeFirstOrThrow()
  return {
    id,
    title: row.title,
    state: row.state,
    repository:
      row.repositoryId === null
        ? null
        : { id: row.repositoryId, externalId: row.externalId!, fullName: row.fullName!, defaultBranch: row.defaultBranch! },
    requester: mandate?.basis.requester ?? null,
    note: mandate?.note ?? '',
    effects: mandate?.effects ?? [],
    origin: { url: row.url, title: row.threadTitle, number: row.number },
    spentTokens: Number(spent.tokens),
  }
}

async function unreadItems(tx: Tx, address: string, limit: number): Promise<UnreadItem[]> {
  const rows = await tx
    .selectFrom('inbox')
    .leftJoin('candidate', 'candidate.id', 'inbox.candidate')
    .leftJoin('report', 'report.id', 'inbox.report')
    .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
    .select(['inbox.id', 'inbox.kind', 'inbox.body', 'inbox.createdAt', 'inbox.trigger'])
    .select(['candidate.id as candidateId', 'candidate.explicit', 'candidate.round', 'candidate.reasons'])
    .select(['report.ticket', 'report.status', 'report.body as reportBody', 'report.evidence', 'pullRequest.url'])
    .where('inbox.address', '=', address)
    .where('inbox.session', 'is', null)
    .where('inbox.dropped', 'is', null)
    .orderBy('inbox.id')
    .limit(limit)
    .execute()
  const triggers = await shownTriggers(
    tx,
    rows.flatMap(({ trigger }) => trigger ?? []),
  )
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    body: row.body,
    createdAt: row.createdAt,
    trigger: row.trigger === null ? null : triggers.get(row.trigger)!,
    candidate:
      row.candidateId === null ? null : { id: row.candidateId, explicit: row.explicit!, round: row.round!, reasons: row.reasons ?? [] },
    report:
      row.ticket === null
        ? null
        : { ticket: row.ticket, status: row.status!, body: row.reportBody, evidence: row.evidence ?? [], pullRequest: row.url },
  }))
}

/** A step has looked at these, whatever came of it: from now on the sweep repeats their wake at most every 15 minutes. */
export async function markSeen(db: Database, items: number[]): Promise<void> {
  if (items.length === 0) return
  await db
    .updateTable('inbox')
    .set({ seenAt: sql<Date>`now()`, nextSignalAt: sql<Date>`now() + interval '15 minutes'` })
    .where('id', 'in', items)
    .where('seenAt', 'is', null)
    .execute()
}

export interface NewRequest {
  revision: number
  policyVersion: number
  sections: { name: string; text: string; sha: string; bytes: number }[]
  /** The tools as they go over the wire, JSON. */
  tools: string
  logSeq: number
  inputs: { inbox: number; text: string }[]
  provider: string
  model: string
}

/**
 * Writes down what the model will see, before it sees it. `moved`: a save, a new Policy or a pause came since the view was read,
 * so look again. The pause rows are shared until the row stands: a pause waits for it or is seen by it.
 */
export async function openRequest(
  db: Database,
  at: StepAddress,
  scope: string,
  request: NewRequest,
  known: Set<string>,
): Promise<number | 'moved'> {
  return transaction(db, async (tx) => {
    if ((await holdsOn(tx, scope, { share: true })).length > 0) return 'moved'
    const texts = [...request.sections.map(({ text }) => text), request.tools, ...request.inputs.map(({ text }) => text)]
    const shas = await storeTexts(tx, texts, known)
    const tools = shas[request.sections.length]!
    const inputs = request.inputs.map(({ inbox }, index) => ({ inbox, sha: shas[request.sections.length + 1 + index]! }))
    const sections = request.sections.map(({ name, sha, bytes }) => ({ name, sha, bytes }))
    const row = await sql<{ id: number }>`
      insert into request (session, step, revision, policy_version, sections, tools, log_seq, inputs, provider, model)
      select ${at.session}, ${at.step}, ${request.revision}, ${request.policyVersion}, ${JSON.stringify(sections)}, ${Buffer.from(tools, 'hex')},
        ${request.logSeq}, ${JSON.stringify(inputs)}, ${request.provider}, ${request.model}
      where (select max(revision) from prompt_revision) = ${request.revision} and (select max(version) from policy_version) = ${request.policyVersion}
      returning id`.execute(tx)
    const id = row.rows[0]?.id
    if (id === undefined) return 'moved'
    for (const sha of shas) known.add(sha)
    return id
  })
}

/** When the step was asked for the first time. */
export async function firstAsked(db: Database, { session, step }: StepAddress): Promise<Date> {
  const { at } = await db
    .selectFrom('request')
    .select((of) => of.fn.min('openedAt').as('at'))
    .where('session', '=', session)
    .where('step', '=', step)
    .executeTakeFirstOrThrow()
  return at
}

export interface Usage {
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
}

/** A request that brought nothing to keep: it failed, was cut off, or another attempt of its step was faster. It was paid for all the same. */
export async function closeRequest(
  db: Database | Tx,
  id: number,
  end: { outcome: 'answered' | 'outrun' | 'failed' | 'cut off'; error?: string; finishReason?: string } & Partial<Usage>,
): Promise<void> {
  await db
    .updateTable('request')
    .set({ ...end, ...(end.error === undefined ? {} : { error: storable(end.error) }), endedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .where('endedAt', 'is', null)
    .execute()
}

export interface NewCall {
  call: string
  tool: string
  input: Record<string, unknown>
  /** Why it cannot run: an unknown tool, or input that does not fit. */
  fault: string | null
  nature: string
  place: string
}

export interface TakenAnswer {
  request: number
  answer: Answer
  calls: NewCall[]
  finishReason: string
  usage: Usage
  inputs: { inbox: number; text: string }[]
}

/** Takes in an answer: the inbox items as they were shown, the answer, its calls, usage. Of two live attempts one wins. */
export function commitStep(db: Database, at: StepAddress, scope: string, taken: TakenAnswer): Promise<Stored> {
  return transaction(db, async (tx) => {
    const ticket = ticketOf(scope)
    const items = taken.inputs.map(({ inbox }) => inbox)
    const claimed = ticket === null ? [] : await soleClaims(tx, ticket, items) // Triggers before the Ticket: see claims.ts
    const live = ticket === null || (await lockLive(tx, ticket))
    const replaced = (await currentSession(tx, scope)) !== at.session
    const left = live && !replaced ? await leftUnread(tx, scope, items) : 0
    const outcome = !live || replaced ? 'closed' : taken.calls.length > 0 ? 'tools' : left > 0 ? 'more' : 'end'
    if (outcome === 'closed') {
      await closeRequest(tx, taken.request, { outcome: 'outrun', finishReason: taken.finishReason, ...taken.usage })
      return { outcome }
    }
    const won = await tx
      .insertInto('step')
      .values({ ...at, outcome, request: taken.request })
      .onConflict((on) => on.columns(['session', 'step']).doNothing())
      .returning('step')
      .executeTakeFirst()
    await closeRequest(tx, taken.request, { outcome: won ? 'answered' : 'outrun', finishReason: taken.finishReason, ...taken.usage })
    if (!won) return (await storedStep(tx, at))!

    await appendLog(tx, at, [
      ...taken.inputs.map(({ text }) => ({ kind: 'input' as const, call: null, body: { text } })),
      { kind: 'answer', call: null, body: taken.answer },
    ])
    if (taken.calls.length > 0) {
      const rows = taken.calls.map((call, position) => ({
        ...at,
        ...call,
        position,
        input: storableJson(call.input),
        fault: call.fault === null ? null : storable(call.fault),
        startedAt: null,
        endedAt: null,
        outcome: null,
      }))
      await tx.insertInto('toolCall').values(rows).execute()
    }
    if (items.length > 0) {
      await tx
        .updateTable('inbox')
        .set({ ...at, seenAt: sql<Date>`coalesce(seen_at, now())` })
        .where('id', 'in', items)
        .where('session', 'is', null)
        .execute()
    }
    if (ticket !== null) await showState(tx, ticket, outcome === 'end' ? 'waiting' : 'working')
    for (const trigger of claimed) await answerClaim(tx, trigger, ticket!, { state: 'claimed' })
    if (ticket !== null && outcome === 'end') await endOfTurn(tx, ticket, at)
    return (await storedStep(tx, at))!
  })
}

async function lockLive(tx: Tx, ticket: number): Promise<boolean> {
  const row = await tx.selectFrom('ticket').select('state').where('id', '=', ticket).forUpdate().executeTakeFirstOrThrow()
  return row.state !== 'closed'
}

async function leftUnread(tx: Tx, address: string, taken: number[]): Promise<number> {
  const { left } = await tx
    .selectFrom('inbox')
    .select((of) => of.fn.countAll<number>().as('left'))
    .where('address', '=', address)
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .$if(taken.length > 0, (query) => query.where('id', 'not in', taken))
    .executeTakeFirstOrThrow()
  return Number(left)
}

/** Until Executors have the claim tools, a Ticket that is the only one asked claims a message by reading it. Locks the Triggers. */
async function soleClaims(tx: Tx, ticket: number, items: number[]): Promise<number[]> {
  if (items.length === 0) return []
  const rows = await tx
    .selectFrom('trigger')
    .select('trigger.id')
    .where('trigger.id', 'in', (of) =>
      of.selectFrom('inbox').select('inbox.trigger').where('inbox.id', 'in', items).$castTo<{ trigger: number }>(),
    )
    .where('trigger.id', 'in', (of) =>
      of.selectFrom('claim').select('claim.trigger').where('claim.ticket', '=', ticket).where('claim.state', '=', 'pending'),
    )
    .where('trigger.id', 'not in', (of) => of.selectFrom('claim').select('claim.trigger').where('claim.ticket', '!=', ticket))
    .orderBy('trigger.id')
    .forUpdate()
    .execute()
  return rows.map(({ id }) => id)
}

type NewEntry = { kind: 'input' | 'answer'; call: null; body: unknown } | { kind: 'result'; call: string; body: { text: string } }

/** Appends in one statement; the sequence is kept by the step's own uniqueness and, for results side by side, by the Session's lock. */
export async function appendLog(tx: Tx, { session, step }: StepAddress, entries: NewEntry[]): Promise<void> {
  await tx.selectFrom('session').select('id').where('id', '=', session).forNoKeyUpdate().execute()
  const { last } = await tx
    .selectFrom('sessionLog')
    .select((of) => of.fn.max('seq').as('last'))
    .where('session', '=', session)
    .executeTakeFirstOrThrow()
  const rows = entries.map(({ kind, call, body }, index) => {
    const text = storable(JSON.stringify(body))
    return { session, step, seq: (last ?? 0) + 1 + index, kind, call, body: text, sha: shaOf(text), purgedAt: null }
  })
  await tx.insertInto('sessionLog').values(rows).execute()
}
