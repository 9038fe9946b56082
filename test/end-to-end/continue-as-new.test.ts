/** Workflows that roll over to a fresh history in the middle of the work, or are replayed from the start for each task. */
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { record, runsOf } from './histories.ts'
import { finished, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 120_000 })

test('[M4] [M7] rolled over every 60 events, it comes to the same end, each effect once', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest, rollAfter: 60 })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.model.unexpected()).toEqual([])

  const runs = await runsOf(house, 'ticket-1')
  expect(runs.length).toBeGreaterThan(2)
  for (const events of runs.slice(0, -1)) expect(events.at(-1)!.eventType).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW')
  const effects = await house.ledger.db.selectFrom('outbox').select(['state', 'tries']).execute()
  for (const effect of effects) expect(effect).toEqual({ state: 'confirmed', tries: 1 })
  const calls = await house.ledger.db.selectFrom('toolCall').select('outcome').execute()
  for (const { outcome } of calls) expect(outcome).toBe('done')
  await record(house, 'ticket-1', 'continue-as-new')
})

test('[M4] replayed from the start for every task, it comes to the same end', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest, maxCachedWorkflows: 0 })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.logged()).not.toMatch(/nondeterminis/i)
})
