/** A Ticket's workflow, `ticket-<n>`: one for the Ticket's whole life, whatever its Sessions. */
import { makeContinueAsNewFunc } from '@temporalio/workflow'
import { ticketScope } from '../core/ticket/scope.ts'
import { live } from './session.ts'

export interface TicketInput {
  ticket: number
  /** Continue as new above this many history events. Tests set it low, 60 or more. */
  rollAfter?: number
}

export async function ticket(input: TicketInput): Promise<void> {
  if ((await live({ scope: ticketScope(input.ticket), rollAfter: input.rollAfter })) === 'roll') {
    await makeContinueAsNewFunc<typeof ticket>()(input)
  }
}
