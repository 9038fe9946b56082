/** How people write what a command is about (spec I4): a Ticket, the main Session, or everything. */
import { ALL, MAIN, ticketOf, ticketScope } from '../core/ticket/scope.ts'

export type ParsedScope = { scope: string } | { refused: string }

/** Nine digits fit the ledger's ids; no Ticket has more. */
const TICKET = /^(?:t-|ticket-)?([1-9]\d{0,8})$/

const LEGAL = `a Ticket (T-7, ticket-7 or 7), ${MAIN} (the main Session) or ${ALL} (everything)`

export function parseScope(text: string): ParsedScope {
  const word = text.trim().toLowerCase()
  if (word === MAIN || word === ALL) return { scope: word }
  const number = TICKET.exec(word)?.[1]
  return number === undefined ? { refused: `"${text}" names nothing that can be held: ${LEGAL}` } : { scope: ticketScope(Number(number)) }
}

/** As people read it: `T-7`, `the main Session`, `everything`. */
export function scopeName(scope: string): string {
  const ticket = ticketOf(scope)
  if (ticket !== null) return `T-${ticket}`
  return scope === MAIN ? 'the main Session' : 'everything'
}

/** As it is typed after a command: `T-7`, `main`, `all`. */
export function scopeWord(scope: string): string {
  const ticket = ticketOf(scope)
  return ticket === null ? scope : `T-${ticket}`
}
