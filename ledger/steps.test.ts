import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginCall, storeResult } from './calls.ts'
import { transaction } from './database.ts'
import { answered, hear, logOf, look, newCall, newRequest, notice, open, openLedger, save, started, type TestLedger } from './fixture.ts'
import { closeRequest, type OpenedRequest, openRequest } from './requests.ts'
import type { StepAddress } from './session-log.ts'
import { commitStep, storedStep } from './steps.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 3_000
async function ticketAt(): Promise<{ at: StepAddress; scope: string; ticket: number; number: number }> {
  const number = ++issues
  const { ticket, session } = await started(ledger.db, number)
  return { at: { session, step: 1 }, scope: `ticket-${ticket}`, ticket, number }
}
const opened = async (at: StepAddress) => {
  const { request, inputs } = await open(ledger.db, at)
  if (request === 'moved') throw new Error('something moved')
  return { request, inputs }
}
const requestsOf = async (session: string) =>
  ledger.db
    .selectFrom('request')
    .select(['id', 'outcome', 'finishReason', 'inputTokens', 'error'])
    .where('session', '=', session)
    .orderBy('id')
    .execute()
const inboxOf = async (address: string) => ledger.db.selectFrom('inbox').selectAll().where('address', '=', address).orderBy('id').execute()

test("[M4] two live attempts of one step, 40 times: one answer in the log, and the loser gets the winner's result", async () => {
  for (let round = 0; round < 40; round++) {
    const { at, scope } = await ticketAt()
    const [first, second] = await Promise.all([opened(at), opened(at)])
    const results = await Promise.all([
      commitStep(ledger.db, at, scope, answered(first.request, first.inputs, 'first', [newCall('call_1', { tool: 'read' })])),
      commitStep(ledger.db, at, scope, answered(second.request, second.inputs, 'second', [newCall('call_1', { tool: 'glob' })])),
    ])
    expect(results[0]).toEqual(results[1])
    const log = await logOf(ledger.db, at.session)
    expect(log.map(({ kind, seq }) => [kind, seq])).toEqual([
      ['input', 1],
      ['answer', 2],
    ])
    const won = log[1]!.body.text
    expect(results[0]).toMatchObject({ outcome: 'tools', calls: [{ call: 'call_1', tool: won === 'first' ? 'read' : 'glob' }] })
    const [one, two] = await requestsOf(at.session)
    expect({ [one!.id]: one!.outcome, [two!.id]: two!.outcome }).toEqual({
      [first.request]: won === 'first' ? 'answered' : 'outrun',
      [second.request]: won === 'second' ? 'answered' : 'outrun',
    })
  }
})

test('[M9] both attempts of a step were paid for: each request keeps its tokens', async () => {
  const { at, scope } = await ticketAt()
  const [first, second] = [await opened(at), await opened(at)]
  await commitStep(ledger.db, at, scope, answered(first.request, first.inputs))
  await commitStep(ledger.db, at, scope, answered(second.request, second.inputs))
  expect((await requestsOf(at.session)).map(({ inputTokens }) => inputTokens)).toEqual([100, 100])
  expect((await look(ledger.db, { ...at, step: 2 })).ticket?.spentTokens).toBe(220)
})

test('[M9] a request that was killed is closed when its step is finished, its cost unknown; if it was alive, its tokens are counted', async () => {
  const { at, scope } = await ticketAt()
  const [killed, alive, winner] = [await opened(at), await opened(at), await opened(at)]
  await commitStep(ledger.db, at, scope, answered(winner.request, winner.inputs))
  const outrun = { outcome: 'outrun', inputTokens: null, error: 'its end was not heard of before another request finished the step' }
  expect(await requestsOf(at.session)).toMatchObject([
    { ...outrun, id: killed.request },
    { ...outrun, id: alive.request },
    { id: winner.request, outcome: 'answered' },
  ])

  await commitStep(ledger.db, at, scope, answered(alive.request, alive.inputs))
  await closeRequest(ledger.db, killed.request, { outcome: 'cut off' })
  expect(await requestsOf(at.session)).toMatchObject([outrun, { ...outrun, inputTokens: 100 }, { inputTokens: 100, error: null }])
  expect((await look(ledger.db, { ...at, step: 2 })).ticket?.spentTokens).toBe(220)
})

