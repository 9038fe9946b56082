/** The session log: append-only, the only source of what a model has seen and said (spec D8). */
import type { LogEntry } from '../core/prompt/conversation.ts'
import type { Database, Tx } from './database.ts'
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

/** What stands in place of words that a purge removed (spec O6): one mark for models and for people, so what was sent can be told. */
export const removed = (sha: Buffer): string => `[removed from the record: sha256 ${sha.toString('hex')}]`

/** A Session's log in order, whole. Of an answer that was removed its calls still stand, since their results must follow something. */
export async function readLog(db: Database | Tx, session: string): Promise<LogEntry[]> {
  const rows = await db
    .selectFrom('sessionLog')
    .select(['seq', 'kind', 'step', 'call', 'body', 'sha'])
    .where('session', '=', session)
    .orderBy('seq')
    .execute()
  const silenced = rows.filter(({ kind, body }) => kind === 'answer' && body === null).map(({ step }) => step)
  const calls = silenced.length === 0 ? [] : await callsOf(db, session, silenced)
  return rows.map(({ seq, kind, step, call, body, sha }) => {
    const text = body === null ? { text: removed(sha) } : JSON.parse(body)
    const made = calls.filter((each) => each.step === step).map(({ call, tool }) => ({ id: call, name: tool, input: {} }))
    const words = kind === 'answer' && body === null ? { ...text, calls: made } : text
    return { seq, kind, step, body: words, ...(call === null ? {} : { call }) } as LogEntry
  })
}

const callsOf = (db: Database | Tx, session: string, steps: number[]) =>
  db
    .selectFrom('toolCall')
    .select(['step', 'call', 'tool'])
    .where('session', '=', session)
    .where('step', 'in', steps)
    .orderBy('step')
    .orderBy('position')
    .execute()
