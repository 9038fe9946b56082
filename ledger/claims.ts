/**
 * Claims: what the Tickets that own a Thread answer to a message (spec G1, G2).
 *
 * Locks are taken in one order everywhere: Thread, Triggers (ascending), Tickets (ascending), pause rows. The Trigger's lock
 * makes the answers to one message come one after another; without it two Tickets that hand back at the same moment each
 * see the other as pending, and the message is lost.
 */
import type { Tx } from './database.ts'

/** `unrelated` (spec G6) also takes back the claim that starting or attaching gave; every other answer meets an open one. */
export type ClaimAnswer = { state: 'claimed' } | { state: 'returned'; reason: string; unrelated?: true } | { state: 'ended' }
export type Settled =
  | { message: 'waiting' | 'claimed' | 'handed back'; reasons: { ticket: number; reason: string }[] }
  | { refused: string }

/** The only way a claim ends. When it says `handed back`, the caller decides in the same transaction what becomes of the message. */
export async function answerClaim(tx: Tx, trigger: number, ticket: number, answer: ClaimAnswer): Promise<Settled> {
  await tx.selectFrom('trigger').select('id').where('id', '=', trigger).forUpdate().executeTakeFirstOrThrow()

  const answered = await tx
    .updateTable('claim')
    .set({ state: answer.state, reason: 'reason' in answer ? answer.reason : null })
    .where('trigger', '=', trigger)
    .where('ticket', '=', ticket)
    .where('state', 'in', 'unrelated' in answer ? ['pending', 'claimed'] : ['pending'])
    .returning('ticket')
    .executeTakeFirst()
  if (!answered) return { refused: `T-${ticket} holds no open claim on message ${trigger}; read it again before answering` }

  const claims = await tx
    .selectFrom('claim')
    .select(['ticket', 'state', 'reason'])
    .where('trigger', '=', trigger)
    .orderBy('ticket')
    .execute()
  const reasons = claims.map(({ ticket, state, reason }) => ({ ticket, reason: reason ?? state }))
  if (claims.some((claim) => claim.state === 'claimed')) return { message: 'claimed', reasons }
  if (claims.some((claim) => claim.state === 'pending')) return { message: 'waiting', reasons }
  return { message: 'handed back', reasons }
}
