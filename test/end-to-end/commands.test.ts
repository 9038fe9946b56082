import { expect, test } from 'vitest'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { status } from '../../workflows/protocol.ts'
import { eventually, openHouse } from './house.ts'
import { onlyAcknowledges } from './scripts.ts'

const repository = world.repository.fullName

test('[N5] [I2] [P7] members command by chat and are answered; who writes to a paused Ticket is told once, an outsider too', {
  timeout: 120_000,
}, async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { db } = house.ledger
  await house.openIssue()
  await eventually('T-1 waits', () => db.selectFrom('ticket').select('id').where('state', '=', 'waiting').executeTakeFirst())

  const say = (as: string, body: string) => house.operate('comment', { repository, number: 1, as, body })
  const notices = async () => {
    const { comments } = (await house.end(1)).issue
    return comments
      .filter(({ author }) => author === 'switchyard[bot]')
      .slice(2)
      .map(({ body }) => body.split('\n\n')[1])
  }
  const noticed = (count: number) => eventually(`${count} notices stand`, async () => (await notices()).length === count && notices())

  await say('mara', '@switchyard pause')
  expect(await noticed(1)).toEqual(['T-1 is paused; a member who writes `resume` lets it go on.'])
  const requests = await db.selectFrom('request').select('id').execute()

  await say('mara', 'Could the docs say so too?')
  expect((await noticed(2)).at(-1)).toBe('T-1 is paused by mara; this message waits until a member writes `resume`.')
  await say('mara', 'And the changelog?')
  await say('mara', 'status')
  expect((await noticed(3)).at(-1)).toBe('T-1 is paused by mara, and 2 messages wait to be read.')
  expect(await db.selectFrom('request').select('id').execute()).toHaveLength(requests.length)

  await house.operate('createAccount', { login: 'eve' })
  await say('eve', 'resume')
  await say('mara', 'Resume!')
  expect((await noticed(4)).at(-1)).toBe('T-1 goes on.')
  await eventually('the waiting messages are read', async () => {
    const unread = await db
      .selectFrom('inbox')
      .select('id')
      .where('address', '=', 'ticket-1')
      .where('session', 'is', null)
      .where('dropped', 'is', null)
      .execute()
    return unread.length === 0
  })
  await say('mara', 'resume')
  expect((await noticed(5)).at(-1)).toMatch(/^T-1 is not paused: resumed by mara at /)

  const { number } = await house.operate('openIssue', { repository, as: 'eve', title: 'Do this', body: '@switchyard do this' })
  await house.operate('comment', { repository, number, as: 'eve', body: '@switchyard please' })
  await eventually(
    'both are decided',
    async () => (await db.selectFrom('trigger').select('id').where('authorLogin', '=', 'eve').execute()).length === 3,
  )
  await eventually(
    'nothing is left to send',
    async () => !(await db.selectFrom('outbox').select('id').where('state', '!=', 'confirmed').executeTakeFirst()),
  )
  const told = (await house.end(number)).issue.comments.filter(({ author }) => author === 'switchyard[bot]')
  expect(told.map(({ body }) => body.split('\n\n')[1])).toEqual(['Only members of acme/widgets can ask this agent for work.'])
})

test('[I2] [N5] a workflow that cannot hear keeps no other from hearing, and a member is told that only an admin lifts a pause of all', {
  timeout: 120_000,
}, async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  await house.openIssue()
  await eventually('T-1 waits', () => db.selectFrom('ticket').select('id').where('state', '=', 'waiting').executeTakeFirst())
  await house.client.workflow.getHandle('main').terminate('the test has no main Session')
  const isHeld = async () => (await house.client.workflow.getHandle('ticket-1').query(status)).held
  const missedOnce = () =>
    eventually('one try has missed main', () =>
      db.selectFrom('command').select('tries').where('deliveredAt', 'is', null).where('error', 'is not', null).executeTakeFirst(),
    )

  await house.command('pause', 'all')
  expect(await missedOnce()).toEqual({ tries: 1 })
  expect(await isHeld()).toBe(true)

  await house.operate('comment', { repository, number: 1, as: 'mara', body: '@switchyard resume' })
  await eventually('mara is answered', async () =>
    (await house.end(1)).issue.comments.some(({ body }) => body.includes('T-1 stays held: all work is paused by')),
  )
  expect(await isHeld()).toBe(true)

  await db.updateTable('command').set({ deliveredAt: new Date() }).where('kind', '=', 'pause').execute()
  await house.command('resume', 'all')
  expect(await missedOnce()).toEqual({ tries: 1 })
  expect(await isHeld()).toBe(false)
})
