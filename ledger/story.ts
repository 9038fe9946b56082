/**
 * What people read about the work, in one snapshot each and without changing anything: everything at a glance, one Ticket's story
 * in order, a Session's log, the alarms. What waits is counted also where it is paused (spec I2), what was ignored has its reason
 * (M5), and every alarm and every person's command shows (O1, O7). A list that is not given whole says how many there are.
 */
import { type Selectable, sql } from 'kysely'
import { ALL, holdersOf, MAIN, ticketScope } from '../core/ticket/scope.ts'
import { type Database, type Tx, transaction } from './database.ts'
import type { CommandKind } from './pauses.ts'
import type { CallOutcome, InboxKind, Ledger, OutboxState, TicketState } from './schema.ts'
import { type ShownTrigger, shownTriggers } from './triggers.ts'

export interface Hold {
  scope: string
  by: string
  reason: string
  since: Date
}
export interface Alarm {
  kind: string
  subject: string
  body: string
  since: Date
  ended: Date | null
}
/** The newest or oldest of `count`. */
export interface Some<Thing> {
  count: number
  shown: Thing[]
}
export interface TicketLine {
  ticket: number
  state: TicketState
  closedReason: string | null
  since: Date
  title: string
  place: string
  url: string
  /** Messages and other items that no step has taken in. */
  unread: number
}
export interface Ignored {
  what: 'message' | 'candidate' | 'delivery'
  id: number
  event: string
  place: string | null
  by: string | null
  reason: string
  at: Date
}
export interface Overview {
  held: Hold[]
  main: { unread: number }
  tickets: TicketLine[]
  closed: Some<TicketLine>
  candidates: { candidate: number; state: 'waiting' | 'stuck'; explicit: boolean; place: string; url: string; by: string; since: Date }[]
  alarms: Alarm[]
  deliveries: Some<{ delivery: number; state: 'pending' | 'failed'; event: string; since: Date; tries: number; reason: string | null }>
  ignored: Some<Ignored>
  /** Commands whose rows hold and of which the workflows have not heard. */
  unheard: { command: CommandKind; scope: string; by: string; since: Date; error: string | null }[]
}

export function overview(db: Database, { shown = 5 } = {}): Promise<Overview> {
  return transaction(
    db,
    async (tx) => ({
      held: await holds(tx),
      main: { unread: await unreadOf(tx, MAIN) },
      tickets: await rows<TicketLine>(tx, sql`${TICKET_LINES} where ticket.state <> 'closed' order by ${BY_STATE}, ticket.id`),
      closed: {
        count: await countOf(tx, sql`ticket where state = 'closed'`),
        shown: await rows(tx, sql`${TICKET_LINES} where ticket.state = 'closed' order by state_since desc, ticket.id desc limit ${shown}`),
      },
      candidates: await rows(
        tx,
        sql`select candidate.id as candidate, candidate.state, explicit, ${PLACE} as place, trigger.url, author_login as "by",
            candidate.created_at as since
          from candidate join trigger on trigger.id = candidate.trigger join ${PLACES} on thread.id = candidate.thread
          where candidate.state in ('waiting', 'stuck') order by candidate.id`,
      ),
      alarms: await alarms(tx),
      deliveries: {
        count: await countOf(tx, sql`delivery where state in ('pending', 'failed')`),
        shown: await rows(
          tx,
          sql`select id as delivery, state, event, received_at as since, tries, reason
            from delivery where state in ('pending', 'failed') order by id limit ${shown}`,
        ),
      },
      ignored: {
        count: await countOf(tx, sql`(${IGNORED}) as ignored`),
        shown: await rows(tx, sql`${IGNORED} order by at desc, id desc limit ${shown}`),
      },
      unheard: await rows(
        tx,
        sql`select kind as command, scope, actor as "by", created_at as since, error from command where delivered_at is null order by id`,
      ),
    }),
    'repeatable read',
  )
}

export interface TicketNow {
  state: TicketState
  closedReason: string | null
  since: Date
  holds: Hold[]
  unread: number
  /** Model requests and tool calls that have begun and not ended; a tool call that has not begun has no time. */
  running: { what: 'model' | 'tool'; name: string; input: Record<string, unknown>; since: Date | null }[]
  alarms: Alarm[]
  /** Open ones and, where it has none, its own Threads: where an answer can come from. */
  pullRequests: { number: number; url: string; state: 'open' | 'closed' | 'merged'; draft: boolean }[]
  threads: { place: string; url: string; role: 'owner' | 'context' }[]
}

