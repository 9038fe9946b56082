import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { createDeliveryStore, pendingDeliveries, postponeDelivery } from './deliveries.ts'
import { delivered, hear, judged, openLedger, started } from './fixture.ts'
import { takeIn } from './intake.ts'
import { recordCommand } from './pauses.ts'
import { ignoreCandidate, startTicket } from './tickets.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const start = (candidate: number) =>
  transaction(ledger.db, (tx) => startTicket(tx, { candidate, title: 'Fix it', note: '', decidedBy: 'main-1' }))
const candidateOf = async (trigger: number) =>
  ledger.db.selectFrom('candidate').selectAll().where('trigger', '=', trigger).executeTakeFirstOrThrow()
const inboxOf = async (address: string) => ledger.db.selectFrom('inbox').selectAll().where('address', '=', address).orderBy('id').execute()

test('[M2, F021, F103] one delivery stored fifty times at once is one row', async () => {
  const store = createDeliveryStore(ledger.db)
  const other = createDeliveryStore(ledger.db)
  const delivery = {
    source: 'github' as const,
    transport: 'webhook',
    hook: '1',
    guid: randomUUID(),
    event: 'issues',
    headers: {},
    body: '{}',
    place: null,
  }
  const results = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 ? store : other)(delivery)))
  expect(results.filter((result) => result === 'stored')).toHaveLength(1)
})

test('[M2] the same delivery id over another hook is another delivery', async () => {
  const store = createDeliveryStore(ledger.db)
  const delivery = {
    source: 'github' as const,
    transport: 'webhook',
    guid: randomUUID(),
    event: 'issues',
    headers: {},
    body: '{}',
    place: null,
  }
  expect(await Promise.all([store({ ...delivery, hook: '1' }), store({ ...delivery, hook: '2' })])).toEqual(['stored', 'stored'])
})

