/** Where a Session stands: what a workflow asks first, at its start, after continue-as-new, after a crash. */

import type { Mark } from '../core/ticket/scope.ts'
import { ticketOf } from '../core/ticket/scope.ts'
import type { Database, Tx } from './database.ts'
import { holdsOn } from './pauses.ts'

export interface Standing {
  session: string
  /** The first step that is not finished: no stored end, or calls that still lack a result. */
  step: number
  opening: number
  holds: Mark[]
  threads: string[]
}

/** Null: the Ticket is closed, or there is none. */
export async function standing(tx: Tx, scope: string): Promise<Standing | null> {
  const number = ticketOf(scope)
  const ticket =
    number === null ? null : await tx.selectFrom('ticket').select(['state', 'opening']).where('id', '=', number).executeTakeFirst()
  if (number !== null && (!ticket || ticket.state === 'closed')) return null
  const session = await currentSession(tx, scope)
  const threads = number === null ? [] : await ownedThreads(tx, number)
  return {
    session,
    step: await firstOpenStep(tx, session),
    opening: ticket?.opening ?? Number.MAX_SAFE_INTEGER,
    holds: await holdsOn(tx, scope),
    threads,
  }
}

/** The newest Session of the main role or of a Ticket. */
export async function currentSession(db: Database | Tx, scope: string): Promise<string> {
  const number = ticketOf(scope)
  const row = await db
    .selectFrom('session')
    .select('id')
    .where('role', '=', number === null ? 'main' : 'executor')
    .$if(number !== null, (query) => query.where('ticket', '=', number))
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return row.id
}

async function ownedThreads(tx: Tx, ticket: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('subscription')
    .innerJoin('thread', 'thread.id', 'subscription.thread')
    .select('thread.key')
    .where('subscription.ticket', '=', ticket)
    .where('subscription.role', '=', 'owner')
    .where('subscription.endedAt', 'is', null)
    .orderBy('thread.id')
    .execute()
  return rows.map(({ key }) => key)
}

async function firstOpenStep(tx: Tx, session: string): Promise<number> {
  const last = await tx
    .selectFrom('step')
    .select(['step', 'outcome'])
    .where('session', '=', session)
    .orderBy('step', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!last) return 1
  if (last.outcome !== 'tools') return last.step + 1
  return (await openCalls(tx, session, last.step)).length > 0 ? last.step : last.step + 1
}

export interface OpenCall {
  call: string
  tool: string
  nature: string
  place: string
}

/** The calls of a step that still lack a result, in the model's order. */
export async function openCalls(db: Database | Tx, session: string, step: number): Promise<OpenCall[]> {
  return db
    .selectFrom('toolCall')
    .select(['call', 'tool', 'nature', 'place'])
    .where('session', '=', session)
    .where('step', '=', step)
    .where('outcome', 'is', null)
    .orderBy('position')
    .execute()
}
