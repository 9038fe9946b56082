import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endAlarm, raiseAlarm } from './alarms.ts'
import { beginCall, storeResult } from './calls.ts'
import { transaction } from './database.ts'
import { ignoreDelivery } from './deliveries.ts'
import { delivered, hear, look, newRequest, openLedger } from './fixture.ts'
import { intend, markSent, settle } from './outbox.ts'
import { type CommandKind, recordCommand } from './pauses.ts'
import { closeRequest, type OpenedRequest, openRequest } from './requests.ts'
import { commitStep } from './steps.ts'
import { alarms, holdsOver, overview, type Story, sessionLog, sessionsOf, ticketStory } from './story.ts'
import { ignoreCandidate, startTicket } from './tickets.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const candidateOf = async (trigger: number) =>
  (await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', trigger).executeTakeFirstOrThrow()).id

async function started(number: number): Promise<number> {
  const { trigger } = await hear(ledger.db, { number })
  const candidate = await candidateOf(trigger)
  const result = await transaction(ledger.db, (tx) =>
    startTicket(tx, { candidate, title: `Fix ${number}`, note: 'small', decidedBy: 'main-1' }),
  )
  if ('refused' in result) throw new Error(result.refused)
  return result.ticket
}

const command = (kind: CommandKind, scope: string, actor = 'lin') =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor, transport: 'cli', reason: 'look first' }))

const request = async (ticket: number, step: number): Promise<number> => {
  const opened = await openRequest(
    ledger.db,
    { session: `t${ticket}-1`, step },
    `ticket-${ticket}`,
    {
      ...newRequest(await look(ledger.db, { session: `t${ticket}-1`, step }), []),
      logSeq: 0,
      provider: 'openai-compatible',
      model: 'kimi',
    },
    new Set(),
  )
  return (opened as OpenedRequest).id
}

/** A step in which the model makes these calls; none: its turn ends. */
async function step(
  ticket: number,
  number: number,
  calls: { call: string; tool: string; input: Record<string, unknown> }[],
): Promise<void> {
  const session = `t${ticket}-1`
  const inbox = await ledger.db
    .selectFrom('inbox')
    .select('id')
    .where('address', '=', `ticket-${ticket}`)
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .execute()
  await commitStep(ledger.db, { session, step: number }, `ticket-${ticket}`, {
    request: await request(ticket, number),
    answer: { text: 'I look.', calls: calls.map(({ call, tool, input }) => ({ id: call, name: tool, input })) },
    calls: calls.map((call) => ({ ...call, fault: null, nature: 'read', place: 'workspace' })),
    finishReason: 'stop',
    usage: { inputTokens: 1_000, cachedTokens: 0, outputTokens: 20 },
    wireSha: null,
    inputs: inbox.map(({ id }) => ({ inbox: id, text: `item ${id}` })),
  })
}

async function run(ticket: number, number: number, call: string, text: string, outcome: 'done' | 'refused' = 'done'): Promise<void> {
  const at = { session: `t${ticket}-1`, step: number, call }
  await beginCall(ledger.db, at)
  await transaction(ledger.db, (tx) => storeResult(tx, at, { text, outcome }))
}

async function effect(ticket: number, key: string, kind: string, payload: Record<string, unknown>) {
  const intended = await intend(ledger.db, {
    key: `ticket-${ticket}${key}`,
    kind,
    ticket,
    session: `t${ticket}-1`,
    step: 1,
    call: key,
    thread: null,
    payload,
    body: 'words',
  })
  if (!('mine' in intended)) throw new Error('the effect belongs to another call')
  await markSent(ledger.db, intended.mine)
  return intended.mine.id
}

const storyOf = async (ticket: number): Promise<Story> => (await ticketStory(ledger.db, ticket))!
const kindsOf = ({ entries }: Story) => entries.map(({ kind }) => kind)

