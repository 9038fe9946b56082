/** Candidates: what nobody owns yet and the main Session must decide on (spec P6, G2). One row per Trigger, for ever. */
import { sql } from 'kysely'
import { decideHandedBack } from '../core/routing/decide.ts'
import { MAIN } from '../core/ticket/scope.ts'
import type { Tx } from './database.ts'
import { deliver } from './inbox.ts'

export interface NewCandidate {
  trigger: number
  thread: number
  explicit: boolean
  matchable: string[]
}

/** Opens a Trigger's candidate, or opens it again with the reasons of those who handed it back. */
export async function openCandidate(tx: Tx, given: NewCandidate, reasons: { ticket: number; reason: string }[] = []): Promise<number> {
  const { id } = await tx
    .insertInto('candidate')
    .values({
      ...given,
      matchable: JSON.stringify(given.matchable),
      reasons: JSON.stringify(reasons),
      ticket: null,
      reason: null,
      decidedBy: null,
      decidedAt: null,
      policyVersion: null,
    })
    .onConflict((on) =>
      on.column('trigger').doUpdateSet({
        state: 'waiting',
        round: sql<number>`candidate.round + 1`,
        reasons: JSON.stringify(reasons),
        ticket: null,
        reason: null,
        decidedBy: null,
        decidedAt: null,
      }),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  await deliver(tx, [{ address: MAIN, kind: 'candidate', trigger: given.trigger, candidate: id }])
  return id
}

/** What becomes of a message that every owner handed back or ended without (spec G2). The Trigger is locked by the caller. */
export async function messageHandedBack(tx: Tx, trigger: number, reasons: { ticket: number; reason: string }[]): Promise<void> {
  const row = await tx.selectFrom('trigger').selectAll().where('id', '=', trigger).executeTakeFirstOrThrow()
  const decision = decideHandedBack({
    trigger: {
      kind: row.kind,
      event: row.event,
      text: row.body ?? '',
      addressesAgent: row.addressesAgent,
      mentionsAgent: row.mentionsAgent,
    },
    author: { self: false, member: row.member },
    answers: null,
    thread: { owners: [], context: [], openCard: false },
    concerns: [],
    listening: [],
  })
  if (decision.kind !== 'candidate') return
  await openCandidate(tx, { trigger, thread: row.thread, explicit: decision.explicit, matchable: decision.matchable }, reasons)
}
