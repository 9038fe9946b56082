import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { answered, hear, open, openLedger, type TestLedger } from './fixture.ts'
import { commitStep } from './steps.ts'
import { ignoreCandidate } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

/** A turn of the main Session in which it reads what waits and says nothing. */
async function silentTurn(step: number): Promise<string[]> {
  const at = { session: 'main-1', step }
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, 'main', answered(request as number, inputs))
  return inputs.map(({ text }) => text)
}

test('[E7] a candidate that main was shown and left is reminded of twice, then stuck with an alarm that ends with its decision', async () => {
  const { trigger } = await hear(ledger.db, { number: 501 })
  const candidate = () => ledger.db.selectFrom('candidate').select(['id', 'state']).where('trigger', '=', trigger).executeTakeFirstOrThrow()
  const { id } = await candidate()
  const alarm = () =>
    ledger.db.selectFrom('alarm').select('endedAt').where('kind', '=', 'stuck').where('subject', '=', `C-${id}`).executeTakeFirst()

  await silentTurn(1)
  const reminders = await ledger.db.selectFrom('inbox').select('body').where('kind', '=', 'reminder').execute()
  expect(reminders).toEqual([{ body: expect.stringContaining(`C-${id} still waits for your decision`) }])
  expect(await silentTurn(2)).toHaveLength(1)
  expect((await candidate()).state).toBe('waiting')
  expect(await silentTurn(3)).toHaveLength(1)
  expect(await candidate()).toMatchObject({ state: 'stuck' })
  expect(await alarm()).toEqual({ endedAt: null })

  await transaction(ledger.db, (tx) => ignoreCandidate(tx, { candidate: id, reason: 'not for us', decidedBy: 'lin' }))
  expect((await alarm())?.endedAt).not.toBeNull()
})

test('[E7] a candidate that main has decided, or was not shown yet, is not reminded of', async () => {
  const decided = await hear(ledger.db, { number: 502 })
  const { id } = await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', decided.trigger).executeTakeFirstOrThrow()
  const at = { session: 'main-1', step: 4 }
  const { request, inputs } = await open(ledger.db, at)
  await transaction(ledger.db, (tx) => ignoreCandidate(tx, { candidate: id, reason: 'no', decidedBy: 'main-1' }))
  await hear(ledger.db, { number: 503 }) // arrives after main looked
  await commitStep(ledger.db, at, 'main', answered(request as number, inputs))
  const reminders = await ledger.db.selectFrom('inbox').select('id').where('kind', '=', 'reminder').where('session', 'is', null).execute()
  expect(reminders).toEqual([])
})