test('[R3] no model is asked for a Ticket that was closed since the look', async () => {
  const { at, scope, ticket } = await ticketAt()
  const view = await look(ledger.db, at)
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  expect(await openRequest(ledger.db, at, scope, newRequest(view, []), new Set())).toBe('moved')
  expect((await look(ledger.db, at)).closed).toBe(true)
})

test.each(['prompts', 'policy'] as const)('[C3] a new version of the %s between the look and the request: look again', async (what) => {
  const { at, scope } = await ticketAt()
  const view = await look(ledger.db, at)
  const saved = await save(ledger.db, what)
  expect(await openRequest(ledger.db, at, scope, newRequest(view, []), new Set())).toBe('moved')
  const again = await look(ledger.db, at)
  expect(what === 'prompts' ? again.configuration.revision : again.configuration.policy.version).toBe(saved)
  const request = (await openRequest(ledger.db, at, scope, newRequest(again, []), new Set())) as OpenedRequest
  expect(
    await ledger.db.selectFrom('request').select(['revision', 'policyVersion']).where('id', '=', request.id).executeTakeFirst(),
  ).toEqual({
    revision: again.configuration.revision,
    policyVersion: again.configuration.policy.version,
  })
})

test('[C8] a request is written down before its answer, with the texts behind its hashes', async () => {
  const { at, scope } = await ticketAt()
  const view = await look(ledger.db, at)
  const text = `words of ${scope}`
  const sha = createHash('sha256').update(text).digest('hex')
  const inputs = [{ inbox: view.unread[0]!.id, text: 'the card' }]
  const request = (await openRequest(
    ledger.db,
    at,
    scope,
    { ...newRequest(view, inputs), sections: [{ name: 'identity', text, sha, bytes: text.length }] },
    new Set(),
  )) as OpenedRequest
  const row = await ledger.db.selectFrom('request').selectAll().where('id', '=', request.id).executeTakeFirstOrThrow()
  expect(row).toMatchObject({ outcome: null, endedAt: null, sections: [{ name: 'identity', sha, bytes: text.length }], logSeq: 0 })
  const stored = await ledger.db
    .selectFrom('text')
    .select('body')
    .where('sha', 'in', [Buffer.from(sha, 'hex'), Buffer.from(row.inputs[0]!.sha, 'hex')])
    .execute()
  expect(stored.map(({ body }) => body).sort()).toEqual(['the card', text].sort())
})

test('[M4] what a step showed is consumed with it; what came later waits, and the turn goes on', async () => {
  const { at, scope, number } = await ticketAt()
  const { request, inputs } = await opened(at)
  const later = await hear(ledger.db, { number, text: 'also this' })
  expect(await commitStep(ledger.db, at, scope, answered(request, inputs))).toEqual({ outcome: 'more' })
  expect((await inboxOf(scope)).map(({ kind, session, step }) => [kind, session, step])).toEqual([
    ['assignment', at.session, 1],
    ['message', null, null],
  ])
  const next = await look(ledger.db, { ...at, step: 2 })
  expect(next.unread).toMatchObject([{ kind: 'message', trigger: { id: later.trigger, text: 'also this' } }])
  const second = await opened({ ...at, step: 2 })
  expect(await commitStep(ledger.db, { ...at, step: 2 }, scope, answered(second.request, second.inputs))).toEqual({ outcome: 'end' })
})

test('[F178] of more than a request takes, the rest is unread and the turn ends with "more"', async () => {
  const { at, scope } = await ticketAt()
  for (let nth = 0; nth < 25; nth++) await notice(ledger.db, scope, `follow-up ${nth}`)
  const { request, inputs } = await opened(at)
  expect(inputs).toHaveLength(26)
  const some = inputs.slice(0, 10)
  expect(await commitStep(ledger.db, at, scope, answered(request, some))).toEqual({ outcome: 'more' })
  expect((await look(ledger.db, { ...at, step: 2 })).unread.map(({ body }) => body)).toEqual(
    Array.from({ length: 16 }, (_, nth) => `follow-up ${nth + 9}`),
  )
})

