/**
 * Tool calls: begun inside a transaction that knows the holds, ended by one stored result. A call whose tool must not run twice
 * and that was started before ends as `interrupted` (spec M4).
 */
import { type ExpressionBuilder, sql } from 'kysely'
import { INTERRUPTED } from '../core/prompt/conversation.ts'
import { type Mark, sessionScope } from '../core/ticket/scope.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { holdsOn, isClosed } from './pauses.ts'
import type { CallOutcome, Ledger } from './schema.ts'
import { appendLog, type StepAddress } from './session-log.ts'

export interface CallAddress extends StepAddress {
  call: string
}

export interface BegunCall {
  tool: string
  input: Record<string, unknown>
  fault: string | null
  nature: string
  role: 'main' | 'executor' | 'subagent'
  ticket: number | null
}

export type Begun = { begun: BegunCall } | { outcome: 'done' | 'closed' } | { outcome: 'paused'; holds: Mark[] }

export function beginCall(db: Database, at: CallAddress): Promise<Begun> {
  return transaction(db, async (tx): Promise<Begun> => {
    const row = await tx
      .selectFrom('toolCall')
      .innerJoin('session', 'session.id', 'toolCall.session')
      .leftJoin('ticket', 'ticket.id', 'session.ticket')
      .select([
        'toolCall.tool',
        'toolCall.input',
        'toolCall.fault',
        'toolCall.nature',
        'toolCall.startedAt',
        'toolCall.outcome',
        'session.role',
        'session.ticket',
        'ticket.state',
      ])
      .where('toolCall.session', '=', at.session)
      .where('toolCall.step', '=', at.step)
      .where('toolCall.call', '=', at.call)
      .forUpdate('toolCall')
      .executeTakeFirstOrThrow()
    if (row.outcome !== null) return { outcome: 'done' }
    if (row.state === 'closed') return { outcome: 'closed' }
    const holds = await holdsOn(tx, sessionScope(row.ticket), { share: true })
    if (holds.length > 0) return { outcome: 'paused', holds }
    if (row.nature === 'once' && row.startedAt !== null) {
      await storeResult(tx, at, { text: INTERRUPTED, outcome: 'interrupted' })
      return { outcome: 'done' }
    }
    const { tool, input, fault, nature, role, ticket } = row
    // what may not run twice is started when all that it needs is there: until then it may be tried again
    if (nature !== 'once') await start(tx, at)
    return { begun: { tool, input, fault, nature, role, ticket } }
  })
}

/**
 * Right before a call that must not run twice does what it does. `paused`: people held its Session since it was begun. Throws when
 * another attempt has started it: the next attempt ends it as `interrupted`.
 */
export function startOnce(db: Database, at: CallAddress): Promise<'started' | { paused: Mark[] } | { refused: string }> {
  return transaction(db, async (tx) => {
    const row = await tx
      .selectFrom('toolCall')
      .innerJoin('session', 'session.id', 'toolCall.session')
      .select(['toolCall.startedAt', 'session.ticket'])
      .where('toolCall.session', '=', at.session)
      .where('toolCall.step', '=', at.step)
      .where('toolCall.call', '=', at.call)
      .forUpdate('toolCall')
      .executeTakeFirstOrThrow()
    if (await isClosed(tx, row.ticket)) return { refused: 'The Ticket is closed: nothing was done.' }
    const holds = await holdsOn(tx, sessionScope(row.ticket), { share: true })
    if (holds.length > 0) return { paused: holds }
    if (row.startedAt !== null) throw new Error(`call ${at.call} of ${at.session} was started by another attempt, and never runs twice`)
    await start(tx, at)
    return 'started'
  })
}

const start = (tx: Tx, at: CallAddress) =>
  tx.updateTable('toolCall').set({ startedAt: sql<Date>`coalesce(started_at, now())` }).where(isCall(at)).execute()

/** Stores a call's result, once: a later one, of another attempt, is not kept. */
export async function storeResult(tx: Tx, at: CallAddress, result: { text: string; outcome: CallOutcome }): Promise<void> {
  const { call, ...step } = at
  const first = await tx
    .updateTable('toolCall')
    .set({ outcome: result.outcome, endedAt: sql<Date>`now()`, startedAt: sql<Date>`coalesce(started_at, now())` })
    .where(isCall(at))
    .where('outcome', 'is', null)
    .returning('call')
    .executeTakeFirst()
  if (first) await appendLog(tx, step, [{ kind: 'result', call, body: { text: result.text } }])
}

const isCall =
  ({ session, step, call }: CallAddress) =>
  (is: ExpressionBuilder<Ledger, 'toolCall'>) =>
    is.and({ session, step, call })
