/**
 * A finished model step: the one transaction that takes in its answer (design §5). Two live attempts of a step may run; one wins,
 * the other is told what was stored.
 */
import { sql } from 'kysely'
import type { Answer } from '../core/prompt/conversation.ts'
import { ticketOf } from '../core/ticket/scope.ts'
import { answerClaim } from './claims.ts'
import { endOfTurn } from './closing.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { remindOfCandidates } from './reminders.ts'
import { closeRequest, outrunOthers, type Usage } from './requests.ts'
import { appendLog, type StepAddress } from './session-log.ts'
import { currentSession, type OpenCall, openCalls } from './sessions.ts'
import { storable, storableJson } from './texts.ts'
import { showState } from './tickets.ts'

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
  /** Of the body that went out. */
  wireSha: Buffer | null
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
    const end = { finishReason: taken.finishReason, wireSha: taken.wireSha, ...taken.usage }
    const outcome = !live || replaced ? 'closed' : taken.calls.length > 0 ? 'tools' : left > 0 ? 'more' : 'end'
    if (outcome === 'closed') {
      await closeRequest(tx, taken.request, { outcome: 'outrun', ...end })
      return { outcome }
    }
    const won = await tx
      .insertInto('step')
      .values({ ...at, outcome, request: taken.request })
      .onConflict((on) => on.columns(['session', 'step']).doNothing())
      .returning('step')
      .executeTakeFirst()
    await closeRequest(tx, taken.request, { outcome: won ? 'answered' : 'outrun', ...end })
    if (!won) return (await storedStep(tx, at))!
    await outrunOthers(tx, at, taken.request)

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
    if (outcome === 'end') await (ticket === null ? remindOfCandidates(tx) : endOfTurn(tx, ticket, at))
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