test('[G1] a Ticket that is the only owner claims by reading; one that read and lost the race claims once', async () => {
  const { at, scope, number, ticket } = await ticketAt()
  const { trigger } = await hear(ledger.db, { number, text: 'also this' })
  const claims = () => ledger.db.selectFrom('claim').select('state').where('trigger', '=', trigger).where('ticket', '=', ticket).execute()
  const [first, second] = [await opened(at), await opened(at)]
  expect(await claims()).toEqual([{ state: 'pending' }])
  await Promise.all([first, second].map(({ request, inputs }) => commitStep(ledger.db, at, scope, answered(request, inputs))))
  expect(await claims()).toEqual([{ state: 'claimed' }])
})

test('[R2] an answer for a Ticket that closed meanwhile is kept as paid and says closed', async () => {
  const { at, scope, ticket } = await ticketAt()
  const { request, inputs } = await opened(at)
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  expect(await commitStep(ledger.db, at, scope, answered(request, inputs))).toEqual({ outcome: 'closed' })
  expect(await logOf(ledger.db, at.session)).toEqual([])
  expect(await requestsOf(at.session)).toMatchObject([{ outcome: 'outrun', inputTokens: 100 }])
  expect(await inboxOf(scope)).toMatchObject([{ session: null, dropped: `T-${ticket} closed` }])
})

test('[R2] commit and close at the same moment, 40 times: the answer is in the log, or the inbox was dropped, never both or neither', async () => {
  for (let round = 0; round < 40; round++) {
    const { at, scope, ticket, number } = await ticketAt()
    const { trigger } = await hear(ledger.db, { number, text: 'also this' })
    const { request, inputs } = await opened(at)
    const [stored] = await Promise.all([
      commitStep(ledger.db, at, scope, answered(request, inputs)),
      transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped')),
    ])
    const isTaken = stored.outcome !== 'closed'
    expect((await logOf(ledger.db, at.session)).length, scope).toBe(isTaken ? 3 : 0)
    expect((await inboxOf(scope)).map(({ session, dropped }) => (session !== null) !== (dropped !== null))).toEqual([true, true])
    const claim = await ledger.db.selectFrom('claim').select('state').where('trigger', '=', trigger).executeTakeFirst()
    expect(claim?.state).toBe(isTaken ? 'claimed' : 'ended')
    const candidates = await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', trigger).execute()
    expect(candidates).toHaveLength(isTaken ? 0 : 1)
  }
})

test('[M4] messages that arrive while steps look and commit are each shown once, in order', async () => {
  const { at, scope, number } = await ticketAt()
  const heard = (async () => {
    const triggers: number[] = []
    for (let nth = 0; nth < 30; nth++) triggers.push((await hear(ledger.db, { number, text: `word ${nth}` })).trigger)
    return triggers
  })()
  let step = 1
  let isOver = false
  void heard.then(() => {
    isOver = true
  })
  for (;;) {
    const wasOver = isOver
    const here = { ...at, step }
    const { request, inputs } = await opened(here)
    if (inputs.length > 0) {
      await commitStep(ledger.db, here, scope, answered(request, inputs))
      step += 1
    } else if (wasOver) break
  }
  const triggers = await heard
  const items = (await inboxOf(scope)).filter(({ kind }) => kind === 'message')
  expect(items.map(({ trigger }) => trigger)).toEqual(triggers)
  const shown = (await logOf(ledger.db, at.session)).filter(({ kind, body }) => kind === 'input' && body.text.startsWith('message'))
  expect(shown.map(({ body }) => body.text)).toEqual(items.map(({ id }) => `message ${id}`))
})

