import { afterAll, beforeAll, expect, test } from 'vitest'
import { INTERRUPTED } from '../core/prompt/conversation.ts'
import { beginCall, type CallAddress, startOnce, storeResult } from './calls.ts'
import { transaction } from './database.ts'
import { answered, logOf, newCall, open, openLedger, started, type TestLedger } from './fixture.ts'
import { recordCommand } from './pauses.ts'
import type { NewCall } from './steps.ts'
import { commitStep } from './steps.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 6_000
async function called(over: Partial<NewCall> = {}): Promise<{ at: CallAddress; ticket: number }> {
  const { ticket, session } = await started(ledger.db, ++issues)
  const at = { session, step: 1 }
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs, '', [newCall('call_1', over)]))
  return { at: { ...at, call: 'call_1' }, ticket }
}
const store = (at: CallAddress, text: string) => transaction(ledger.db, (tx) => storeResult(tx, at, { text, outcome: 'done' }))
const results = async ({ session }: CallAddress) =>
  (await logOf(ledger.db, session)).filter(({ kind }) => kind === 'result').map(({ call, body }) => [call, body.text])
const callRow = ({ session, call }: CallAddress) =>
  ledger.db
    .selectFrom('toolCall')
    .select(['outcome', 'startedAt', 'endedAt'])
    .where('session', '=', session)
    .where('call', '=', call)
    .executeTakeFirstOrThrow()
const pause = (kind: 'pause' | 'resume', scope: string) =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor: 'lin', transport: 'cli', reason: 'wait' }))

test('[M4] a call begins with what the model said, and its one result is stored', async () => {
  const { at, ticket } = await called({ tool: 'read', input: { path: 'b' } })
  expect(await beginCall(ledger.db, at)).toEqual({
    begun: { tool: 'read', input: { path: 'b' }, fault: null, nature: 'read', role: 'executor', ticket },
  })
  await store(at, 'what it holds')
  expect(await results(at)).toEqual([['call_1', 'what it holds']])
  expect(await beginCall(ledger.db, at)).toEqual({ outcome: 'done' })
})

test.each(['read', 'work', 'effect', 'protocol'])('[M4] a call of nature %s that was cut off begins again', async (nature) => {
  const { at } = await called({ nature })
  await beginCall(ledger.db, at)
  expect(await beginCall(ledger.db, at)).toMatchObject({ begun: { fault: null } })
})

test('[M4] a shell command that was started before is never run again: it ends as interrupted, once', async () => {
  const { at } = await called({ tool: 'shell', nature: 'once' })
  expect(await beginCall(ledger.db, at)).toMatchObject({ begun: { fault: null } })
  expect(await startOnce(ledger.db, at)).toBe('started')
  const again = await Promise.all(Array.from({ length: 5 }, () => beginCall(ledger.db, at)))
  expect(again).toEqual(Array(5).fill({ outcome: 'done' }))
  expect(await results(at)).toEqual([['call_1', INTERRUPTED]])
  expect(await callRow(at)).toMatchObject({ outcome: 'interrupted' })
})

test('[M4] of 30 shell commands started twice at the same moment, each runs in one attempt only', async () => {
  for (let round = 0; round < 30; round++) {
    const { at } = await called({ tool: 'shell', nature: 'once' })
    await Promise.all([beginCall(ledger.db, at), beginCall(ledger.db, at)])
    const started = await Promise.allSettled([startOnce(ledger.db, at), startOnce(ledger.db, at)])
    expect(started.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await beginCall(ledger.db, at)).toEqual({ outcome: 'done' })
    expect(await results(at)).toEqual([['call_1', INTERRUPTED]])
  }
})

test('[M4] [O2] a shell command whose checkout could not be had was not started: it may be tried until it can', async () => {
  const { at } = await called({ tool: 'shell', nature: 'once' })
  for (let attempt = 0; attempt < 3; attempt++) expect(await beginCall(ledger.db, at)).toMatchObject({ begun: { nature: 'once' } })
  expect(await callRow(at)).toMatchObject({ startedAt: null, outcome: null })
  expect(await startOnce(ledger.db, at)).toBe('started')
})

test('[I2] a pause that comes while the checkout is made ready keeps the command from starting', async () => {
  const { at, ticket } = await called({ tool: 'shell', nature: 'once' })
  await beginCall(ledger.db, at)
  await pause('pause', `ticket-${ticket}`)
  expect(await startOnce(ledger.db, at)).toEqual({ paused: [{ scope: `ticket-${ticket}`, generation: 1 }] })
  expect(await callRow(at)).toMatchObject({ startedAt: null })
  await pause('resume', `ticket-${ticket}`)
  expect(await startOnce(ledger.db, at)).toBe('started')
})

test('[M4] results of two attempts at the same moment, 30 times: one is kept', async () => {
  for (let round = 0; round < 30; round++) {
    const { at } = await called()
    await beginCall(ledger.db, at)
    await Promise.all([store(at, 'first'), store(at, 'second'), store(at, 'third')])
    expect(await results(at)).toHaveLength(1)
  }
})

test('[M4] what a lost attempt brings after the interruption was stored is not kept', async () => {
  const { at } = await called({ tool: 'shell', nature: 'once' })
  await startOnce(ledger.db, at)
  await beginCall(ledger.db, at)
  await store(at, 'it did run to its end')
  expect(await results(at)).toEqual([['call_1', INTERRUPTED]])
})

test('[I2] while held nothing begins and the holds are named; after the resume it begins', async () => {
  const { at, ticket } = await called()
  await pause('pause', 'all')
  await pause('pause', `ticket-${ticket}`)
  expect(await beginCall(ledger.db, at)).toEqual({
    outcome: 'paused',
    holds: [
      { scope: 'all', generation: expect.any(Number) },
      { scope: `ticket-${ticket}`, generation: 1 },
    ],
  })
  expect((await callRow(at)).startedAt).toBeNull()
  await pause('resume', 'all')
  await pause('resume', `ticket-${ticket}`)
  expect(await beginCall(ledger.db, at)).toMatchObject({ begun: { fault: null } })
})

test('[I2, M4] a shell command that a pause cut off is interrupted after the resume, not during the hold', async () => {
  const { at, ticket } = await called({ tool: 'shell', nature: 'once' })
  await beginCall(ledger.db, at)
  await startOnce(ledger.db, at)
  await pause('pause', `ticket-${ticket}`)
  expect(await beginCall(ledger.db, at)).toMatchObject({ outcome: 'paused' })
  expect(await results(at)).toEqual([])
  await pause('resume', `ticket-${ticket}`)
  expect(await beginCall(ledger.db, at)).toEqual({ outcome: 'done' })
})

test('[R2] a call of a closed Ticket does not begin', async () => {
  const { at, ticket } = await called()
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  expect(await beginCall(ledger.db, at)).toEqual({ outcome: 'closed' })
})

test('[R3] a command whose Ticket was closed while its checkout was made ready is not started', async () => {
  const { at, ticket } = await called({ tool: 'shell', nature: 'once' })
  await beginCall(ledger.db, at)
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  expect(await startOnce(ledger.db, at)).toEqual({ refused: expect.stringContaining('is closed') })
  expect((await callRow(at)).startedAt).toBeNull()
})

test('a call that is not in the ledger is an error, not a result', async () => {
  const { at } = await called()
  await expect(beginCall(ledger.db, { ...at, call: 'call_9' })).rejects.toThrow()
})
