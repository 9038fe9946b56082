import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginCall } from './calls.ts'
import { transaction } from './database.ts'
import { answered, look, newCall, newRequest, open, openLedger, started, type TestLedger } from './fixture.ts'
import { holdsOn, type NewCommand, type Recorded, recordCommand } from './pauses.ts'
import { openRequest } from './requests.ts'
import { commitStep } from './steps.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 2_000
const ticketAt = () => started(ledger.db, ++issues)
const command = (given: Partial<NewCommand> & Pick<NewCommand, 'kind' | 'scope'>): Promise<Recorded> =>
  transaction(ledger.db, (tx) => recordCommand(tx, { actor: 'lin', transport: 'cli', reason: 'said so', ...given }))
const pauseRow = (scope: string) =>
  ledger.db.selectFrom('pause').select(['generation', 'held', 'actor', 'reason']).where('scope', '=', scope).executeTakeFirstOrThrow()

test("[I3] every pause and every resume grows its scope's generation", async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  const generations: number[] = []
  for (const kind of ['pause', 'resume', 'pause', 'resume'] as const) {
    const recorded = await command({ kind, scope })
    generations.push('mark' in recorded ? recorded.mark.generation : -1)
  }
  expect(generations).toEqual([1, 2, 3, 4])
  expect(await pauseRow(scope)).toMatchObject({ generation: 4, held: false })
})

test('[I1] a second pause changes nothing and says who holds it; a second resume says who lifted it', async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  await command({ kind: 'pause', scope, actor: 'lin', reason: 'first' })
  expect(await command({ kind: 'pause', scope, actor: 'mo', reason: 'second' })).toMatchObject({
    mark: { scope, generation: 1 },
    already: expect.stringMatching(/^paused by lin at 20/),
  })
  expect(await pauseRow(scope)).toEqual({ generation: 1, held: true, actor: 'lin', reason: 'first' })
  await command({ kind: 'resume', scope, actor: 'mo' })
  expect(await command({ kind: 'resume', scope, actor: 'lin' })).toMatchObject({
    mark: { scope, generation: 2 },
    already: expect.stringMatching(/^resumed by mo at 20/),
  })
})

test('[I3] a resume of what never was paused changes nothing', async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  expect(await command({ kind: 'resume', scope })).toMatchObject({ already: 'nobody has paused it', mark: { generation: 0 } })
})

test('[O7] every command is a row with actor, transport and reason, also one that changed nothing', async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  await command({ kind: 'pause', scope })
  await command({ kind: 'pause', scope, actor: 'mo', transport: 'panel', reason: 'me too' })
  const rows = await ledger.db
    .selectFrom('command')
    .select(['kind', 'actor', 'transport', 'reason', 'generation'])
    .where('scope', '=', scope)
    .orderBy('id')
    .execute()
  expect(rows).toEqual([
    { kind: 'pause', actor: 'lin', transport: 'cli', reason: 'said so', generation: 1 },
    { kind: 'pause', actor: 'mo', transport: 'panel', reason: 'me too', generation: 1 },
  ])
})

test('[I3] pauses and resumes at the same moment come one after another: no generation twice, none left out', async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, at) => command({ kind: at % 2 ? 'resume' : 'pause', scope, actor: `p${at}` })),
  )
  const changed = all.flatMap((each) => ('mark' in each && each.already === null ? [each.mark.generation] : [])).sort((a, b) => a - b)
  expect(changed).toEqual(changed.map((_, at) => at + 1))
  expect(await pauseRow(scope)).toMatchObject({ generation: changed.length, held: changed.length % 2 === 1 })
})

test.each([
  ['pause', 'ticket-999999', 'there is no Ticket T-999999'],
  ['resume', 'ticket-999999', 'there is no Ticket T-999999'],
  ['close', 'ticket-999999', 'there is no Ticket T-999999'],
  ['pause', 'nonsense', 'there is nothing called nonsense; a scope is ticket-<n>, main or all'],
  ['close', 'main', 'only a Ticket can be closed, not main'],
  ['close', 'all', 'only a Ticket can be closed, not all'],
] as const)('[I4] %s of %s is refused: %s', async (kind, scope, refused) => {
  expect(await command({ kind, scope })).toEqual({ refused })
})

test.each(['pause', 'resume', 'retry'] as const)('[R3] %s of a closed Ticket is refused with how it ended', async (kind) => {
  const { ticket } = await ticketAt()
  await command({ kind: 'close', scope: `ticket-${ticket}` })
  expect(await command({ kind, scope: `ticket-${ticket}` })).toEqual({
    refused: `T-${ticket} is closed (stopped); there is nothing to ${kind}`,
  })
})

test('[R3] a second close is refused with how the first one ended it', async () => {
  const { ticket } = await ticketAt()
  await command({ kind: 'close', scope: `ticket-${ticket}` })
  expect(await command({ kind: 'close', scope: `ticket-${ticket}` })).toEqual({ refused: `T-${ticket} is closed already (stopped)` })
})