describe("a Ticket's story", () => {
  test('[O7] tells in order what happened from the request to the close', async () => {
    const ticket = await started(1)
    await step(ticket, 1, [{ call: 'a', tool: 'shell', input: { command: 'npm test' } }])
    await run(ticket, 1, 'a', 'ok')
    await settle(ledger.db, await effect(ticket, '.1/acknowledge/message:1', 'comment', {}), {
      state: 'confirmed',
      externalId: '5',
      url: 'https://github.example/c/5',
    })
    await ledger.db
      .insertInto('report')
      .values({
        ticket,
        session: `t${ticket}-1`,
        step: 1,
        call: 'b',
        status: 'progress',
        body: 'It adds up.',
        purgedAt: null,
        evidence: '["12 tests"]',
        pullRequest: null,
      })
      .execute()
    await step(ticket, 2, [])
    await command('close', `ticket-${ticket}`)

    const story = await storyOf(ticket)
    const order = ['asked', 'candidate', 'decided', 'started', 'step', 'call', 'effect', 'report', 'step', 'command', 'closed']
    expect(kindsOf(story)).toEqual(order)
    expect(story).toMatchObject({ title: 'Fix 1', tokens: 2_040, sessions: [`t${ticket}-1`] })
    expect(story.now).toMatchObject({ state: 'closed', closedReason: 'stopped', holds: [], unread: 0, running: [] })
    expect(story.entries).toMatchObject([
      { message: { author: 'lin', place: { repository: 'acme/widgets', number: 1 } } },
      { explicit: true, round: 1 },
      { decision: 'started', by: 'main-1', reason: 'small' },
      { title: 'Fix 1', requester: 'lin', note: 'small' },
      { step: 1, outcome: 'tools', revision: 1, model: 'kimi', inputTokens: 1_000, outputTokens: 20 },
      { step: 1, tool: 'shell', input: { command: 'npm test' }, outcome: 'done' },
      { effect: 'comment', state: 'confirmed', url: 'https://github.example/c/5' },
      { status: 'progress', summary: 'It adds up.', evidence: ['12 tests'] },
      { step: 2, outcome: 'end' },
      { command: 'close', by: 'lin', via: 'cli', reason: 'look first', heard: null },
      { reason: 'stopped' },
    ])
  })

  test('[I2] a paused Ticket shows who holds it, and what waits meanwhile', async () => {
    const ticket = await started(2)
    await step(ticket, 1, [])
    await command('pause', `ticket-${ticket}`)
    await hear(ledger.db, { number: 2, author: 'mara', text: 'also the docs?' })
    const story = await storyOf(ticket)
    expect(story.now).toMatchObject({ unread: 1, holds: [{ scope: `ticket-${ticket}`, by: 'lin', reason: 'look first' }] })
    expect(story.entries.at(-1)).toMatchObject({
      kind: 'arrived',
      item: 'message',
      taken: null,
      dropped: null,
      message: { author: 'mara', text: 'also the docs?' },
    })
  })

  test('[I4] a pause of everything is in the story of a Ticket that lived then, and of no later one', async () => {
    const before = await started(3)
    await command('pause', 'all', 'mara')
    await command('resume', 'all', 'mara')
    const after = await started(4)
    expect(kindsOf(await storyOf(before)).filter((kind) => kind === 'command')).toHaveLength(2)
    expect(kindsOf(await storyOf(after))).not.toContain('command')
  })

  test('what runs now is shown: a call that began, one that did not, then the model', async () => {
    const ticket = await started(5)
    await step(ticket, 1, [
      { call: 'a', tool: 'shell', input: { command: 'sleep 9' } },
      { call: 'b', tool: 'read', input: { path: 'x' } },
    ])
    await beginCall(ledger.db, { session: `t${ticket}-1`, step: 1, call: 'a' })
    expect((await storyOf(ticket)).now.running).toMatchObject([
      { what: 'tool', name: 'shell', since: expect.any(Date) },
      { what: 'tool', name: 'read', since: null },
    ])
    await run(ticket, 1, 'a', 'ok')
    await run(ticket, 1, 'b', 'no such file', 'refused')
    await request(ticket, 2)
    expect((await storyOf(ticket)).now.running).toMatchObject([{ what: 'model', name: 'kimi' }])
  })

  test('[O2] an outage is one entry, however often the model was asked', async () => {
    const ticket = await started(6)
    for (let tries = 0; tries < 3; tries++) await closeRequest(ledger.db, await request(ticket, 1), { outcome: 'failed', error: '503' })
    await step(ticket, 1, [])
    const { entries } = await storyOf(ticket)
    expect(entries.filter(({ kind }) => kind === 'unanswered')).toMatchObject([{ step: 1, outcome: 'failed', error: '503', times: 3 }])
  })

  test('an effect that failed keeps its reason', async () => {
    const ticket = await started(7)
    await settle(ledger.db, await effect(ticket, '/push/x', 'push', { branch: 'b', sha: 'c' }), { state: 'failed', error: 'protected' })
    expect((await storyOf(ticket)).entries.at(-1)).toMatchObject({ kind: 'effect', state: 'failed', error: 'protected' })
  })

  test('there is none of a Ticket that does not exist', async () => {
    expect(await ticketStory(ledger.db, 999_999_999)).toBeNull()
  })
})

describe('alarms', () => {
  test('[O1] belong to a Ticket by its scope, its effects and its Sessions, and not to one whose number begins alike', async () => {
    const mine = ['ticket-3', 'ticket-3/push/x', 'ticket-3.1/result/message:4', 't3-2']
    const others = ['ticket-31', 'ticket-13', 't31-1', 't13-3', 'main', 'delivery 3']
    for (const subject of [...mine, ...others]) await raiseAlarm(ledger.db, 'effect', subject, 'it failed')
    expect((await alarms(ledger.db, { of: 3 })).map(({ subject }) => subject)).toEqual(mine)
  })

  test('[O1] that are over are shown with their end, on request', async () => {
    await raiseAlarm(ledger.db, 'provider', 'over soon', 'no answer')
    await endAlarm(ledger.db, 'provider', 'over soon')
    expect((await alarms(ledger.db)).map(({ subject }) => subject)).not.toContain('over soon')
    const over = (await alarms(ledger.db, { all: true })).find(({ subject }) => subject === 'over soon')
    expect(over).toMatchObject({ kind: 'provider', body: 'no answer', ended: expect.any(Date) })
  })
})

