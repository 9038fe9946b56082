/** The connection to the ledger while Postgres hangs, or ends what runs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { isOutage } from '../activities/outage.ts'
import { type Gate, gateBefore, through } from '../test/gate.ts'
import { type Connected, connect, transaction } from './database.ts'

vi.setConfig({ testTimeout: 30_000 })

async function hanging({ size = 2 } = {}): Promise<Connected & { gate: Gate }> {
  const { appUrl } = inject('postgres')
  const gate = await gateBefore(appUrl)
  const ledger = connect(through(gate, appUrl), { size, onLost: () => undefined, patience: { connectMs: 400, silentMs: 600 } })
  onTestFinished(async () => {
    gate.open()
    await ledger.close()
    await gate.close()
  })
  return { ...ledger, gate }
}

const one = ({ db }: Connected) => sql<{ one: number }>`select 1 as one`.execute(db).then(({ rows }) => rows[0]!.one)

test('a connection that breaks under a transaction is an error of that transaction and of nothing else', async () => {
  const ledger = await hanging()
  const pid = (tx: Connected['db']) => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx).then(({ rows }) => rows[0]!.pid)
  const broken = transaction(ledger.db, async (tx) => {
    const victim = await pid(tx)
    setTimeout(() => void sql`select pg_terminate_backend(${victim})`.execute(ledger.db), 100)
    await sql`select pg_sleep(5)`.execute(tx)
  })
  await expect(broken).rejects.toThrow()
  expect(await one(ledger)).toBe(1)
})

test('a query that a hanging Postgres does not answer is an error in bounded time; when it answers again, so does the pool', async () => {
  const ledger = await hanging()
  expect(await one(ledger)).toBe(1)
  ledger.gate.hang()
  await expect(one(ledger)).rejects.toThrow(/^Connection terminated: Postgres said nothing for 600 ms$/)
  await expect(one(ledger)).rejects.toThrow(/timeout/) // and no new connection comes about
  ledger.gate.open()
  expect(await one(ledger)).toBe(1)
})

test('a transaction that a hanging Postgres leaves in the middle ends in bounded time', async () => {
  const ledger = await hanging()
  const stuck = transaction(ledger.db, async (tx) => {
    await sql`select 1`.execute(tx)
    ledger.gate.hang()
    await sql`select 2`.execute(tx)
  })
  await expect(stuck).rejects.toSatisfy(isOutage)
})

test('many that wait for a hanging Postgres all hear of it, and none is left waiting', async () => {
  const ledger = await hanging()
  ledger.gate.hang()
  const ends = await Promise.allSettled(Array.from({ length: 20 }, () => one(ledger)))
  expect(ends.filter(({ status }) => status === 'fulfilled')).toEqual([])
  expect(ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : [])).every(isOutage)).toBe(true)
})

test('a connection that rests in the pool may be silent for as long as it likes', async () => {
  const ledger = await hanging({ size: 1 })
  const pid = () => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(ledger.db).then(({ rows }) => rows[0]!.pid)
  const first = await pid()
  await sleep(1_000)
  expect(await pid()).toBe(first)
})

test('the server gives up a statement by itself, and a transaction whose owner went silent', async () => {
  const { appUrl } = inject('postgres')
  const ledger = connect(appUrl, { size: 1, onLost: () => undefined, patience: { statementMs: 200, idleInTransactionMs: 200 } })
  onTestFinished(ledger.close)
  const outage = expect.toSatisfy(isOutage)
  await expect(sql`select pg_sleep(5)`.execute(ledger.db)).rejects.toEqual(outage)
  await expect(transaction(ledger.db, () => sleep(600))).rejects.toEqual(outage)
  expect(await one(ledger)).toBe(1)
})
