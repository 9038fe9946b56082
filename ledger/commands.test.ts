import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { confirmCommand, failCommand, leaseCommands, scopesToTell } from './commands.ts'
import { transaction } from './database.ts'
import { openLedger, started, type TestLedger } from './fixture.ts'
import { recordCommand } from './pauses.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())
beforeEach(() => sql`update command set delivered_at = now() where delivered_at is null`.execute(ledger.db))

const say = async (scope = 'main') => {
  const recorded = await transaction(ledger.db, (tx) =>
    recordCommand(tx, { kind: 'retry', scope, actor: 'lin', transport: 'cli', reason: 'try again' }),
  )
  if ('refused' in recorded) throw new Error(recorded.refused)
  return recorded.id
}
const pass = (interval: string) => sql`update command set next_try_at = next_try_at - ${interval}::interval`.execute(ledger.owner)
const ids = async () => (await leaseCommands(ledger.db, 50)).map(({ id }) => id)

test('[O8] four dispatchers at once lease each command once, each in the order in which they were given', async () => {
  const given = []
  for (let nth = 0; nth < 40; nth++) given.push(await say())
  const leased = await Promise.all([1, 2, 3, 4].map(() => leaseCommands(ledger.db, 15)))
  expect(
    leased
      .flat()
      .map(({ id }) => id)
      .sort((a, b) => a - b),
  ).toEqual(given)
  for (const some of leased) expect(some.map(({ id }) => id)).toEqual(some.map(({ id }) => id).toSorted((a, b) => a - b))
})

test('[I3] a command that did not arrive is told again after 5, 10, 20 … seconds, at most every 5 minutes', async () => {
  const id = await say()
  const waits: number[] = []
  for (let nth = 0; nth < 9; nth++) {
    const [leased] = await leaseCommands(ledger.db, 50)
    expect(leased).toMatchObject({ id, tries: nth + 1 })
    await failCommand(ledger.db, id, 'no answer')
    const { rows } = await sql<{
      wait: number
    }>`select round(extract(epoch from next_try_at - now()))::int as wait from command where id = ${id}`.execute(ledger.db)
    waits.push(rows[0]!.wait)
    await pass('6 minutes')
  }
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300])
  expect(await ledger.db.selectFrom('command').select('error').where('id', '=', id).executeTakeFirst()).toEqual({ error: 'no answer' })
})

test('[I3] a command that arrived is told no more', async () => {
  const id = await say()
  expect(await ids()).toEqual([id])
  await confirmCommand(ledger.db, id)
  await pass('1 hour')
  expect(await ids()).toEqual([])
})

test('[I4] "all" is told to main and every live Ticket, anything else to its own workflow', async () => {
  const live = await started(ledger.db, 5_001)
  const gone = await started(ledger.db, 5_002)
  await transaction(ledger.db, (tx) => closeTicket(tx, gone.ticket, 'stopped'))
  expect(await scopesToTell(ledger.db, 'all')).toEqual(['main', `ticket-${live.ticket}`])
  expect(await scopesToTell(ledger.db, `ticket-${gone.ticket}`)).toEqual([`ticket-${gone.ticket}`])
})
