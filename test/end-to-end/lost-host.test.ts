/** The host that has a Ticket's checkout is gone for ever: the Ticket says so, goes to another one, and comes to its end. */
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, finished, openHouse } from './house.ts'
import { rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 300_000 })

/** Time to move the Ticket's checkout, which it has not asked for yet, to a host that nobody runs. */
const scenario = rescript(fixFailingTest, { lines: { 'plans and reproduces': { delayMs: 3_000 } } })

test('[O1] a call whose host is gone for ever ends with the reason, and the Ticket goes on with a new checkout on another host', async () => {
  const house = await openHouse({ world, scenario })
  const { db } = house.ledger
  const issue = await house.openIssue()
  await eventually('the acknowledgement', () =>
    db.selectFrom('outbox').select('id').where('kind', '=', 'comment').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await db.updateTable('ticket').set({ host: 'gone' }).execute()

  const told = () => db.selectFrom('alarm').select('id').where('kind', '=', 'host').executeTakeFirst()
  await eventually('somebody asks whether the host is gone', told, 100_000) // a minute after the call
  await eventually('the Ticket reports', () => db.selectFrom('report').select('id').executeTakeFirst(), 120_000)
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.model.unexpected()).toEqual([])
  expect(await db.selectFrom('ticket').select('host').execute()).toEqual([{ host: 'test' }])
  const lost = await db
    .selectFrom('toolCall')
    .innerJoin('sessionLog', (join) =>
      join.onRef('sessionLog.call', '=', 'toolCall.call').onRef('sessionLog.session', '=', 'toolCall.session'),
    )
    .select(['tool', 'sessionLog.body'])
    .where('outcome', '=', 'interrupted')
    .execute()
  expect(lost).toEqual([{ tool: 'shell', body: expect.stringContaining('the machine that had the checkout of this Ticket is gone') }])
  const alarms = await db.selectFrom('alarm').select(['kind', 'subject', 'body', 'endedAt']).execute()
  expect(alarms).toEqual([
    { kind: 'host', subject: 'ticket-1', body: expect.stringContaining('the host gone is gone'), endedAt: expect.any(Date) },
  ])
})