test('[M1] a store that the database refuses rejects for everyone who waited', async () => {
  const store = createDeliveryStore(ledger.db)
  const delivery = {
    source: 'nowhere' as 'github',
    transport: 'webhook',
    hook: '1',
    guid: randomUUID(),
    event: 'issues',
    headers: {},
    body: '{}',
    place: null,
  }
  const results = await Promise.allSettled([store(delivery), store({ ...delivery, guid: randomUUID() })])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('[M2, F107] the same event in two deliveries is one Trigger, also when both are decided at once', async () => {
  const said = { key: `issue_comment:${randomUUID()}/created`, number: 70 }
  const deliveries = [await delivered(ledger.db), await delivered(ledger.db)]
  const each = await judged(ledger.db, said)
  const taken = await Promise.all(deliveries.map((delivery) => transaction(ledger.db, (tx) => takeIn(tx, delivery, [each]))))
  expect(taken.map((results) => results?.length).sort()).toEqual([0, 1])
  const states = await ledger.db.selectFrom('delivery').select(['state', 'reason']).where('id', 'in', deliveries).orderBy('state').execute()
  expect(states).toMatchObject([{ state: 'ignored', reason: expect.stringContaining('taken in before') }, { state: 'normalised' }])
})

test('[M2] two processes that take up one delivery decide it once', async () => {
  const delivery = await delivered(ledger.db)
  const each = await judged(ledger.db, { number: 71 })
  const taken = await Promise.all([1, 2, 3].map(() => transaction(ledger.db, (tx) => takeIn(tx, delivery, [each]))))
  expect(taken.filter((results) => results !== null && results.length === 1)).toHaveLength(1)
})

test('[P6] a member who addresses the agent makes an explicit candidate, and main has it in its inbox', async () => {
  const { trigger, decision } = await hear(ledger.db, { number: 72 })
  expect(decision).toMatchObject({ rule: 'P6', kind: 'candidate', explicit: true })
  expect(await candidateOf(trigger)).toMatchObject({ state: 'waiting', explicit: true })
  expect((await inboxOf('main')).at(-1)).toMatchObject({ kind: 'candidate', trigger })
})

test('[P7, M5] an outsider who addresses the agent is kept and ignored with the reason', async () => {
  const { trigger, decision } = await hear(ledger.db, { number: 73, member: false })
  expect(decision.kind).toBe('ignored')
  expect(await ledger.db.selectFrom('trigger').select(['rule', 'reason']).where('id', '=', trigger).executeTakeFirst()).toEqual({
    rule: 'P7',
    reason: 'only members can ask',
  })
})

test('[P1, F304] what the agent wrote itself is dropped', async () => {
  expect((await hear(ledger.db, { number: 74, self: true, member: false })).decision).toMatchObject({ rule: 'P1', kind: 'dropped' })
})

test('[F039] a message that arrives after its own edit changes nothing', async () => {
  const object = `issue_comment:${randomUUID()}`
  await hear(ledger.db, { number: 75, object, key: `${object}/edited/2`, event: 'issue_comment.edited' })
  const delivery = await delivered(ledger.db)
  const late = await judged(ledger.db, { number: 75, object, key: `${object}/created/1` })
  expect(await transaction(ledger.db, (tx) => takeIn(tx, delivery, [late]))).toEqual([])
  expect(await ledger.db.selectFrom('delivery').select(['state', 'reason']).where('id', '=', delivery).executeTakeFirst()).toEqual({
    state: 'ignored',
    reason: `arrived after issue_comment.edited of the same ${object}`,
  })
})

test('[F332] a text with NUL is stored escaped', async () => {
  const { trigger } = await hear(ledger.db, { number: 76, text: '@switchyard a\0b' })
  expect(await ledger.db.selectFrom('trigger').select('body').where('id', '=', trigger).executeTakeFirst()).toEqual({
    body: '@switchyard a\\u0000b',
  })
})

test('[F4] a start writes Ticket, Mandate, ownership, the claim of the message, the Session and its assignment', async () => {
  const { ticket, trigger } = await started(ledger.db, 80)
  expect(await ledger.db.selectFrom('mandate').selectAll().where('ticket', '=', ticket).executeTakeFirst()).toMatchObject({
    basis: { kind: 'explicit', requester: 'lin', trigger },
    effects: expect.arrayContaining(['comment', 'pull_request']),
    repositories: [expect.any(Number)],
  })
  expect(await ledger.db.selectFrom('claim').selectAll().where('ticket', '=', ticket).execute()).toMatchObject([
    { trigger, state: 'claimed' },
  ])
  expect(await inboxOf(`ticket-${ticket}`)).toMatchObject([{ kind: 'assignment', trigger }])
  expect(await ledger.db.selectFrom('session').select(['id', 'role']).where('ticket', '=', ticket).execute()).toEqual([
    { id: `t${ticket}-1`, role: 'executor' },
  ])
})

test('[E2] a candidate is decided once: of two starts and an ignore at once, one takes effect and the others say what stands', async () => {
  const { trigger } = await hear(ledger.db, { number: 81 })
  const { id } = await candidateOf(trigger)
  const ignore = transaction(ledger.db, (tx) => ignoreCandidate(tx, { candidate: id, reason: 'no', decidedBy: 'main-1' }))
  const results = await Promise.all([start(id), start(id), ignore])
  expect(results.filter((result) => !('refused' in result))).toHaveLength(1)
  expect(results.filter((result) => 'refused' in result).map((result) => 'refused' in result && result.refused)).toEqual([
    expect.stringContaining('is decided already'),
    expect.stringContaining('is decided already'),
  ])
})

test('[N4] when a Ticket starts, the other candidates of its Thread become its messages', async () => {
  const first = await hear(ledger.db, { number: 82 })
  const second = await hear(ledger.db, { number: 82, author: 'mo' })
  const result = await start((await candidateOf(first.trigger)).id)
  const ticket = 'ticket' in result ? result.ticket : 0
  expect(await candidateOf(second.trigger)).toMatchObject({ state: 'attached', ticket })
  expect(await inboxOf(`ticket-${ticket}`)).toMatchObject([{ kind: 'assignment' }, { kind: 'message', trigger: second.trigger }])
  expect(await ledger.db.selectFrom('claim').select('state').where('trigger', '=', second.trigger).execute()).toEqual([
    { state: 'pending' },
  ])
})

test('[P4, G1] a message in an owned Thread is a pending claim of its Ticket, never a candidate', async () => {
  const { ticket } = await started(ledger.db, 83)
  const { trigger, decision } = await hear(ledger.db, { number: 83, text: 'also the docs?', addressesAgent: false, mentionsAgent: false })
  expect(decision).toMatchObject({ rule: 'P4', owners: [ticket] })
  expect(await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', trigger).execute()).toEqual([])
})

test('[P5] of several states of one check only the newest waits for the Ticket', async () => {
  const { ticket } = await started(ledger.db, 84)
  const repository = (await judged(ledger.db)).repository
  await ledger.db
    .insertInto('push')
    .values({ ticket, repository, branch: 'fix', sha: 'a'.repeat(40) })
    .execute()
  const check = (version: number) => ({
    number: 84_000,
    kind: 'fact' as const,
    event: 'check_run.completed',
    object: 'check_run:5',
    key: `check_run:5/${version}`,
    addressesAgent: false,
    concerns: { pullRequests: [], branches: [], commits: ['a'.repeat(40)], reviewThread: null },
  })
  await hear(ledger.db, check(1))
  const { trigger, decision } = await hear(ledger.db, check(2))
  expect(decision).toMatchObject({ rule: 'P5', tickets: [ticket] })
  const facts = (await inboxOf(`ticket-${ticket}`)).filter(({ kind }) => kind === 'fact')
  expect(facts).toMatchObject([{ dropped: expect.stringContaining('superseded') }, { trigger, dropped: null }])
})

test('[F193, P2, N5] a member who says "stop" in an owned Thread pauses the Ticket and it is no work; an outsider does not', async () => {
  const { ticket } = await started(ledger.db, 85)
  const bare = { number: 85, text: 'stop', addressesAgent: false, mentionsAgent: false }
  const { trigger: outsiders } = await hear(ledger.db, { ...bare, member: false, author: 'eve' })
  expect(await ledger.db.selectFrom('pause').select('held').where('scope', '=', `ticket-${ticket}`).executeTakeFirst()).toEqual({
    held: false,
  })
  const { decision } = await hear(ledger.db, bare)
  expect(decision.rule).toBe('P2')
  expect(await ledger.db.selectFrom('pause').select(['held', 'actor']).where('scope', '=', `ticket-${ticket}`).executeTakeFirst()).toEqual({
    held: true,
    actor: 'lin',
  })
  const messages = (await inboxOf(`ticket-${ticket}`)).filter(({ kind }) => kind === 'message')
  expect(messages.map(({ trigger }) => trigger)).toEqual([outsiders])
})

test('[F194, N5, G1] "停一下" in a followed Thread pauses its Ticket; "the stop-word list is wrong" of another member is a follow-up', async () => {
  const { ticket } = await started(ledger.db, 86)
  const said = { number: 86, addressesAgent: false, mentionsAgent: false }
  const first = await hear(ledger.db, { ...said, text: '停一下' })
  const second = await hear(ledger.db, { ...said, author: 'mara', text: 'the stop-word list is wrong' })
  expect([first.decision.rule, second.decision.rule]).toEqual(['P2', 'P4'])
  const scope = `ticket-${ticket}`
  const pause = await ledger.db.selectFrom('pause').select(['held', 'generation', 'actor']).where('scope', '=', scope).executeTakeFirst()
  expect(pause).toEqual({ held: true, generation: 1, actor: 'lin' })
  const claims = await ledger.db.selectFrom('claim').select(['trigger', 'state']).where('ticket', '=', ticket).orderBy('trigger').execute()
  expect(claims.filter(({ state }) => state === 'pending')).toEqual([{ trigger: second.trigger, state: 'pending' }])
})

test('[R2, G2] a Ticket that closes while messages arrive loses none: each is claimed, or a candidate', async () => {
  const tickets = await Promise.all(Array.from({ length: 12 }, (_, i) => started(ledger.db, 900 + i)))
  const triggers: number[] = []
  await Promise.all(
    tickets.flatMap(({ ticket }, i) => [
      ...Array.from({ length: 5 }, async () => {
        triggers.push((await hear(ledger.db, { number: 900 + i, text: 'and this', addressesAgent: false })).trigger)
      }),
      transaction(ledger.db, (tx) =>
        recordCommand(tx, { kind: 'close', scope: `ticket-${ticket}`, actor: 'lin', transport: 'cli', reason: 'enough' }),
      ),
    ]),
  )
  for (const trigger of triggers) {
    const claims = await ledger.db.selectFrom('claim').select('state').where('trigger', '=', trigger).execute()
    const candidates = await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', trigger).execute()
    const { rule } = await ledger.db.selectFrom('trigger').select('rule').where('id', '=', trigger).executeTakeFirstOrThrow()
    expect(claims.filter(({ state }) => state === 'pending')).toEqual([])
    // decided after the close: nobody owns the Thread and nobody asked, so it is kept with the reason
    expect(candidates).toHaveLength(rule === 'P7' ? 0 : 1)
  }
})

test('deliveries of one place are offered one after another, and a postponed one holds back its place only', async () => {
  const store = createDeliveryStore(ledger.db)
  const give = (guid: string, place: string) =>
    store({ source: 'feishu', transport: 'webhook', hook: '1', guid, event: 'message', headers: {}, body: '{}', place })
  await give('a1', 'a')
  await give('a2', 'a')
  await give('b1', 'b')
  const first = await pendingDeliveries(ledger.db, 'feishu', 10)
  expect(first).toHaveLength(2)
  await postponeDelivery(ledger.db, first[0]!, 'GitHub is down')
  expect(await pendingDeliveries(ledger.db, 'feishu', 10)).toHaveLength(1)
})

test('[R3, P5] a fact that races with the close of its Ticket leaves nothing to wake a closed Ticket, 20 times', async () => {
  for (let round = 0; round < 20; round++) {
    const number = 2_000 + round
    const { ticket } = await started(ledger.db, number)
    const fact = {
      number,
      kind: 'fact' as const,
      event: 'issues.labeled',
      object: `issue:${number}`,
      key: `issue:${number}/labeled`,
      addressesAgent: false,
    }
    await Promise.all([
      hear(ledger.db, fact),
      transaction(ledger.db, (tx) =>
        recordCommand(tx, { kind: 'close', scope: `ticket-${ticket}`, actor: 'lin', transport: 'cli', reason: 'enough' }),
      ),
    ])
    const open = (await inboxOf(`ticket-${ticket}`)).filter(({ session, dropped }) => session === null && dropped === null)
    expect(open).toEqual([])
  }
})