export type Entry = { at: Date } & (
  | { kind: 'asked'; message: ShownTrigger }
  | { kind: 'candidate'; candidate: number; explicit: boolean; round: number }
  | { kind: 'decided'; candidate: number; decision: string; by: string | null; reason: string | null }
  | { kind: 'started'; title: string; requester: string | null; effects: string[]; note: string }
  | { kind: 'session'; session: string }
  | { kind: 'arrived'; item: InboxKind; message: ShownTrigger | null; text: string | null; taken: string | null; dropped: string | null }
  | { kind: 'unanswered'; session: string; step: number; outcome: string; error: string | null; times: number; last: Date }
  | {
      kind: 'step'
      session: string
      step: number
      outcome: 'tools' | 'end' | 'more' | 'closed'
      revision: number | null
      model: string | null
      inputTokens: number | null
      outputTokens: number | null
    }
  | {
      kind: 'call'
      session: string
      step: number
      call: string
      tool: string
      input: Record<string, unknown>
      outcome: CallOutcome | null
      fault: string | null
      ended: Date | null
    }
  | {
      kind: 'effect'
      effect: string
      key: string
      payload: Record<string, unknown>
      state: OutboxState
      url: string | null
      error: string | null
    }
  | { kind: 'report'; status: string; summary: string | null; evidence: string[]; pullRequest: string | null }
  | { kind: 'command'; command: CommandKind; scope: string; by: string; via: string; reason: string; heard: Date | null }
  | { kind: 'alarm'; alarm: string; subject: string; body: string; ended: Date | null }
  | { kind: 'closed'; reason: string }
)

export interface Story {
  ticket: number
  title: string
  /** Input and output of every request of its Sessions. */
  tokens: number
  sessions: string[]
  entries: Entry[]
  now: TicketNow
}

/** Null: there is no such Ticket. */
export function ticketStory(db: Database, ticket: number): Promise<Story | null> {
  return transaction(
    db,
    async (tx) => {
      const row = await tx.selectFrom('ticket').selectAll().where('id', '=', ticket).executeTakeFirst()
      if (!row) return null
      const sessions = await sessionsOf(tx, ticket)
      return {
        ticket,
        title: row.title,
        tokens: await tokensOf(tx, ticket),
        sessions,
        entries: await entriesOf(tx, row),
        now: {
          state: row.state,
          closedReason: row.closedReason,
          since: row.stateSince,
          holds: await holdsOver(tx, ticketScope(ticket)),
          unread: await unreadOf(tx, ticketScope(ticket)),
          running: await runningIn(tx, ticket),
          alarms: await alarms(tx, { of: ticket }),
          pullRequests: await rows(tx, sql`select number, url, state, draft from pull_request where ticket = ${ticket} order by id`),
          threads: await rows(
            tx,
            sql`select ${PLACE} as place, thread.url, role from subscription join ${PLACES} on thread.id = subscription.thread
              where ticket = ${ticket} and ended_at is null order by thread.id`,
          ),
        },
      }
    },
    'repeatable read',
  )
}

/** What holds a scope now: its own pause, or the one of everything. */
export const holdsOver = (db: Database | Tx, scope: string): Promise<Hold[]> => holds(db, holdersOf(scope))

/** Open alarms, or all that ever were; `of` a Ticket: its own, its Sessions' and its effects'. */
export function alarms(db: Database | Tx, { all = false, of = null }: { all?: boolean; of?: number | null } = {}): Promise<Alarm[]> {
  return rows(
    db,
    sql`select kind, subject, body, raised_at as since, ended_at as ended from alarm
      where (${all} or ended_at is null) and (${of}::int is null or subject ~ ${subjectsOf(of)}) order by raised_at, id`,
  )
}

export interface SessionLog {
  session: string
  role: 'main' | 'executor' | 'subagent'
  ticket: number | null
  opened: Date
  ended: Date | null
  /** `body` as it was stored; null: purged. `tool` is the one whose result it is. */
  entries: {
    seq: number
    kind: 'input' | 'answer' | 'result'
    step: number
    call: string | null
    tool: string | null
    at: Date
    body: unknown
  }[]
}

