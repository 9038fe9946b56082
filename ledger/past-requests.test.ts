import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginCall, storeResult } from './calls.ts'
import { transaction } from './database.ts'
import { answered, look, newCall, notice, openLedger, started, type TestLedger } from './fixture.ts'
import { pastRequest, pastRequests } from './past-requests.ts'
import { closeRequest, type OpenedRequest, openRequest } from './requests.ts'
import { commitStep } from './steps.ts'
import { shaOf } from './texts.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const TOOLS = JSON.stringify([{ name: 'read', description: 'Reads.', schema: { type: 'object' } }])
const section = (name: string, text: string) => ({ name, text, sha: shaOf(text).toString('hex'), bytes: Buffer.byteLength(text) })

/** Opens a request of the Session's step with what is unread, under a prompt of two sections. */
async function ask(session: string, step: number, work = 'Work well.') {
  const view = await look(ledger.db, { session, step })
  const inputs = view.unread.map(({ id, kind, body }) => ({ inbox: id, text: `${kind}: ${body ?? 'the job'}` }))
  const { id: request } = (await openRequest(
    ledger.db,
    { session, step },
    view.scope,
    {
      revision: view.configuration.revision,
      policyVersion: view.configuration.policy.version,
      sections: [section('identity', 'You are an agent.'), section('runtime/work', work)],
      tools: TOOLS,
      logSeq: view.logSeq,
      inputs,
      facts: { github: true, cwd: null, environment: [] },
      provider: 'deepseek',
      model: 'some-model',
    },
    new Set(),
  )) as OpenedRequest
  return { request, inputs }
}

/** Step 1 fails once, then calls a tool; step 2 is on its way, after a note came in. */
async function twoSteps(number: number, work = 'Work well.') {
  const { ticket, session } = await started(ledger.db, number)
  const failed = await ask(session, 1)
  await closeRequest(ledger.db, failed.request, { outcome: 'failed', error: '503: busy', wireSha: shaOf('a body') })
  const again = await ask(session, 1)
  const taken = { ...answered(again.request, again.inputs, 'I look.', [newCall('call_1_1')]), wireSha: shaOf('a body') }
  await commitStep(ledger.db, { session, step: 1 }, `ticket-${ticket}`, {
    ...taken,
    usage: { inputTokens: 120, cachedTokens: 100, outputTokens: 7 },
  })
  const at = { session, step: 1, call: 'call_1_1' }
  await beginCall(ledger.db, at)
  await transaction(ledger.db, (tx) => storeResult(tx, at, { text: 'line one', outcome: 'done' }))
  await notice(ledger.db, `ticket-${ticket}`, 'look at this too')
  const next = await ask(session, 2, work)
  return { ticket, session, requests: [failed.request, again.request, next.request] as const }
}

test('[C8] [D8] a past request is rebuilt from the ledger: facts, prompt, tools and messages, also of one that failed', async () => {
  const { ticket, session, requests } = await twoSteps(1)
  const [failed, again, next] = await pastRequests(ledger.db, session)
  const common = {
    session,
    role: 'executor',
    ticket,
    revision: 1,
    policyVersion: 1,
    provider: 'deepseek',
    model: 'some-model',
    removed: [],
  }
  const prompt = { system: 'You are an agent.\n\nWork well.', tools: JSON.parse(TOOLS) }
  const first = { role: 'user', text: 'assignment: the job' }
  expect(failed).toMatchObject({
    ...common,
    ...prompt,
    request: requests[0],
    step: 1,
    attempt: 1,
    outcome: 'failed',
    error: '503: busy',
    tokens: { input: null, cacheHit: null, cacheMiss: null, output: null },
    wireSha: shaOf('a body').toString('hex'),
    messages: [first],
    kept: null,
  })
  expect(again).toMatchObject({
    ...common,
    ...prompt,
    attempt: 2,
    outcome: 'answered',
    finishReason: 'tool-calls',
    tokens: { input: 120, cacheHit: 100, cacheMiss: 20, output: 7 },
    messages: [first],
    kept: { differs: null },
  })
  expect(again!.kept!.bytes).toBe(again!.kept!.of)
  expect(next).toMatchObject({
    ...common,
    ...prompt,
    step: 2,
    attempt: 1,
    outcome: null,
    messages: [
      first,
      { role: 'assistant', text: 'I look.', calls: [{ id: 'call_1_1', name: 'read', input: { path: 'a' } }] },
      { role: 'tool', call: 'call_1_1', name: 'read', text: 'line one' },
      { role: 'user', text: 'notice: look at this too' },
    ],
    kept: { differs: null },
  })
  expect(await pastRequest(ledger.db, requests[0])).toEqual(failed)
  expect(await pastRequest(ledger.db, requests[2])).toEqual(next)
  expect(await pastRequest(ledger.db, 999_999)).toBeNull()
})

