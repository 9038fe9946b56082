/** Model requests as evidence (spec C8): one row per attempt, written before the call, closed once with what it cost. */
import { sql } from 'kysely'
import { ticketOf } from '../core/ticket/scope.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { holdsOn, isClosed } from './pauses.ts'
import { RECORDING_STATE } from './recordings.ts'
import type { RequestFacts } from './schema.ts'
import type { StepAddress } from './session-log.ts'
import { storable, storeTexts } from './texts.ts'

export interface NewRequest {
  revision: number
  policyVersion: number
  sections: { name: string; text: string; sha: string; bytes: number }[]
  /** The tools as they go over the wire, JSON. */
  tools: string
  logSeq: number
  inputs: { inbox: number; text: string }[]
  facts: RequestFacts
  provider: string
  model: string
}

export interface OpenedRequest {
  id: number
  /** People have recording on (spec D9). */
  isRecorded: boolean
}

/**
 * Writes down what the model will see, before it sees it. `moved`: a save, a new Policy or a pause came since the view was read,
 * so look again. The pause rows are shared until the row stands: a pause waits for it or is seen by it.
 */
export async function openRequest(
  db: Database,
  at: StepAddress,
  scope: string,
  request: NewRequest,
  known: Set<string>,
): Promise<OpenedRequest | 'moved'> {
  return transaction(db, async (tx) => {
    if ((await isClosed(tx, ticketOf(scope))) || (await holdsOn(tx, scope, { share: true })).length > 0) return 'moved'
    const texts = [...request.sections.map(({ text }) => text), request.tools, ...request.inputs.map(({ text }) => text)]
    const shas = await storeTexts(tx, texts, known)
    const tools = shas[request.sections.length]!
    const inputs = request.inputs.map(({ inbox }, index) => ({ inbox, sha: shas[request.sections.length + 1 + index]! }))
    const sections = request.sections.map(({ name, sha, bytes }) => ({ name, sha, bytes }))
    const row = await sql<OpenedRequest>`
      insert into request (session, step, revision, policy_version, sections, tools, log_seq, inputs, facts, provider, model)
      select ${at.session}, ${at.step}, ${request.revision}, ${request.policyVersion}, ${JSON.stringify(sections)}, ${Buffer.from(tools, 'hex')},
        ${request.logSeq}, ${JSON.stringify(inputs)}, ${JSON.stringify(request.facts)}, ${request.provider}, ${request.model}
      where (select max(revision) from prompt_revision) = ${request.revision} and (select max(version) from policy_version) = ${request.policyVersion}
      returning id, ${RECORDING_STATE} as "isRecorded"`.execute(tx)
    const [opened] = row.rows
    if (!opened) return 'moved'
    for (const sha of shas) known.add(sha)
    return opened
  })
}

/** When the step was asked for the first time. */
export async function firstAsked(db: Database, { session, step }: StepAddress): Promise<Date> {
  const { at } = await db
    .selectFrom('request')
    .select((of) => of.fn.min('openedAt').as('at'))
    .where('session', '=', session)
    .where('step', '=', step)
    .executeTakeFirstOrThrow()
  return at
}

export interface Usage {
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
}

/** A request that brought nothing to keep: it failed, was cut off, or another attempt of its step was faster. It was paid for all the same. */
export async function closeRequest(
  db: Database | Tx,
  id: number,
  end: {
    outcome: 'answered' | 'outrun' | 'failed' | 'cut off'
    error?: string
    finishReason?: string
    wireSha?: Buffer | null
  } & Partial<Usage>,
): Promise<void> {
  const closed = await db
    .updateTable('request')
    .set({ ...end, ...(end.error === undefined ? {} : { error: storable(end.error) }), endedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .where('endedAt', 'is', null)
    .executeTakeFirst()
  const { inputTokens = null, cachedTokens = null, outputTokens = null } = end
  if (closed.numUpdatedRows > 0n || (inputTokens === null && outputTokens === null)) return
  // it was given up by `outrunOthers`, and was alive: what it cost is counted all the same
  await db
    .updateTable('request')
    .set({ inputTokens, cachedTokens, outputTokens })
    .where('id', '=', id)
    .where('inputTokens', 'is', null)
    .where('outputTokens', 'is', null)
    .execute()
}

/**
 * The step is finished, so no other request of it can bring anything any more. One whose process was killed never says so itself; of
 * one that lives nothing is lost but the look of its end.
 */
export async function outrunOthers(tx: Tx, { session, step }: StepAddress, winner: number): Promise<void> {
  await tx
    .updateTable('request')
    .set({ outcome: 'outrun', error: 'its end was not heard of before another request finished the step', endedAt: sql<Date>`now()` })
    .where('session', '=', session)
    .where('step', '=', step)
    .where('id', '!=', winner)
    .where('endedAt', 'is', null)
    .execute()
}