test('[D8] results that arrive side by side keep the log without gaps and without doubles', async () => {
  const { at, scope } = await ticketAt()
  const { request, inputs } = await opened(at)
  const calls = Array.from({ length: 24 }, (_, nth) => `call_${nth + 1}`)
  await commitStep(
    ledger.db,
    at,
    scope,
    answered(
      request,
      inputs,
      '',
      calls.map((call) => newCall(call)),
    ),
  )
  await Promise.all(
    calls.map(async (call) => {
      await beginCall(ledger.db, { ...at, call })
      await transaction(ledger.db, (tx) => storeResult(tx, { ...at, call }, { text: `result of ${call}`, outcome: 'done' }))
    }),
  )
  const log = await logOf(ledger.db, at.session)
  expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 26 }, (_, nth) => nth + 1))
  expect(
    log
      .filter(({ kind }) => kind === 'result')
      .map(({ call }) => call)
      .sort(),
  ).toEqual(calls.toSorted())
  expect(await storedStep(ledger.db, at)).toEqual({ outcome: 'tools', calls: [], revision: expect.any(Number) })
})

test("[M4] a stored step with calls answers with those that still lack a result, in the model's order", async () => {
  const { at, scope } = await ticketAt()
  const { request, inputs } = await opened(at)
  await commitStep(
    ledger.db,
    at,
    scope,
    answered(
      request,
      inputs,
      '',
      ['a', 'b', 'c'].map((call) => newCall(call)),
    ),
  )
  await transaction(ledger.db, (tx) => storeResult(tx, { ...at, call: 'b' }, { text: 'x', outcome: 'done' }))
  const stored = await storedStep(ledger.db, at)
  expect(stored?.outcome === 'tools' && stored.calls.map(({ call }) => call)).toEqual(['a', 'c'])
})

test('[F332] NUL and lone surrogates in an answer, its calls and their results are stored escaped, and the Ticket goes on', async () => {
  const { at, scope } = await ticketAt()
  const { request, inputs } = await opened(at)
  const odd = 'a\0b \uD800 c\\u0000'
  const calls = [
    newCall('call_1', { tool: 'write', input: { path: 'a', text: odd } }),
    newCall('call_2', { tool: 'unknown', input: { 'k\0\uDC00': [odd] }, fault: `no such tool "x\0\uD800"` }),
  ]
  const stored = await commitStep(ledger.db, at, scope, answered(request, inputs, odd, calls))
  expect(stored).toMatchObject({ outcome: 'tools', calls: [{ call: 'call_1' }, { call: 'call_2' }] })
  const begun = await beginCall(ledger.db, { ...at, call: 'call_1' })
  expect(begun).toMatchObject({ begun: { input: { path: 'a', text: 'a\\u0000b \uFFFD c\\u0000' } } })
  const second = await beginCall(ledger.db, { ...at, call: 'call_2' })
  expect(second).toMatchObject({
    begun: { input: { 'k\\u0000\uFFFD': ['a\\u0000b \uFFFD c\\u0000'] }, fault: 'no such tool "x\\u0000\uFFFD"' },
  })
  await transaction(ledger.db, (tx) => storeResult(tx, { ...at, call: 'call_1' }, { text: odd, outcome: 'done' }))
  await transaction(ledger.db, (tx) => storeResult(tx, { ...at, call: 'call_2' }, { text: odd, outcome: 'refused' }))
  const raw = await ledger.db
    .selectFrom('sessionLog')
    .select('body')
    .where('session', '=', at.session)
    .where('kind', '=', 'result')
    .execute()
  expect(raw.map(({ body }) => body!.includes('a\\u0000b'))).toEqual([true, true])
  const next = await look(ledger.db, { ...at, step: 2 })
  expect(next.log.at(-1)).toMatchObject({ kind: 'result', call: 'call_2', body: { text: odd } })
})

test('[D8] what was said is read back exactly: quotes, backslashes, CRLF, emoji, the letters u0000', async () => {
  const { at, scope } = await ticketAt()
  const { request, inputs } = await opened(at)
  const text = '"\\\\u0000" \\ud800 \r\n 🧵 \u001f é'
  await commitStep(ledger.db, at, scope, answered(request, inputs, text, [newCall('call_1', { input: { text } })]))
  expect((await logOf(ledger.db, at.session)).at(-1)!.body.text).toBe(text)
  expect(await beginCall(ledger.db, { ...at, call: 'call_1' })).toMatchObject({ begun: { input: { text } } })
})