describe('everything at a glance', () => {
  test('[M5] what was ignored is shown with its reason: a message, a candidate, a delivery; not what the agent said itself', async () => {
    const { trigger } = await hear(ledger.db, { number: 20, mentionsAgent: false, addressesAgent: false, text: 'nice weather' })
    const asked = await hear(ledger.db, { number: 21 })
    const candidate = await candidateOf(asked.trigger)
    await transaction(ledger.db, (tx) => ignoreCandidate(tx, { candidate, reason: 'done before', decidedBy: 'main-1' }))
    const delivery = await delivered(ledger.db)
    await ignoreDelivery(ledger.db, delivery, 'unknown event gollum')
    await hear(ledger.db, { number: 22, self: true })
    const { ignored } = await overview(ledger.db, { shown: 3 })
    expect(ignored.count).toBe(3)
    expect(ignored.shown).toMatchObject([
      { what: 'delivery', id: delivery, reason: 'unknown event gollum', place: null },
      { what: 'candidate', id: candidate, reason: 'done before', place: 'acme/widgets#21', by: 'lin' },
      { what: 'message', id: trigger, reason: expect.stringContaining('nobody asked'), by: 'lin' },
    ])
  })

  test('[I2] shows holds, candidates that wait, Tickets with what waits for them, and unheard commands', async () => {
    const ticket = await started(30)
    await command('pause', 'main', 'mara')
    const { trigger } = await hear(ledger.db, { number: 31 })
    const found = await overview(ledger.db)
    expect(found.held).toContainEqual(expect.objectContaining({ scope: 'main', by: 'mara' }))
    expect(found.candidates).toContainEqual(
      expect.objectContaining({ candidate: await candidateOf(trigger), explicit: true, place: 'acme/widgets#31', by: 'lin' }),
    )
    expect(found.main.unread).toBeGreaterThan(0)
    expect(found.tickets).toContainEqual(
      expect.objectContaining({ ticket, state: 'working', title: 'Fix 30', place: 'acme/widgets#30', unread: 1 }),
    )
    expect(found.unheard).toContainEqual(expect.objectContaining({ command: 'pause', scope: 'main', by: 'mara' }))
    await command('resume', 'main', 'mara')
    expect((await overview(ledger.db)).held.map(({ scope }) => scope)).not.toContain('main')
  })

  test('closed Tickets and open deliveries are counted where not all are shown', async () => {
    for (const number of [40, 41]) await command('close', `ticket-${await started(number)}`)
    await delivered(ledger.db)
    const { closed, deliveries } = await overview(ledger.db, { shown: 1 })
    expect(closed.count).toBeGreaterThanOrEqual(2)
    expect(closed.shown).toMatchObject([{ title: 'Fix 41', closedReason: 'stopped' }])
    expect(deliveries).toMatchObject({ count: 1, shown: [{ state: 'pending', event: 'issue_comment', tries: 0 }] })
  })

  test('[I4] a scope is held by its own pause and by that of everything', async () => {
    const ticket = await started(50)
    await command('pause', `ticket-${ticket}`)
    await command('pause', 'all', 'mara')
    expect((await holdsOver(ledger.db, `ticket-${ticket}`)).map(({ scope }) => scope)).toEqual(['all', `ticket-${ticket}`])
    expect((await holdsOver(ledger.db, 'main')).map(({ by }) => by)).toEqual(['mara'])
    await command('resume', 'all', 'mara')
  })
})

describe("a Session's log", () => {
  test('has every entry in order, and the tool of each result', async () => {
    const ticket = await started(60)
    const long = 'x'.repeat(100_000)
    await step(ticket, 1, [{ call: 'a', tool: 'shell', input: { command: 'yes' } }])
    await run(ticket, 1, 'a', long)
    const log = await sessionLog(ledger.db, `t${ticket}-1`)
    expect(log).toMatchObject({ role: 'executor', ticket, ended: null })
    expect(log?.entries).toMatchObject([
      { seq: 1, kind: 'input', step: 1, call: null, tool: null, body: { text: expect.stringMatching(/^item \d+$/) } },
      { seq: 2, kind: 'answer', body: { text: 'I look.', calls: [{ id: 'a', name: 'shell', input: { command: 'yes' } }] } },
      { seq: 3, kind: 'result', call: 'a', tool: 'shell', body: { text: long } },
    ])
  })

  test('is none for a Session that does not exist; those of a Ticket and of main are known', async () => {
    expect(await sessionLog(ledger.db, 't0-1')).toBeNull()
    const ticket = await started(61)
    expect(await sessionsOf(ledger.db, ticket)).toEqual([`t${ticket}-1`])
    expect(await sessionsOf(ledger.db, null)).toEqual(['main-1'])
    expect(await sessionsOf(ledger.db, 999_999_999)).toEqual([])
  })
})
