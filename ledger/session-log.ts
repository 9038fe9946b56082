/** The session log: append-only, the only source of what a model has seen and said (spec D8). */
import type { Tx } from './database.ts'
import { shaOf, storable } from './texts.ts'

export interface StepAddress {
  session: string
  step: number
}

type NewEntry = { kind: 'input' | 'answer'; call: null; body: unknown } | { kind: 'result'; call: string; body: { text: string } }

/** Appends in one statement; the sequence is kept by the step's own uniqueness and, for results side by side, by the Session's lock. */
export async function appendLog(tx: Tx, { session, step }: StepAddress, entries: NewEntry[]): Promise<void> {
  await tx.selectFrom('session').select('id').where('id', '=', session).forNoKeyUpdate().execute()
  const { last } = await tx
    .selectFrom('sessionLog')
    .select((of) => of.fn.max('seq').as('last'))
    .where('session', '=', session)
    .executeTakeFirstOrThrow()
  const rows = entries.map(({ kind, call, body }, index) => {
    const text = storable(JSON.stringify(body))
    return { session, step, seq: (last ?? 0) + 1 + index, kind, call, body: text, sha: shaOf(text), purgedAt: null }
  })
  await tx.insertInto('sessionLog').values(rows).execute()
}