test('[C8] the first part that a change reached is named, with what was kept before it', async () => {
  const { requests } = await twoSteps(2, 'Work better.')
  const past = await pastRequest(ledger.db, requests[2])
  const common = 'You are an agent.\n\nWork '
  expect(past!.kept).toMatchObject({ bytes: common.length, differs: 'runtime/work' })
})

test('[O6] what was removed from the record says so by its hash, in what is shown as in what the model reads next', async () => {
  const { session, requests } = await twoSteps(3, 'Work in secret.')
  const secret = shaOf('Work in secret.')
  const answer = await ledger.db
    .selectFrom('sessionLog')
    .select('sha')
    .where('session', '=', session)
    .where('kind', '=', 'answer')
    .executeTakeFirstOrThrow()
  await transaction(ledger.owner, async (tx) => {
    await sql`set local switchyard.purge = 'on'`.execute(tx)
    await sql`update text set body = null, purged_at = now() where sha = ${secret}`.execute(tx)
    await sql`update session_log set body = null, purged_at = now() where session = ${session} and kind in ('answer', 'result')`.execute(tx)
  })
  const past = await pastRequest(ledger.db, requests[2])
  const mark = (sha: Buffer) => `[removed from the record: sha256 ${sha.toString('hex')}]`
  expect(past!.system).toBe(`You are an agent.\n\n${mark(secret)}`)
  const shown = past!.messages.slice(1, 3)
  expect(shown).toEqual([
    { role: 'assistant', text: mark(answer.sha), calls: [{ id: 'call_1_1', name: 'read', input: {} }] },
    { role: 'tool', call: 'call_1_1', name: 'read', text: mark(shaOf('{"text":"line one"}')) },
  ])
  expect(past!.removed).toEqual([secret, answer.sha, shaOf('{"text":"line one"}')].map((sha) => sha.toString('hex')))
  const view = await look(ledger.db, { session, step: 2 })
  expect(view.log.map(({ body }) => body.text)).toEqual(['assignment: the job', mark(answer.sha), mark(shaOf('{"text":"line one"}'))])
})

test('[O6] a request whose tools were removed from the record still shows the rest', async () => {
  const { session } = await started(ledger.db, 4)
  const other = JSON.stringify([{ name: 'leak', description: 'a secret', schema: {} }])
  const view = await look(ledger.db, { session, step: 1 })
  const { id: request } = (await openRequest(
    ledger.db,
    { session, step: 1 },
    view.scope,
    {
      revision: 1,
      policyVersion: 1,
      sections: [section('identity', 'You.')],
      tools: other,
      logSeq: 0,
      inputs: [],
      facts: { github: true, cwd: null, environment: [] },
      provider: 'x',
      model: 'y',
    },
    new Set(),
  )) as OpenedRequest
  await transaction(ledger.owner, async (tx) => {
    await sql`set local switchyard.purge = 'on'`.execute(tx)
    await sql`update text set body = null, purged_at = now() where sha = ${shaOf(other)}`.execute(tx)
  })
  expect(await pastRequest(ledger.db, request)).toMatchObject({ system: 'You.', tools: [], removed: [shaOf(other).toString('hex')] })
})
