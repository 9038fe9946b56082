/** Which host has a Ticket's checkout (design §4): its calls that need one go there and nowhere else, until that host is lost. */
import { ticketScope } from '../core/ticket/scope.ts'
import { endAlarm, raiseAlarm } from './alarms.ts'
import { type CallAddress, storeResult } from './calls.ts'
import type { Database, Tx } from './database.ts'

/** The host of this Session's Ticket; one that has none gets `here`, and of two that offer themselves at once one is taken. */
export async function hostOf(db: Database, session: string, here: string): Promise<string> {
  const of = await db
    .selectFrom('session')
    .innerJoin('ticket', 'ticket.id', 'session.ticket')
    .select(['ticket.id', 'ticket.host'])
    .where('session.id', '=', session)
    .executeTakeFirst()
  if (!of) return here
  if (of.host !== null) return of.host
  const taken = await db
    .updateTable('ticket')
    .set({ host: here })
    .where('id', '=', of.id)
    .where('host', 'is', null)
    .returning('host')
    .executeTakeFirst()
  if (!taken) return hostOf(db, session, here)
  await endAlarm(db, 'host', ticketScope(of.id))
  return here
}

/** What the model reads in the place of the call's result. */
const LOST = [
  'interrupted: the machine that had the checkout of this Ticket is gone.',
  'Lost is what you did not push: changes, commits, files beside the checkout.',
  'This call was not answered there, and is not repeated by itself.',
  'The next call gets a new checkout on another machine; it begins at what you pushed last, or else at the base commit.',
  'Look at what is there before you go on.',
].join(' ')

/** The host is gone: the Ticket may get another one, and the call that waited for it ends with the reason. */
export async function giveUpHost(tx: Tx, at: CallAddress, host: string): Promise<void> {
  const ticket = await tx
    .selectFrom('session')
    .innerJoin('ticket', 'ticket.id', 'session.ticket')
    .select(['ticket.id', 'ticket.state'])
    .where('session.id', '=', at.session)
    .forUpdate('ticket')
    .executeTakeFirstOrThrow()
  if (ticket.state === 'closed') return
  await storeResult(tx, at, { text: LOST, outcome: 'interrupted' })
  const left = await tx.updateTable('ticket').set({ host: null }).where('id', '=', ticket.id).where('host', '=', host).executeTakeFirst()
  // else another call that waited for it was first, and the Ticket may have a new host already
  if (left.numUpdatedRows > 0n)
    await raiseAlarm(tx, 'host', ticketScope(ticket.id), `the host ${host} is gone, and with it what T-${ticket.id} had not pushed`)
}
