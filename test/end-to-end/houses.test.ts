/** Whole products beside each other, and against another server of the same protocol. */
import { expect, test, vi } from 'vitest'
import * as first from '../../rehearsal/scenarios/fix-failing-test.ts'
import * as second from '../../rehearsal/scenarios/second-server.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { listed } from './histories.ts'
import { eventually, finished, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 150_000 })

test('two programs side by side do not touch each other', async () => {
  const one = await openHouse({ world: first.world, scenario: first.fixFailingTest })
  const other = await openHouse({ world: second.world, scenario: second.secondServer })
  const [issue, asked] = await Promise.all([one.openIssue(), other.openIssue()])
  await Promise.all([finished(one), finished(other)])
  expect(faultsOf(first.expected, await one.end(issue))).toEqual([])
  expect(faultsOf(second.expected, await other.end(asked))).toEqual([])
  for (const { ledger, model } of [one, other]) {
    expect(await ledger.db.selectFrom('ticket').select('id').execute()).toEqual([{ id: 1 }])
    expect(await ledger.db.selectFrom('repository').select('id').execute()).toHaveLength(1)
    expect(model.unexpected()).toEqual([])
  }
})

test('[O2] [O1] a refused key blocks and says so once; with the right key and a retry the product runs on another server', async () => {
  const house = await openHouse({
    world: second.world,
    scenario: second.secondServer,
    modelKey: 'the right key',
    environment: { MODEL_API_KEY: 'a wrong key' },
  })
  const { db } = house.ledger
  const issue = await house.openIssue()
  const alarm = await eventually('an alarm of the provider', () =>
    db.selectFrom('alarm').selectAll().where('kind', '=', 'provider').executeTakeFirst(),
  )
  expect(alarm).toMatchObject({ subject: 'main', endedAt: null, body: expect.stringContaining('401') })
  expect(alarm.body).not.toContain('a wrong key')
  await eventually(
    'main is seen to be blocked',
    async () => (await listed(house.client, 'SyRole = "main" and SyState = "blocked"')).length === 1,
  )
  expect(await db.selectFrom('request').select('outcome').execute()).toEqual([{ outcome: 'failed' }])

  await house.restart({ MODEL_API_KEY: 'the right key' })
  await house.command('retry', 'main')
  await finished(house)
  expect(faultsOf(second.expected, await house.end(issue))).toEqual([])
  expect(house.model.unexpected()).toEqual([])
  expect(await db.selectFrom('alarm').select('kind').where('endedAt', 'is', null).execute()).toEqual([])
})
