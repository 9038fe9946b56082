/** What `recover` starts, from a ledger with Tickets that live, wait under a hold, or are closed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { openLedger, started, type TestLedger } from './fixture.ts'
import { type NewCommand, recordCommand } from './pauses.ts'
import { liveWorkflows } from './recover.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const say = (kind: NewCommand['kind'], scope: string, actor: string) =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor, transport: 'cli', reason: 'a test says so' }))

test('[O5] the main Session and every Ticket that is not closed must have a workflow, each with who holds it', async () => {
  expect(await liveWorkflows(ledger.db)).toEqual([{ scope: 'main', heldBy: [] }])
  for (const number of [1, 2, 3]) await started(ledger.db, number)
  await say('close', 'ticket-2', 'lin')
  await say('pause', 'ticket-3', 'mara')
  expect(await liveWorkflows(ledger.db)).toEqual([
    { scope: 'main', heldBy: [] },
    { scope: 'ticket-1', heldBy: [] },
    { scope: 'ticket-3', heldBy: ['mara'] },
  ])
  await say('pause', 'all', 'lin')
  expect(await liveWorkflows(ledger.db)).toEqual([
    { scope: 'main', heldBy: ['lin'] },
    { scope: 'ticket-1', heldBy: ['lin'] },
    { scope: 'ticket-3', heldBy: ['lin', 'mara'] },
  ])
})
