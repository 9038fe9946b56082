/** The address of a Session: whose inbox it reads, which workflow carries it, and what a pause of it is called. */

export const MAIN = 'main'
/** The scope that holds everything. It is nobody's address. */
export const ALL = 'all'

export const ticketScope = (ticket: number): string => `ticket-${ticket}`
/** Of a Session: a Ticket's Executor, or, without a Ticket, the main Session. */
export const sessionScope = (ticket: number | null): string => (ticket === null ? MAIN : ticketScope(ticket))
/** The scopes that hold a Session: its own and everything. */
export const holdersOf = (scope: string): string[] => [scope, ALL]
/** The Ticket's number; null for `main` and `all`. */
export const ticketOf = (scope: string): number | null => (scope.startsWith('ticket-') ? Number(scope.slice(7)) : null)

/** One end of a pause: `generation` grows with every pause and every resume of that scope. */
export interface Mark {
  scope: string
  generation: number
}
