import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { answered, logOf, newCall, open, openLedger, started, type TestLedger } from './fixture.ts'
import { giveUpHost, hostOf } from './hosts.ts'
import { commitStep } from './steps.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 7_000
/** A Ticket whose Executor has asked for one call in the checkout, on the host `a`. */
async function asked() {
  const { session, ticket } = await started(ledger.db, ++issues)
  const [at, scope] = [{ session, step: 1 }, `ticket-${ticket}`]
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, scope, answered(request as number, inputs, 'look', [newCall('call_1', { place: 'workspace' })]))
  expect(await hostOf(ledger.db, at.session, 'a')).toBe('a')
  return { at: { ...at, call: 'call_1' }, scope, ticket }
}
const giveUp = (at: Parameters<typeof giveUpHost>[1], host: string) => transaction(ledger.db, (tx) => giveUpHost(tx, at, host))
const alarmsOf = (scope: string) =>
  ledger.db.selectFrom('alarm').select(['kind', 'endedAt']).where('subject', '=', scope).where('kind', '=', 'host').execute()

test("of many hosts that offer themselves at once a Ticket's checkout is on one, and stays there", async () => {
  const { session } = await started(ledger.db, ++issues)
  const taken = await Promise.all(Array.from({ length: 12 }, (_, nth) => hostOf(ledger.db, session, `host-${nth}`)))
  expect(new Set(taken).size).toBe(1)
  expect(await hostOf(ledger.db, session, 'late')).toBe(taken[0])
  expect(await hostOf(ledger.db, 'main-1', 'here')).toBe('here')
})

test('[O1] a lost host ends the call that waited for it with the reason, and its alarm ends when another host has the checkout', async () => {
  const { at, scope } = await asked()
  await Promise.all([giveUp(at, 'a'), giveUp(at, 'a')])
  const results = (await logOf(ledger.db, at.session)).filter(({ kind }) => kind === 'result')
  expect(results.map(({ body }) => body.text)).toEqual([expect.stringMatching(/^interrupted: the machine .* is gone\./)])
  expect(await alarmsOf(scope)).toEqual([{ kind: 'host', endedAt: null }])

  expect(await hostOf(ledger.db, at.session, 'b')).toBe('b')
  expect(await alarmsOf(scope)).toEqual([{ kind: 'host', endedAt: expect.any(Date) }])
})

test('of two calls that find one host lost, the later one takes no new host away', async () => {
  const { at, scope } = await asked()
  await giveUp(at, 'a')
  await hostOf(ledger.db, at.session, 'b')
  await giveUp(at, 'a')
  expect(await hostOf(ledger.db, at.session, 'c')).toBe('b')
  expect(await alarmsOf(scope)).toEqual([{ kind: 'host', endedAt: expect.any(Date) }])
})

test('[R3] a lost host is nothing to a Ticket that closed', async () => {
  const { at, scope, ticket } = await asked()
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  await giveUp(at, 'a')
  expect((await logOf(ledger.db, at.session)).filter(({ kind }) => kind === 'result')).toEqual([])
  expect(await alarmsOf(scope)).toEqual([])
})
