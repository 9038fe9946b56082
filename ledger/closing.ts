/** What the end of a turn means for its Ticket (spec R2): the facts, read in the transaction that stores the turn's end, and the act. */
import { sql } from 'kysely'
import { type ClosingFacts, decideClosing } from '../core/ticket/closing.ts'
import { ticketScope } from '../core/ticket/scope.ts'
import type { Tx } from './database.ts'
import { deliver } from './inbox.ts'
import type { StepAddress } from './session-log.ts'
import { endTicket } from './tickets.ts'

/** The Ticket is locked by the caller, and what the step read is marked. Says whether the Ticket closed. */
export async function endOfTurn(tx: Tx, ticket: number, at: StepAddress): Promise<boolean> {
  const closing = decideClosing(await closingFacts(tx, ticket, at))
  if ('closes' in closing) {
    await endTicket(tx, ticket, closing.closes, [])
    return true
  }
  if ('remind' in closing) await deliver(tx, [{ address: ticketScope(ticket), kind: 'reminder', body: closing.remind }])
  return false
}

/** Read by the model; reminders, information and job ends do not count (spec R2). */
const COUNTS = ['assignment', 'message', 'answer', 'fact', 'note'] as const

export async function closingFacts(tx: Tx, ticket: number, at: StepAddress): Promise<ClosingFacts> {
  const report = await tx
    .selectFrom('report')
    .select(['session', 'step', 'status', 'createdAt'])
    .where('ticket', '=', ticket)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  const pulls = await tx.selectFrom('pullRequest').select(['number', 'state']).where('ticket', '=', ticket).orderBy('id').execute()
  const open = pulls.filter(({ state }) => state === 'open')
  const { pending } = await tx
    .selectFrom('claim')
    .select((of) => of.fn.countAll<number>().as('pending'))
    .where('ticket', '=', ticket)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow()
  const readAfter = await tx
    .selectFrom('inbox')
    .innerJoin('session', 'session.id', 'inbox.session')
    .leftJoin('claim', (join) => join.onRef('claim.trigger', '=', 'inbox.trigger').on('claim.ticket', '=', ticket))
    .select('claim.state')
    .where('inbox.address', '=', ticketScope(ticket))
    .where('inbox.kind', 'in', COUNTS)
    .$if(report !== undefined, (query) =>
      query.where((is) =>
        is.or([
          is.and([is('inbox.session', '=', report!.session), is('inbox.step', '>', report!.step)]),
          is('session.number', '>', (of) =>
            of.selectFrom('session as reported').select('reported.number').where('reported.id', '=', report!.session),
          ),
        ]),
      ),
    )
    .execute()
  const reminders = report
    ? await tx
        .selectFrom('inbox')
        .select((of) => of.fn.countAll<number>().as('sent'))
        .where('address', '=', ticketScope(ticket))
        .where('kind', '=', 'reminder')
        .where('createdAt', '>', report.createdAt)
        .executeTakeFirstOrThrow()
    : { sent: 0 }
  return {
    report: report ? { status: report.status, outdated: readAfter.length > 0, reminders: Number(reminders.sent) } : null,
    pendingClaims: Number(pending),
    openQuestions: 0,
    runningJobs: 0,
    openPullRequests: open.map(({ number }) => `#${number}`),
    lastTurn:
      pulls.length > 0 && open.length === 0 && (await readEndOfPullRequest(tx, ticket, at))
        ? {
            merged: pulls.some(({ state }) => state === 'merged'),
            pushedInIt: await pushedIn(tx, at),
            unreportedRequest: readAfter.some(({ state }) => state === 'claimed'),
          }
        : null,
  }
}

/**
 * The first step since a turn's end was judged. A turn that ended with rows unread (`more`) was not: what it read counts in the
 * turn that follows at once, or people's merge would be forgotten when another fact arrives while it is read.
 */
const turnStart = ({ session, step }: StepAddress) =>
  sql<number>`(select coalesce(max(step), 0) + 1 from step where session = ${session} and step < ${step} and outcome = 'end')`

/** In this turn the Ticket read that people merged or closed a pull request. */
async function readEndOfPullRequest(tx: Tx, ticket: number, at: StepAddress): Promise<boolean> {
  const row = await tx
    .selectFrom('inbox')
    .innerJoin('trigger', 'trigger.id', 'inbox.trigger')
    .select('inbox.id')
    .where('inbox.address', '=', ticketScope(ticket))
    .where('inbox.session', '=', at.session)
    .where('inbox.step', '>=', turnStart(at))
    .where('trigger.event', '=', 'pull_request.closed')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

async function pushedIn(tx: Tx, at: StepAddress): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select('id')
    .where('session', '=', at.session)
    .where('step', '>=', turnStart(at))
    .where('kind', 'in', ['push', 'pull_request.open'])
    .where('state', '=', 'confirmed')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
