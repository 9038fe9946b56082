import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginCall } from '../ledger/calls.ts'
import { transaction } from '../ledger/database.ts'
import { answered, look, newCall, newRequest, open, openLedger, started, type TestLedger } from '../ledger/fixture.ts'
import { intend, markSent } from '../ledger/outbox.ts'
import { recordCommand } from '../ledger/pauses.ts'
import { openRequest } from '../ledger/requests.ts'
import { commitStep } from '../ledger/steps.ts'
import { installWitness, witnessed } from './witness.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
  await installWitness(ledger.ownerUrl)
})
afterAll(() => ledger.drop())

const command = (kind: 'pause' | 'resume', scope: string) =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor: 'lin', transport: 'cli', reason: 'said so' }))

test('it sees nothing while people pause and resume, and work goes on between', async () => {
  const { ticket, session, thread } = await started(ledger.db, 1)
  const at = { session, step: 1 }
  await command('pause', 'all')
  await command('resume', 'all')
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs, '', [newCall('c1')]))
  await beginCall(ledger.db, { ...at, call: 'c1' })
  const intended = await intend(ledger.db, { key: 'k', kind: 'comment', ticket, ...at, call: 'c1', thread, payload: {}, body: 'words' })
  expect('mine' in intended && (await markSent(ledger.db, intended.mine))).toBe('sent')
  await command('pause', `ticket-${ticket}`)
  expect(await witnessed(ledger.db)).toEqual([])
})

/** As a product would do it that does not look at the holds. */
test('it sees a request, a tool call and an effect that start while people hold', async () => {
  const { ticket, session, thread } = await started(ledger.db, 2)
  const at = { session, step: 1 }
  const view = await look(ledger.db, at)
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs, '', [newCall('c1')]))
  await intend(ledger.db, { key: 'k2', kind: 'comment', ticket, ...at, call: 'c1', thread, payload: {}, body: 'words' })
  await command('pause', `ticket-${ticket}`)
  await openRequest(ledger.db, at, 'nobody', newRequest(view, []), new Set())
  await ledger.db.updateTable('toolCall').set({ startedAt: new Date() }).where('session', '=', session).execute()
  await ledger.db.updateTable('outbox').set({ state: 'sent', tries: 1 }).where('key', '=', 'k2').execute()
  expect((await newlySeen()).map(({ fault, detail }) => `${fault}: ${detail}`)).toEqual(
    ['a request', 'a tool call', 'an effect'].map(
      (what) => `started: ${what} of ${session}, step 1, while ticket-${ticket} was held by generation 1`,
    ),
  )
})

test('it sees a hold that is lifted without a command, and generations that do not grow by one', async () => {
  await command('pause', 'main')
  await ledger.db.updateTable('pause').set({ held: false, generation: 2 }).where('scope', '=', 'main').execute()
  expect((await newlySeen()).map(({ fault }) => fault)).toEqual(['lifted'])
  await ledger.db.updateTable('pause').set({ held: true, generation: 1 }).where('scope', '=', 'main').execute()
  expect((await newlySeen()).map(({ fault }) => fault)).toEqual(['generation'])
})

let seen = 0
async function newlySeen() {
  const all = await witnessed(ledger.db)
  const fresh = all.slice(seen)
  seen = all.length
  return fresh
}
