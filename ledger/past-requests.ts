/**
 * What a past request sent (spec C8, D8), rebuilt from the ledger alone: the row, the texts under their hashes and the log up to
 * where it stood then. Today's files and configuration have no say, so it is the same after an upgrade, and of a failed one.
 */
import { type Selectable, sql } from 'kysely'
import { systemOf } from '../core/prompt/assemble.ts'
import { conversation, type LogEntry, type Message, withInputs } from '../core/prompt/conversation.ts'
import { type Kept, keptPrefix, type Sent } from '../core/prompt/prefix.ts'
import type { OfferedTool } from '../core/tool/as-offered.ts'
import { type Database, type Tx, transaction } from './database.ts'
import type { Ledger, RequestFacts } from './schema.ts'
import { readLog, removed } from './session-log.ts'

export interface PastRequest {
  request: number
  session: string
  role: 'main' | 'executor' | 'subagent'
  ticket: number | null
  step: number
  /** Its number among the requests of its step. */
  attempt: number
  revision: number
  policyVersion: number
  provider: string
  model: string
  facts: RequestFacts
  opened: Date
  ended: Date | null
  outcome: 'answered' | 'outrun' | 'failed' | 'cut off' | null
  error: string | null
  finishReason: string | null
  tokens: { input: number | null; cacheHit: number | null; cacheMiss: number | null; output: number | null }
  /** sha256 of the HTTP body as it went out, in hex; null: the process ended before it could write that down. */
  wireSha: string | null
  system: string
  sections: { name: string; sha: string; bytes: number; text: string }[]
  tools: OfferedTool[]
  messages: Message[]
  /** Hashes of what a purge has removed since; where its words were, a mark stands (spec O6). */
  removed: string[]
  /** It saw the log up to here, then its inputs. */
  logSeq: number
  /** Against the Session's request before this one; null: it is the first. */
  kept: Kept | null
}

/** Null: there is no such request. */
export async function pastRequest(db: Database, request: number): Promise<PastRequest | null> {
  const past = await read(
    db,
    sql`id = ${request} or id = (
      select max(before.id) from request as before join request as this on this.session = before.session
      where this.id = ${request} and before.id < ${request})`,
  )
  return past.find((each) => each.request === request) ?? null
}

/** All of a Session's, the oldest first. */
export const pastRequests = (db: Database, session: string): Promise<PastRequest[]> => read(db, sql`session = ${session}`)

const read = (db: Database, which: ReturnType<typeof sql>): Promise<PastRequest[]> =>
  transaction(db, (tx) => readPast(tx, which), 'repeatable read', 'read only')

/** Of one Session; `which` says which of its rows. */
export async function readPast(tx: Tx, which: ReturnType<typeof sql>): Promise<PastRequest[]> {
  const rows = await requestRows(tx, which)
  const [first] = rows
  if (!first) return []
  const texts = await textsOf(tx, rows)
  const log = await readLog(tx, first.session)
  const built = rows.map((row) => rebuild(row, texts, log))
  return built.map(({ sent, past }, index) => ({ ...past, kept: index === 0 ? null : keptPrefix(built[index - 1]!.sent, sent) }))
}

type Row = Selectable<Ledger['request']> & { attempt: number; role: PastRequest['role']; ticket: number | null }

async function requestRows(tx: Tx, which: ReturnType<typeof sql>): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select past.*, role, ticket from (
      select request.*, (
        select count(*) from request as same where same.session = request.session and same.step = request.step and same.id <= request.id
      ) as attempt from request where ${which}
    ) as past join session on session.id = past.session order by past.id`.execute(tx)
  return rows
}

/** By hash; null: removed. */
type Texts = ReadonlyMap<string, string | null>

async function textsOf(tx: Tx, rows: readonly Row[]): Promise<Texts> {
  const shas = new Set(
    rows.flatMap(({ tools, sections, inputs }) => [tools.toString('hex'), ...[...sections, ...inputs].map(({ sha }) => sha)]),
  )
  const found = await tx
    .selectFrom('text')
    .select(['sha', 'body'])
    .where(
      'sha',
      'in',
      [...shas].map((sha) => Buffer.from(sha, 'hex')),
    )
    .execute()
  return new Map(found.map(({ sha, body }) => [sha.toString('hex'), body]))
}

/** The fold: the same row, texts and log give the same bytes. */
function rebuild(row: Row, texts: Texts, log: readonly LogEntry[]): { sent: Sent; past: Omit<PastRequest, 'kept'> } {
  const gone = new Set<string>()
  const text = (sha: string): string => {
    const body = texts.get(sha) ?? null
    if (body === null) gone.add(sha)
    return body ?? removed(Buffer.from(sha, 'hex'))
  }
  const sections = row.sections.map((section) => ({ ...section, text: text(section.sha) }))
  const toolsSha = row.tools.toString('hex')
  const tools = text(toolsSha)
  const known = log.filter(({ seq }) => seq <= row.logSeq)
  const messages = conversation(
    withInputs(
      known,
      row.inputs.map(({ sha }) => text(sha)),
    ),
  )
  const past: Omit<PastRequest, 'kept'> = {
    request: row.id,
    session: row.session,
    role: row.role,
    ticket: row.ticket,
    step: row.step,
    attempt: row.attempt,
    revision: row.revision,
    policyVersion: row.policyVersion,
    provider: row.provider,
    model: row.model,
    facts: row.facts,
    opened: row.openedAt,
    ended: row.endedAt,
    outcome: row.outcome,
    error: row.error,
    finishReason: row.finishReason,
    tokens: tokensOf(row),
    wireSha: row.wireSha?.toString('hex') ?? null,
    system: systemOf(sections),
    sections,
    tools: gone.has(toolsSha) ? [] : (JSON.parse(tools) as OfferedTool[]),
    messages,
    logSeq: row.logSeq,
    removed: [...gone, ...known.flatMap(removedFrom)],
  }
  return { sent: { provider: row.provider, tools, sections, messages }, past }
}

const MARK = /^\[removed from the record: sha256 ([0-9a-f]{64})\]$/

function removedFrom({ body }: LogEntry): string[] {
  const sha = MARK.exec(body.text)?.[1]
  return sha === undefined ? [] : [sha]
}

/** What a provider did not report stays unknown. */
function tokensOf({ inputTokens: input, cachedTokens: cacheHit, outputTokens: output }: Row): PastRequest['tokens'] {
  return { input, cacheHit, cacheMiss: input === null || cacheHit === null ? null : input - cacheHit, output }
}
