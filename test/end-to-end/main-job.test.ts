import { expect, test } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, openHouse } from './house.ts'

test('a GitHub issue becomes a pull request that is correct and reported', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const issue = await house.openIssue()
  await eventually('the Ticket reports done and its turn ends', async () => {
    const done = await house.ledger.db.selectFrom('report').select('id').where('status', '=', 'done').executeTakeFirst()
    const idle = await house.ledger.db
      .selectFrom('inbox')
      .select('id')
      .where('session', 'is', null)
      .where('dropped', 'is', null)
      .executeTakeFirst()
    return done && !idle
  })
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.model.unexpected()).toEqual([])
  expect(house.github.contractFaults).toEqual([])
  expect(house.github.unserved).toEqual([])
})
