/** Tickets: how one starts from a candidate and how one ends (spec F4, N4, R2). The lock order is the one of `claims.ts`. */
import { sql } from 'kysely'
import type { Effect } from '../core/authority/gate.ts'
import type { ClosedReason } from '../core/ticket/closing.ts'
import { ticketScope } from '../core/ticket/scope.ts'
import { endAlarm, endAlarmsOf } from './alarms.ts'
import { messageHandedBack } from './candidates.ts'
import { answerClaim } from './claims.ts'
import type { Database, Tx } from './database.ts'
import { deliver, drop } from './inbox.ts'
import type { Basis } from './schema.ts'

/** What an explicit request allows. `merge` is judged again by its own conditions (spec J3). */
const EXPLICIT_EFFECTS: Effect[] = ['comment', 'branch', 'pull_request', 'review', 'merge', 'chat']

export interface Start {
  candidate: number
  title: string
  /** The main Session's routing note; may be empty. */
  note: string
  decidedBy: string
}
export type Started = { ticket: number } | { refused: string }

/**
 * Starts a Ticket from a waiting candidate, all in one transaction: Ticket, Mandate, ownership of the Thread, the claim of the
 * message, the first Session, its assignment. Other candidates that wait in the Thread become messages of the Ticket (N4).
 */
export async function startTicket(tx: Tx, { candidate, title, note, decidedBy }: Start): Promise<Started> {
  const known = await tx.selectFrom('candidate').select(['trigger', 'thread']).where('id', '=', candidate).executeTakeFirst()
  if (!known) return { refused: `there is no candidate C-${candidate}` }
  const thread = await tx.selectFrom('thread').selectAll().where('id', '=', known.thread).forUpdate().executeTakeFirstOrThrow()
  const waiting = await lockWaiting(tx, known.thread)
  const mine = waiting.find(({ id }) => id === candidate)
  if (!mine) return { refused: await whyNotWaiting(tx, candidate) }
  if (!mine.explicit)
    return { refused: `C-${candidate} is inferred, and the accept mode is explicit: inferred work is not accepted. Ignore it.` }

  const trigger = await tx
    .selectFrom('trigger')
    .select(['author', 'authorLogin', 'kind'])
    .where('id', '=', mine.trigger)
    .executeTakeFirstOrThrow()
  const { id: ticket } = await tx
    .insertInto('ticket')
    .values({ title, origin: thread.id, repository: thread.repository, closedReason: null })
    .returning('id')
    .executeTakeFirstOrThrow()
  const basis: Basis = { kind: 'explicit', requester: trigger.authorLogin, trigger: mine.trigger }
  await tx
    .insertInto('mandate')
    .values({
      ticket,
      seq: 1,
      basis: JSON.stringify(basis),
      requester: trigger.author,
      trigger: mine.trigger,
      repositories: thread.repository === null ? [] : [thread.repository],
      effects: EXPLICIT_EFFECTS,
      note,
    })
    .execute()
  await tx.insertInto('subscription').values({ ticket, thread: thread.id, role: 'owner', endedAt: null }).execute()
  await tx
    .insertInto('session')
    .values({ id: `t${ticket}-1`, role: 'executor', ticket, number: 1, endedAt: null, baseCommit: null, agentsMd: null })
    .execute()
  await tx
    .insertInto('pause')
    .values({ scope: ticketScope(ticket), actor: null, reason: null })
    .execute()

  const claims = waiting.map((each) => ({
    trigger: each.trigger,
    ticket,
    state: each.id === candidate ? ('claimed' as const) : ('pending' as const),
    reason: null,
  }))
  await tx
    .insertInto('claim')
    .values(claims)
    .onConflict((on) => on.columns(['trigger', 'ticket']).doNothing())
    .execute()
  for (const each of waiting) {
    const reason = each.id === candidate ? note || null : `T-${ticket} started in its Thread and reads it as a message`
    await decideCandidate(tx, each.id, { state: each.id === candidate ? 'started' : 'attached', ticket, reason, decidedBy })
  }
  await deliver(tx, [
    { address: ticketScope(ticket), kind: 'assignment', trigger: mine.trigger },
    ...waiting
      .filter(({ id }) => id !== candidate)
      .map((each) => ({ address: ticketScope(ticket), kind: 'message' as const, trigger: each.trigger })),
  ])
  return { ticket }
}

/** Ignores a waiting candidate; the reason stays visible (spec M5). */
export async function ignoreCandidate(
  tx: Tx,
  { candidate, reason, decidedBy }: { candidate: number; reason: string; decidedBy: string },
): Promise<{ ignored: number } | { refused: string }> {
  const known = await tx.selectFrom('candidate').select(['trigger', 'thread']).where('id', '=', candidate).executeTakeFirst()
  if (!known) return { refused: `there is no candidate C-${candidate}` }
  await tx.selectFrom('trigger').select('id').where('id', '=', known.trigger).forUpdate().execute()
  const row = await tx.selectFrom('candidate').select('state').where('id', '=', candidate).forUpdate().executeTakeFirstOrThrow()
  if (row.state !== 'waiting' && row.state !== 'stuck') return { refused: await whyNotWaiting(tx, candidate) }
  await decideCandidate(tx, candidate, { state: 'ignored', ticket: null, reason, decidedBy })
  return { ignored: candidate }
}

