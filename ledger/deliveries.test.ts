import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDeliveryStore, type NewDelivery } from './deliveries.ts'
import { openLedger, type TestLedger } from './fixture.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const delivery = (over: Partial<NewDelivery> = {}): NewDelivery => ({
  source: 'github',
  transport: 'webhook',
  hook: '1',
  guid: randomUUID(),
  event: 'issues',
  headers: {},
  body: '{}',
  place: null,
  ...over,
})

test('[M1, M2] 2,000 deliveries at once, every tenth one twice: each is stored once, and each asker is told which', async () => {
  const store = createDeliveryStore(ledger.db)
  const once = Array.from({ length: 2_000 }, (_, nth) => delivery({ hook: 'many', event: 'issues', body: JSON.stringify({ nth }) }))
  const all = once.flatMap((each, nth) => (nth % 10 ? [each] : [each, each]))
  const told = await Promise.all(all.map(store))
  expect(told.filter((each) => each === 'stored')).toHaveLength(2_000)
  expect(told.filter((each) => each === 'duplicate')).toHaveLength(200)
  const rows = await ledger.db.selectFrom('delivery').select(['guid', 'body', 'sha']).where('hook', '=', 'many').execute()
  expect(rows.map(({ guid }) => guid).sort()).toEqual(once.map(({ guid }) => guid).sort())
  expect(rows.every(({ body, sha }) => sha.equals(createHash('sha256').update(body!).digest()))).toBe(true)
})

test('[M1] deliveries are stored in the order in which they came, so that a place stays in order', async () => {
  const store = createDeliveryStore(ledger.db)
  const all = Array.from({ length: 700 }, () => delivery({ hook: 'order', place: 'here' }))
  await Promise.all(all.map(store))
  const rows = await ledger.db.selectFrom('delivery').select('guid').where('hook', '=', 'order').orderBy('id').execute()
  expect(rows.map(({ guid }) => guid)).toEqual(all.map(({ guid }) => guid))
})

test('[M1] after a batch that the database refused the store goes on', async () => {
  const store = createDeliveryStore(ledger.db)
  await expect(store(delivery({ source: 'nowhere' as 'github' }))).rejects.toThrow()
  expect(await store(delivery())).toBe('stored')
})