/** Every word of a Session, in order. Null: there is no such Session. */
export async function sessionLog(db: Database, session: string): Promise<SessionLog | null> {
  const row = await db.selectFrom('session').selectAll().where('id', '=', session).executeTakeFirst()
  if (!row) return null
  const entries = await rows<SessionLog['entries'][number] & { body: string | null }>(
    db,
    sql`select seq, kind, log.step, log.call, tool, at, body from session_log as log
      left join tool_call as made on made.session = log.session and made.step = log.step and made.call = log.call
      where log.session = ${session} order by seq`,
  )
  return {
    session,
    role: row.role,
    ticket: row.ticket,
    opened: row.openedAt,
    ended: row.endedAt,
    entries: entries.map(({ body, ...entry }) => ({ ...entry, body: body === null ? null : JSON.parse(body) })),
  }
}

/** Ids of a Ticket's Sessions, or of the main role's, the newest last. */
export async function sessionsOf(db: Database | Tx, ticket: number | null): Promise<string[]> {
  const found = await rows<{ id: string }>(
    db,
    sql`select id from session where ticket is not distinct from ${ticket}::int and role <> 'subagent' order by number`,
  )
  return found.map(({ id }) => id)
}

async function entriesOf(
  tx: Tx,
  { id: ticket, createdAt, stateSince, closedReason, title }: Selectable<Ledger['ticket']>,
): Promise<Entry[]> {
  const scope = ticketScope(ticket)
  const inTicket = sql`in (select id from session where ticket = ${ticket})`
  const until = closedReason === null ? null : stateSince
  const mandates = await tx.selectFrom('mandate').selectAll().where('ticket', '=', ticket).orderBy('seq').execute()
  const arrived = await tx.selectFrom('inbox').selectAll().where('address', '=', scope).where('kind', '!=', 'assignment').execute()
  const messages = await shownTriggers(
    tx,
    [...mandates, ...arrived].flatMap(({ trigger }) => trigger ?? []),
  )
  const told = await rows<{ id: number; at: Date }>(
    tx,
    sql`select trigger.id, trigger.created_at as at from trigger join mandate on mandate.trigger = trigger.id where ticket = ${ticket}`,
  )
  const first = mandates[0]
  const entries: Entry[][] = [
    told.map(({ id, at }) => ({ kind: 'asked', at, message: messages.get(id)! })),
    await rows(
      tx,
      sql`select 'candidate' as kind, created_at as at, id as candidate, explicit, round from candidate where ticket = ${ticket}`,
    ),
    await rows(
      tx,
      sql`select 'decided' as kind, decided_at as at, id as candidate, state as decision, decided_by as "by", reason
        from candidate where ticket = ${ticket}`,
    ),
    [
      {
        kind: 'started',
        at: createdAt,
        title,
        requester: first?.basis.requester ?? null,
        effects: first?.effects ?? [],
        note: first?.note ?? '',
      },
    ],
    await rows(tx, sql`select 'session' as kind, opened_at as at, id as session from session where ticket = ${ticket} and number > 1`),
    arrived.map(({ kind, createdAt: at, trigger, body, session, step, dropped }) => ({
      kind: 'arrived',
      at,
      item: kind,
      message: trigger === null ? null : messages.get(trigger)!,
      text: body,
      taken: session === null ? null : `${session} step ${step}`,
      dropped,
    })),
    await rows(
      tx,
      sql`select 'unanswered' as kind, min(ended_at) as at, session, step, outcome, error, count(*) as times, max(ended_at) as last
        from request where session ${inTicket} and outcome <> 'answered' group by session, step, outcome, error`,
    ),
    await rows(
      tx,
      sql`select 'step' as kind, step.at, step.session, step.step, step.outcome, revision, model, input_tokens, output_tokens
        from step left join request on request.id = step.request where step.session ${inTicket} order by step.at, step.step`,
    ),
    await rows(
      tx,
      sql`select 'call' as kind, coalesce(started_at, step.at) as at, call.session, call.step, call, tool, input, call.outcome, fault,
          ended_at as ended
        from tool_call as call join step on step.session = call.session and step.step = call.step
        where call.session ${inTicket} order by call.session, call.step, position`,
    ),
    await rows(
      tx,
      sql`select 'effect' as kind, coalesce(settled_at, sent_at, created_at) as at, kind as effect, key, payload, state, url, error
        from outbox where ticket = ${ticket} order by id`,
    ),
    await rows(
      tx,
      sql`select 'report' as kind, report.created_at as at, status, body as summary, evidence, url as "pullRequest"
        from report left join pull_request on pull_request.id = report.pull_request where report.ticket = ${ticket} order by report.id`,
    ),
    await rows(
      tx,
      sql`select 'command' as kind, created_at as at, kind as command, scope, actor as "by", transport as via, reason, delivered_at as heard
        from command where scope = ${scope} or (scope = ${ALL} and created_at > ${createdAt} and created_at <= coalesce(${until}, now()))
        order by id`,
    ),
    (await alarms(tx, { all: true, of: ticket })).map(({ kind, since, ...alarm }) => ({ kind: 'alarm', at: since, alarm: kind, ...alarm })),
    closedReason === null ? [] : [{ kind: 'closed', at: stateSince, reason: closedReason }],
  ]
  // stable: what one transaction wrote keeps the order of this list
  return entries.flat().toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

function runningIn(tx: Tx, ticket: number): Promise<TicketNow['running']> {
  return rows(
    tx,
    sql`select * from (
        select 'model' as what, request.model as name, '{}'::jsonb as input, request.opened_at as since, 0 as position
        from request join session on session.id = request.session
        where ticket = ${ticket} and request.ended_at is null and session.ended_at is null
          and not exists (select from step where step.session = request.session and step.step = request.step)
          and request.id = (select max(newest.id) from request as newest where newest.session = request.session)
        union all
        select 'tool', tool, input, started_at, position from tool_call join session on session.id = tool_call.session
        where ticket = ${ticket} and outcome is null and session.ended_at is null
      ) as running order by position`,
  )
}

function holds(db: Database | Tx, scopes: string[] | null = null): Promise<Hold[]> {
  return rows(
    db,
    sql`select scope, coalesce(actor, 'nobody named') as "by", coalesce(reason, '') as reason, at as since from pause
      where held and (${scopes}::text[] is null or scope = any(${scopes})) order by (scope like 'ticket-%'), length(scope), scope`,
  )
}

async function unreadOf(db: Database | Tx, address: string): Promise<number> {
  return countOf(db, sql`inbox where address = ${address} and session is null and dropped is null`)
}

async function tokensOf(tx: Tx, ticket: number): Promise<number> {
  const [found] = await rows<{ tokens: number }>(
    tx,
    sql`select coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0) as tokens
      from request join session on session.id = request.session where ticket = ${ticket}`,
  )
  return found!.tokens
}

async function countOf(db: Database | Tx, what: ReturnType<typeof sql>): Promise<number> {
  const [found] = await rows<{ count: number }>(db, sql`select count(*) as count from ${what}`)
  return found!.count
}

async function rows<Row>(db: Database | Tx, query: ReturnType<typeof sql>): Promise<Row[]> {
  return (await query.execute(db)).rows as Row[]
}

/** A Ticket's subjects of alarms: its scope, the keys of its effects, its Sessions. */
const subjectsOf = (ticket: number | null): string => `^(ticket-${ticket}|t${ticket}-[0-9]+)($|[^0-9])`

const BY_STATE = sql`array_position(array['blocked', 'waiting', 'working', 'queued'], ticket.state)`
const PLACES = sql`(thread left join repository on repository.id = thread.repository)`
const PLACE = sql`coalesce(full_name, thread.source) || coalesce('#' || thread.number, '')`
const TICKET_LINES = sql`select ticket.id as ticket, ticket.state, closed_reason, state_since as since, ticket.title, ${PLACE} as place, thread.url,
  (select count(*) from inbox where address = 'ticket-' || ticket.id and session is null and dropped is null) as unread
  from ticket join ${PLACES} on thread.id = ticket.origin`
/** What the agent said itself (rule P1) is no message to anybody. */
const IGNORED = sql`
  select 'message' as what, trigger.id, event, ${PLACE} as place, author_login as "by", reason, trigger.created_at as at
  from trigger join ${PLACES} on thread.id = trigger.thread where rule = 'P7'
  union all
  select 'candidate', candidate.id, event, ${PLACE}, author_login, coalesce(candidate.reason, 'no reason given'), coalesce(decided_at, candidate.created_at)
  from candidate join trigger on trigger.id = candidate.trigger join ${PLACES} on thread.id = candidate.thread
  where candidate.state in ('ignored', 'withdrawn')
  union all
  select 'delivery', id, event, null, null, coalesce(reason, 'no reason given'), coalesce(settled_at, received_at) from delivery where state = 'ignored'`
