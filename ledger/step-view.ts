/** What one model step sees: pause, revision, Policy, log and unread inbox, in one snapshot (design §5). */
import { sql } from 'kysely'
import type { LogEntry } from '../core/prompt/conversation.ts'
import { type Mark, sessionScope } from '../core/ticket/scope.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { holdsOn } from './pauses.ts'
import type { Configuration } from './revisions.ts'
import type { InboxKind } from './schema.ts'
import { readLog, type StepAddress } from './session-log.ts'
import { currentSession } from './sessions.ts'
import { type ShownTrigger, shownTriggers } from './triggers.ts'

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

/** More never fit into one request. */
const MOST_ITEMS = 200

/** One snapshot: pause, revision, Policy, log, unread inbox. The caller shows as many items as fit. */
export const viewStep = (
  db: Database,
  { session }: StepAddress,
  readConfiguration: (tx: Tx) => Promise<Configuration>,
): Promise<StepView> => transaction(db, (tx) => readView(tx, session, readConfiguration), 'repeatable read')

export async function readView(tx: Tx, session: string, readConfiguration: (tx: Tx) => Promise<Configuration>): Promise<StepView> {
  const row = await tx.selectFrom('session').selectAll().where('id', '=', session).executeTakeFirstOrThrow()
  if (row.role === 'subagent') throw new Error(`session ${session} is a subagent's; subagents cannot run yet`)
  const scope = sessionScope(row.ticket)
  const ticket = row.ticket === null ? null : await ticketView(tx, row.ticket)
  const log = await readLog(tx, session)
  return {
    scope,
    role: row.role,
    session,
    ticket,
    closed: ticket?.state === 'closed',
    replaced: (await currentSession(tx, scope)) !== session,
    holds: await holdsOn(tx, scope),
    configuration: await readConfiguration(tx),
    log,
    logSeq: log.at(-1)?.seq ?? 0,
    unread: await unreadItems(tx, scope, MOST_ITEMS),
    baseCommit: row.baseCommit,
    agentsMd: row.agentsMd,
  }
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
