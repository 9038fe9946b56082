import { expect, test } from 'vitest'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { eventually, openHouse } from './house.ts'

const repository = world.repository.fullName

test('[R2, P5] [N12] when people merge the pull request, the Ticket gets one last turn and closes as merged', {
  timeout: 120_000,
}, async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { db } = house.ledger
  await house.openIssue()
  const ticketIs = (state: string) =>
    eventually(`T-1 is ${state}`, async () => {
      const row = await db.selectFrom('ticket').selectAll().where('id', '=', 1).executeTakeFirst()
      return row?.state === state && row
    })
  // done is reported, but its pull request is open
  await eventually('done is reported', () => db.selectFrom('report').select('id').where('status', '=', 'done').executeTakeFirst())
  await ticketIs('waiting')
  const results = await db.selectFrom('sessionLog').select('body').where('kind', '=', 'result').execute()
  expect(results.map(({ body }) => body)).toContainEqual(expect.stringContaining('The Ticket stays open: open pull request #2'))

  const nested = results.filter(({ body }) => body!.includes('acme/widgets test/AGENTS.md') && body!.includes('small enough to call'))
  expect(nested, '[N12] a nested AGENTS.md comes once, with the first result that touches its folder').toHaveLength(1)

  await house.operate('merge', { repository, number: 2, as: 'mara' })
  expect(await ticketIs('closed')).toMatchObject({ closedReason: 'merged' })
  expect(await db.selectFrom('pullRequest').select('state').execute()).toEqual([{ state: 'merged' }])
  expect(await db.selectFrom('subscription').select('endedAt').where('endedAt', 'is', null).execute()).toEqual([])
  await eventually(
    'the workflow has completed',
    async () => (await house.client.workflow.getHandle('ticket-1').describe()).status.name === 'COMPLETED',
  )

  // what comes later starts nothing
  const requests = await db.selectFrom('request').select('id').execute()
  await house.operate('comment', { repository, number: 1, as: 'mara', body: 'Thanks!' })
  const late = await eventually('the late comment is decided', () =>
    db.selectFrom('trigger').select(['rule', 'reason']).where('body', '=', 'Thanks!').executeTakeFirst(),
  )
  expect(late.rule).toBe('P7')
  expect(await db.selectFrom('request').select('id').execute()).toHaveLength(requests.length)
})
