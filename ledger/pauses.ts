/**
 * People's holds (spec I): the rows here are the truth, workflows only remember what they heard. Every start of something is
 * checked against them inside the transaction that starts it.
 */
import { sql } from 'kysely'
import { ALL, holdersOf, MAIN, type Mark, ticketOf } from '../core/ticket/scope.ts'
import type { Database, Tx } from './database.ts'
import { deliver } from './inbox.ts'
import { closeTicket } from './tickets.ts'

export type CommandKind = 'pause' | 'resume' | 'close' | 'retry'
export interface NewCommand {
  kind: CommandKind
  scope: string
  actor: string
  transport: 'cli' | 'panel' | 'chat' | 'temporal'
  reason: string
  basis?: string
  /** Of a raw update: its second attempt finds the first one's row. */
  updateId?: string
}
export type Recorded = { id: number; mark: Mark; already: null | string } | { refused: string }

/** A closed Ticket starts nothing (spec R3); the row is shared, so a close waits for what is being started, or is seen by it. */
export async function isClosed(tx: Tx, ticket: number | null): Promise<boolean> {
  if (ticket === null) return false
  const row = await tx.selectFrom('ticket').select('state').where('id', '=', ticket).forShare().executeTakeFirstOrThrow()
  return row.state === 'closed'
}

/** The marks that hold a Session now; none: it may go on. `share` keeps a pause from being written until the transaction ends. */
export async function holdsOn(tx: Database | Tx, scope: string, { share = false } = {}): Promise<Mark[]> {
  const rows = await tx
    .selectFrom('pause')
    .select(['scope', 'generation', 'held'])
    .where('scope', 'in', holdersOf(scope))
    .orderBy('scope')
    .$if(share, (query) => query.forShare())
    .execute()
  return rows.filter(({ held }) => held).map(({ scope, generation }) => ({ scope, generation }))
}

/**
 * Writes a person's command: the row first, so that it holds with Temporal down; the dispatcher tells the workflows. Refused
 * for a Ticket that does not exist or is closed. A pause of what is paused, or a resume of what runs, changes nothing and says who did it.
 */
export async function recordCommand(tx: Tx, given: NewCommand): Promise<Recorded> {
  if (given.updateId) {
    // attempts of one update may overlap: the second looks when the first has committed
    await sql`select pg_advisory_xact_lock(hashtext(${given.updateId}))`.execute(tx)
    const first = await tx
      .selectFrom('command')
      .select(['id', 'scope', 'generation'])
      .where('updateId', '=', given.updateId)
      .executeTakeFirst()
    if (first) return { id: first.id, mark: { scope: first.scope, generation: first.generation }, already: null }
  }
  const number = ticketOf(given.scope)
  if (number !== null && given.kind === 'close') return close(tx, given, number)
  if (number !== null) {
    const ticket = await tx.selectFrom('ticket').select(['state', 'closedReason']).where('id', '=', number).forShare().executeTakeFirst()
    if (!ticket) return { refused: `there is no Ticket T-${number}` }
    if (ticket.state === 'closed') return { refused: `T-${number} is closed (${ticket.closedReason}); there is nothing to ${given.kind}` }
  }
  const pause = await tx.selectFrom('pause').selectAll().where('scope', '=', given.scope).forUpdate().executeTakeFirst()
  if (!pause) return { refused: `there is nothing called ${given.scope}; a scope is ticket-<n>, ${MAIN} or ${ALL}` }
  switch (given.kind) {
    case 'pause':
    case 'resume': {
      const held = given.kind === 'pause'
      const already =
        pause.held === held
          ? pause.actor
            ? `${held ? 'paused' : 'resumed'} by ${pause.actor} at ${pause.at.toISOString()}`
            : 'nobody has paused it'
          : null
      const generation = already ? pause.generation : pause.generation + 1
      if (!already) {
        await tx
          .updateTable('pause')
          .set({ held, generation, actor: given.actor, reason: given.reason, at: sql<Date>`now()` })
          .where('scope', '=', given.scope)
          .execute()
      }
      return { id: await insertCommand(tx, given, generation), mark: { scope: given.scope, generation }, already }
    }
    case 'close':
      return { refused: `only a Ticket can be closed, not ${given.scope}` }
    case 'retry': {
      if (given.scope === ALL) return { refused: `one Session is tried again at a time: ${MAIN} or ticket-<n>, not ${ALL}` }
      await deliver(tx, [{ address: given.scope, kind: 'notice', body: `${given.actor} asks to try again: ${given.reason}` }])
      return {
        id: await insertCommand(tx, given, pause.generation),
        mark: { scope: given.scope, generation: pause.generation },
        already: null,
      }
    }
    default:
      return given.kind satisfies never
  }
}

/**
 * How many messages came since a pause began that a step's decision did not know of, and wait unread (spec I2). No request is written
 * while people hold, so such a pause is one that was not lifted yet when the step was asked for.
 */
export async function wroteDuringPause(
  db: Database | Tx,
  scope: string,
  { session, step }: { session: string; step: number },
): Promise<number> {
  const { rows } = await sql<{ wrote: number }>`
    select count(*) as wrote from inbox
    where address = ${scope} and session is null and dropped is null and kind in ('message', 'information', 'answer', 'note')
      and created_at >= (
        select min(pause.created_at) from command pause
        where pause.kind = 'pause' and pause.scope in (${scope}, ${ALL}) and not exists (
          select from command resume
          where resume.kind = 'resume' and resume.scope = pause.scope and resume.generation = pause.generation + 1
            and resume.created_at <= (
              select request.opened_at from step join request on request.id = step.request
              where step.session = ${session} and step.step = ${step}
            )
        )
      )`.execute(db)
  return Number(rows[0]?.wrote ?? 0)
}

async function close(tx: Tx, given: NewCommand, ticket: number): Promise<Recorded> {
  const closed = await closeTicket(tx, ticket, 'stopped')
  if ('refused' in closed) return closed
  return { id: await insertCommand(tx, given, closed.opening), mark: { scope: given.scope, generation: closed.opening }, already: null }
}

async function insertCommand(
  tx: Tx,
  { kind, scope, actor, transport, reason, basis, updateId }: NewCommand,
  generation: number,
): Promise<number> {
  const { id } = await tx
    .insertInto('command')
    .values({
      kind,
      scope,
      actor,
      transport,
      reason,
      generation,
      basis: basis ?? null,
      updateId: updateId ?? null,
      deliveredAt: null,
      error: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
