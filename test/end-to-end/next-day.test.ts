/** The whole promise at once: held in the middle of a command, killed, started again, spoken to, and let go on the next day. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, finished, openHouse } from './house.ts'
import { longFirstTest, rescript } from './scripts.ts'

const DAY_MS = 24 * 60 * 60_000

test('[I1] [I2] [M4] paused in the middle of sleep 1000, killed, started, commented on, and resumed a day later: one correct pull request', {
  timeout: 180_000,
}, async () => {
  const house = await openHouse({
    world,
    scenario: rescript(fixFailingTest, { lines: { 'plans and reproduces': longFirstTest } }),
    child: true,
  })
  const { db } = house.ledger
  const home = join(house.home, 'workspaces', 't-1', '@home')
  const issue = await house.openIssue()
  await eventually('the command sleeps', async () => existsSync(join(home, 'waited')))
  await house.command('pause', 'ticket-1')
  await house.kill()

  await house.start()
  await house.operate('comment', { repository: world.repository.fullName, number: issue, as: 'mara', body: 'No hurry, by the way.' })
  const waiting = () => db.selectFrom('inbox').select('id').where('address', '=', 'ticket-1').where('session', 'is', null).execute()
  await eventually('the comment waits', async () => (await waiting()).length === 1)
  await eventually('its author is told so', async () =>
    (await house.end(issue)).issue.comments.some(({ body }) => body.includes('T-1 is paused by mara')),
  )
  const asked = await db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()
  await house.kill()

  house.setClockAhead(DAY_MS)
  await house.start()
  expect(await db.selectFrom('pause').select(['held', 'generation']).where('scope', '=', 'ticket-1').executeTakeFirst()).toEqual({
    held: true,
    generation: 1,
  })
  expect(await db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()).toEqual(asked)
  await house.command('resume', 'ticket-1')
  await finished(house)

  const { issue: thread, ...end } = await house.end(issue)
  const notices = thread.comments.filter(({ body }) => body.includes('T-1 is paused by mara'))
  expect(notices).toHaveLength(1)
  expect(faultsOf(expected, { ...end, issue: { ...thread, comments: thread.comments.filter((each) => !notices.includes(each)) } })).toEqual(
    [],
  )
  expect(await db.selectFrom('toolCall').select('tool').where('outcome', '=', 'interrupted').execute()).toEqual([{ tool: 'shell' }])
  // cut off it is never run again by the host; the second run is the model's own decision, and finds what the first one left
  expect(readFileSync(join(home, 'runs'), 'utf8').match(/run/g)).toHaveLength(2)
})
