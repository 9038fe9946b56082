/** How people write a Session: its own id, or what it belongs to for the newest one. */
import { MAIN, ticketOf } from '../core/ticket/scope.ts'
import type { Database } from '../ledger/database.ts'
import { sessionsOf } from '../ledger/story.ts'
import { parseScope } from './scope.ts'

export async function findSession(db: Database, written: string): Promise<{ session: string } | { refused: string }> {
  const word = written.trim().toLowerCase()
  const exact = await db.selectFrom('session').select('id').where('id', '=', word).executeTakeFirst()
  if (exact) return { session: exact.id }
  const parsed = parseScope(/^t(\d+)-\d+$/.exec(word)?.[1] ?? (/^main-\d+$/.test(word) ? MAIN : word))
  if ('refused' in parsed || parsed.scope === 'all') {
    return { refused: `"${written}" names no Session: a Session (t7-1, main-1), a Ticket for its newest one (T-7), or main` }
  }
  const ticket = ticketOf(parsed.scope)
  const known = await sessionsOf(db, ticket)
  const newest = known.at(-1)
  if (newest === undefined) return { refused: `there is no Ticket T-${ticket}. Those there are: switchyard status` }
  const isScope = 'scope' in parseScope(word)
  return isScope ? { session: newest } : { refused: `there is no Session ${written}. Those there are: ${known.join(', ')}` }
}