test.each(['pause', 'close'] as const)(
  '[I3, O7] a raw %s whose attempts overlap writes one row, and each attempt gets its mark',
  async (kind) => {
    for (let round = 0; round < 25; round++) {
      const { ticket } = await ticketAt()
      const scope = `ticket-${ticket}`
      const updateId = `update-${kind}-${ticket}`
      const attempts = await Promise.all(Array.from({ length: 4 }, () => command({ kind, scope, transport: 'temporal', updateId })))
      expect(attempts).toEqual(Array(4).fill({ id: expect.any(Number), mark: { scope, generation: 1 }, already: null }))
      expect(await ledger.db.selectFrom('command').select('id').where('updateId', '=', updateId).execute()).toHaveLength(1)
    }
  },
)

test('[I3] a raw command that comes again later finds its first row, whatever happened since', async () => {
  const scope = `ticket-${(await ticketAt()).ticket}`
  const first = await command({ kind: 'pause', scope, transport: 'temporal', updateId: `again-${scope}` })
  await command({ kind: 'resume', scope })
  expect(await command({ kind: 'pause', scope, transport: 'temporal', updateId: `again-${scope}` })).toEqual(first)
  expect(await pauseRow(scope)).toMatchObject({ generation: 2, held: false })
})

test('[I4] "all" holds main and every Ticket, beside their own holds', async () => {
  const { ticket } = await ticketAt()
  const scope = `ticket-${ticket}`
  await command({ kind: 'pause', scope: 'all' })
  await command({ kind: 'pause', scope })
  expect(await holdsOn(ledger.db, 'main')).toMatchObject([{ scope: 'all' }])
  expect(await holdsOn(ledger.db, scope)).toMatchObject([{ scope: 'all' }, { scope }])
  await command({ kind: 'resume', scope: 'all' })
  expect(await holdsOn(ledger.db, 'main')).toEqual([])
  expect(await holdsOn(ledger.db, scope)).toMatchObject([{ scope }])
})

test('[I2] after a pause no request is written down, after the resume it is', async () => {
  const { ticket, session } = await ticketAt()
  const at = { session, step: 1 }
  const view = await look(ledger.db, at)
  await command({ kind: 'pause', scope: view.scope })
  expect(await openRequest(ledger.db, at, view.scope, newRequest(view, []), new Set())).toBe('moved')
  expect((await look(ledger.db, at)).holds).toMatchObject([{ scope: `ticket-${ticket}` }])
  await command({ kind: 'resume', scope: view.scope })
  expect(await openRequest(ledger.db, at, view.scope, newRequest(view, []), new Set())).toMatchObject({ id: expect.any(Number) })
})

/**
 * Right after the pause is written, and before it commits, everything that started has committed: it shared the pause's row. So
 * what the pause counts then is all there ever may be.
 */
async function pauseAndCount(scope: string, count: 'request' | 'toolCall', session: string): Promise<number> {
  return transaction(ledger.db, async (tx) => {
    await recordCommand(tx, { kind: 'pause', scope, actor: 'lin', transport: 'cli', reason: 'now' })
    return countStarted(tx, count, session)
  })
}
const countStarted = async (db: Pick<TestLedger['db'], 'selectFrom'>, of: 'request' | 'toolCall', session: string): Promise<number> => {
  const rows =
    of === 'request'
      ? await db.selectFrom('request').select('id').where('session', '=', session).execute()
      : await db.selectFrom('toolCall').select('call').where('session', '=', session).where('startedAt', 'is not', null).execute()
  return rows.length
}

test('[I2, I3] a pause raced with 200 requests: what it does not see when it is written never starts', async () => {
  for (let round = 0; round < 50; round++) {
    const { ticket, session } = await ticketAt()
    const at = { session, step: 1 }
    const view = await look(ledger.db, at)
    const ask = () => openRequest(ledger.db, at, view.scope, newRequest(view, []), new Set())
    const [first, second, seen, third, fourth] = await Promise.all([
      ask(),
      ask(),
      pauseAndCount(view.scope, 'request', session),
      ask(),
      ask(),
    ])
    const opened = [first, second, third, fourth].filter((result) => result !== 'moved').length
    expect(opened, `T-${ticket}`).toBe(seen)
    expect(await ask(), 'after the pause').toBe('moved')
    expect(await countStarted(ledger.db, 'request', session)).toBe(seen)
  }
})

test('[I2, I3] a pause raced with 200 tool calls: what it does not see when it is written never starts', async () => {
  for (let round = 0; round < 50; round++) {
    const { session, ticket } = await ticketAt()
    const at = { session, step: 1 }
    const { request, inputs } = await open(ledger.db, at)
    const calls = ['c1', 'c2', 'c3', 'c4', 'c5']
    await commitStep(
      ledger.db,
      at,
      `ticket-${ticket}`,
      answered(
        request as number,
        inputs,
        '',
        calls.map((call) => newCall(call)),
      ),
    )
    const [one, two, seen, three, four] = await Promise.all([
      beginCall(ledger.db, { ...at, call: 'c1' }),
      beginCall(ledger.db, { ...at, call: 'c2' }),
      pauseAndCount(`ticket-${ticket}`, 'toolCall', session),
      beginCall(ledger.db, { ...at, call: 'c3' }),
      beginCall(ledger.db, { ...at, call: 'c4' }),
    ])
    const begun = [one, two, three, four].filter((each) => 'begun' in each).length
    expect(begun, `T-${ticket}`).toBe(seen)
    expect(await beginCall(ledger.db, { ...at, call: 'c5' }), 'after the pause').toMatchObject({ outcome: 'paused' })
    expect(await countStarted(ledger.db, 'toolCall', session)).toBe(seen)
  }
})