async function lockWaiting(tx: Tx, thread: number) {
  const waiting = await tx
    .selectFrom('candidate')
    .select(['id', 'trigger', 'explicit'])
    .where('thread', '=', thread)
    .where('state', 'in', ['waiting', 'stuck'])
    .orderBy('trigger')
    .execute()
  if (waiting.length === 0) return []
  await tx
    .selectFrom('trigger')
    .select('id')
    .where(
      'id',
      'in',
      waiting.map(({ trigger }) => trigger),
    )
    .orderBy('id')
    .forUpdate()
    .execute()
  return tx
    .selectFrom('candidate')
    .select(['id', 'trigger', 'explicit'])
    .where(
      'id',
      'in',
      waiting.map(({ id }) => id),
    )
    .where('state', 'in', ['waiting', 'stuck'])
    .orderBy('trigger')
    .forUpdate()
    .execute()
}

async function whyNotWaiting(tx: Tx, candidate: number): Promise<string> {
  const { state, ticket, decidedBy } = await tx
    .selectFrom('candidate')
    .select(['state', 'ticket', 'decidedBy'])
    .where('id', '=', candidate)
    .executeTakeFirstOrThrow()
  return `C-${candidate} is decided already: ${state}${ticket === null ? '' : ` (T-${ticket})`}${decidedBy ? ` by ${decidedBy}` : ''}`
}

interface Verdict {
  state: 'started' | 'attached' | 'ignored'
  ticket: number | null
  reason: string | null
  decidedBy: string
}

async function decideCandidate(tx: Tx, candidate: number, verdict: Verdict): Promise<void> {
  await endAlarm(tx, 'stuck', `C-${candidate}`)
  await tx
    .updateTable('candidate')
    .set({
      ...verdict,
      decidedAt: sql<Date>`now()`,
      policyVersion: (query) => query.selectFrom('policyVersion').select((of) => of.fn.max('version').as('v')),
    })
    .where('id', '=', candidate)
    .execute()
}

/**
 * Closes a live Ticket and ends what it held: claims (a message that nobody else claims becomes a candidate in this very
 * transaction), Subscriptions, its Session, unread items. Takes the Triggers of its pending claims before the Ticket; if
 * another message came in between, the whole transaction starts over.
 */
export async function closeTicket(tx: Tx, ticket: number, reason: ClosedReason): Promise<{ opening: number } | { refused: string }> {
  const pending = await pendingClaims(tx, ticket)
  if (pending.length > 0) await tx.selectFrom('trigger').select('id').where('id', 'in', pending).orderBy('id').forUpdate().execute()
  const row = await tx
    .selectFrom('ticket')
    .select(['state', 'closedReason', 'opening'])
    .where('id', '=', ticket)
    .forUpdate()
    .executeTakeFirst()
  if (!row) return { refused: `there is no Ticket T-${ticket}` }
  if (row.state === 'closed') return { refused: `T-${ticket} is closed already (${row.closedReason})` }
  if ((await pendingClaims(tx, ticket)).length > pending.length)
    throw Object.assign(new Error(`another message reached T-${ticket} while it closed`), { code: '40001' })

  await endTicket(tx, ticket, reason, pending)
  return { opening: row.opening }
}

/** The end itself; the Triggers of its pending claims and then the Ticket are locked by the caller. */
export async function endTicket(tx: Tx, ticket: number, reason: ClosedReason, pending: readonly number[]): Promise<void> {
  await tx
    .updateTable('ticket')
    .set({ state: 'closed', closedReason: reason, stateSince: sql<Date>`now()` })
    .where('id', '=', ticket)
    .execute()
  await tx
    .updateTable('subscription')
    .set({ endedAt: sql<Date>`now()` })
    .where('ticket', '=', ticket)
    .where('endedAt', 'is', null)
    .execute()
  await endAlarmsOf(tx, ticket)
  await tx.updateTable('session').set({ endedAt: sql<Date>`now()` }).where('ticket', '=', ticket).where('endedAt', 'is', null).execute()
  for (const trigger of pending) {
    const settled = await answerClaim(tx, trigger, ticket, { state: 'ended' })
    if ('message' in settled && settled.message === 'handed back') await messageHandedBack(tx, trigger, settled.reasons)
  }
  const unread = await tx
    .selectFrom('inbox')
    .select('id')
    .where('address', '=', ticketScope(ticket))
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .execute()
  await drop(
    tx,
    unread.map(({ id }) => id),
    `T-${ticket} closed`,
  )
}

async function pendingClaims(tx: Tx, ticket: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('claim')
    .select('trigger')
    .where('ticket', '=', ticket)
    .where('state', '=', 'pending')
    .orderBy('trigger')
    .execute()
  return rows.map(({ trigger }) => trigger)
}

/** The host cannot go on with this Session's Ticket (spec R1); an alarm says why. The main Session has no state of its own. */
export async function showBlocked(db: Database, session: string): Promise<void> {
  const row = await db.selectFrom('session').select('ticket').where('id', '=', session).executeTakeFirstOrThrow()
  if (row.ticket !== null) await showState(db, row.ticket, 'blocked')
}

/** Shown in panel, CLI and search attribute; changes only while the Ticket is live. */
export async function showState(tx: Database | Tx, ticket: number, state: 'working' | 'waiting' | 'blocked'): Promise<void> {
  await tx
    .updateTable('ticket')
    .set({ state, stateSince: sql<Date>`now()` })
    .where('id', '=', ticket)
    .where('state', 'not in', ['closed', state])
    .execute()
}
