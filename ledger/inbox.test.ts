import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { answered, notice, open, openLedger, started, type TestLedger } from './fixture.ts'
import { confirmWake, leaseWakes } from './inbox.ts'
import { recordCommand } from './pauses.ts'
import { markSeen } from './step-view.ts'
import { commitStep } from './steps.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())
// what an earlier test left waits for no one
beforeEach(() => sql`update inbox set dropped = 'an earlier test is over' where session is null and dropped is null`.execute(ledger.db))

let issues = 4_000
const ticketAt = () => started(ledger.db, ++issues)
const lease = async (limit = 200) => (await leaseWakes(ledger.db, limit)).toSorted((a, b) => a.address.localeCompare(b.address))
const addresses = async () => (await lease()).map(({ address }) => address)
/** The owner's hand on the clock: as if so much time had passed since. */
const pass = (interval: string) =>
  sql`update inbox set next_signal_at = next_signal_at - ${interval}::interval, signalled_at = signalled_at - ${interval}::interval
    where session is null and dropped is null`.execute(ledger.owner)
const unread = async (address: string) =>
  (
    await ledger.db
      .selectFrom('inbox')
      .select('id')
      .where('address', '=', address)
      .where('session', 'is', null)
      .where('dropped', 'is', null)
      .execute()
  ).map(({ id }) => id)
const say = (kind: 'pause' | 'resume', scope: string) =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor: 'lin', transport: 'cli', reason: 'x' }))

test('[O8] four dispatchers at once, 20 rounds: each address is leased once a round, whole, however many rows it has', async () => {
  const all = Array.from({ length: 30 }, (_, nth) => `ticket-${7_000 + nth}`)
  for (let round = 0; round < 20; round++) {
    for (const [nth, address] of all.entries()) for (let row = 0; row <= nth % 4; row++) await notice(ledger.db, address)
    const leased = (await Promise.all([lease(), lease(), lease(), lease()])).flat()
    expect(leased.map(({ address }) => address).sort(), `round ${round}`).toEqual(all)
    for (const { address, rows } of leased)
      expect(rows.toSorted((a, b) => a - b)).toEqual((await unread(address)).toSorted((a, b) => a - b))
    await sql`update inbox set dropped = 'round' where dropped is null`.execute(ledger.db)
  }
})

test('[E5] many rows of one address are one wake', async () => {
  for (let row = 0; row < 40; row++) await notice(ledger.db, 'main')
  expect(await lease(5)).toEqual([{ address: 'main', rows: expect.arrayContaining(await unread('main')) }])
})

test('[O8] a limited dispatcher takes the addresses that wait longest, and the next one takes the rest', async () => {
  for (const nth of [3, 1, 2]) await notice(ledger.db, `ticket-${8_000 + nth}`)
  const [first, second] = [await lease(2), await lease(2)]
  expect(first.map(({ address }) => address)).toEqual(['ticket-8001', 'ticket-8003'])
  expect(second.map(({ address }) => address)).toEqual(['ticket-8002'])
})

test('[M4] a lease that nobody confirmed comes back after its seconds, and not before', async () => {
  await notice(ledger.db, 'ticket-8100')
  expect(await addresses()).toEqual(['ticket-8100'])
  expect(await addresses()).toEqual([])
  await pass('9 seconds')
  expect(await addresses()).toEqual([])
  await pass('1 second')
  expect(await addresses()).toEqual(['ticket-8100'])
})

test('[M4] a wake that was confirmed and that nobody read comes again after a minute', async () => {
  await notice(ledger.db, 'ticket-8200')
  const [leased] = await lease()
  await confirmWake(ledger.db, leased!)
  await pass('59 seconds')
  expect(await addresses()).toEqual([])
  await pass('1 second')
  expect(await addresses()).toEqual(['ticket-8200'])
})

test('a row that a step has seen and left is repeated after 15 minutes, not earlier, and every 15 minutes then', async () => {
  await notice(ledger.db, 'ticket-8300')
  const [leased] = await lease()
  await confirmWake(ledger.db, leased!)
  await markSeen(ledger.db, await unread('ticket-8300'))
  for (let repeat = 0; repeat < 3; repeat++) {
    await pass('14 minutes 59 seconds')
    expect(await addresses(), `repeat ${repeat}`).toEqual([])
    await pass('1 second')
    const [again] = await lease()
    expect(again?.address).toBe('ticket-8300')
    await confirmWake(ledger.db, again!)
  }
})

test('a new row beside one that was seen wakes at once', async () => {
  await notice(ledger.db, 'ticket-8400')
  await confirmWake(ledger.db, (await lease())[0]!)
  await markSeen(ledger.db, await unread('ticket-8400'))
  await notice(ledger.db, 'ticket-8400', 'another')
  expect(await addresses()).toEqual(['ticket-8400'])
})

test('a row that came after the lease is not confirmed with it', async () => {
  await notice(ledger.db, 'ticket-8500')
  const [leased] = await lease()
  await notice(ledger.db, 'ticket-8500', 'later')
  await confirmWake(ledger.db, leased!)
  expect(await addresses()).toEqual(['ticket-8500'])
})

test.each(['ticket', 'all'] as const)('[I2] held by a pause of %s nobody is woken; the resume wakes', async (what) => {
  const { ticket } = await ticketAt()
  const scope = `ticket-${ticket}`
  const held = what === 'all' ? 'all' : scope
  await sql`update inbox set dropped = 'not about this' where address = 'main' and dropped is null`.execute(ledger.db)
  await notice(ledger.db, 'main')
  await say('pause', held)
  expect(await addresses()).toEqual(what === 'all' ? [] : ['main'])
  await say('resume', held)
  expect(await addresses()).toEqual(what === 'all' ? ['main', scope] : [scope])
})

test('[R3] a closed Ticket is not woken', async () => {
  const { ticket } = await ticketAt()
  await transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
  expect(await addresses()).not.toContain(`ticket-${ticket}`)
})

test('[M4] what a step took in wakes nobody', async () => {
  const { ticket, session } = await ticketAt()
  const at = { session, step: 1 }
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs))
  expect(await addresses()).not.toContain(`ticket-${ticket}`)
})

test('[M4] a row of a lower number that is committed after the lease is not confirmed with it: it wakes at once', async () => {
  const slow = await ledger.pool.connect()
  await slow.query('begin')
  await slow.query(`insert into inbox (address, kind, body) values ('ticket-8500', 'notice', 'slow')`)
  await notice(ledger.db, 'ticket-8500')
  const [leased] = await lease()
  await slow.query('commit')
  slow.release()
  await confirmWake(ledger.db, leased!)
  expect(await addresses()).toEqual(['ticket-8500'])
})
