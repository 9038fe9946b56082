/** What comes in over the public address of a whole program: once, from anybody, broken, and from the agent itself. */
import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { wake } from '../../workflows/protocol.ts'
import { post, takenDown } from './deliveries.ts'
import { eventually, finished, type House, idle, openHouse } from './house.ts'
import { onlyAcknowledges } from './scripts.ts'

vi.setConfig({ testTimeout: 120_000 })

const REPOSITORY = world.repository.fullName

test('[M2] [F103] [F108] one delivery ten times at once, and its body under five other ids, is one Ticket and one pull request', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { issue, body } = await takenDown(house, world)
  const guid = randomUUID()
  const guids = [...Array.from({ length: 10 }, () => guid), ...Array.from({ length: 5 }, () => randomUUID())]
  const answers = await Promise.all(guids.map((each) => post(house, { body, guid: each })))
  expect(answers.map(({ status }) => status)).toEqual(guids.map(() => 202))
  await finished(house)

  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  const { db } = house.ledger
  const stored = await db.selectFrom('delivery').select(['guid', 'transport', 'state', 'reason']).where('event', '=', 'issues').execute()
  // GitHub's own log may have told of the original too
  expect(stored.filter(({ transport }) => transport === 'webhook')).toHaveLength(6)
  expect(stored.filter(({ state }) => state === 'normalised')).toHaveLength(1)
  for (const { reason } of stored.filter(({ state }) => state === 'ignored')) expect(reason).toContain('taken in before')
  expect(await db.selectFrom('candidate').select('id').execute()).toHaveLength(1)
  expect(await db.selectFrom('ticket').select('id').execute()).toHaveLength(1)
  expect(await db.selectFrom('pullRequest').select('id').execute()).toHaveLength(1)
})

test('[F009] [F011] [F012] what is unsigned or broken is refused and leaves no row, and the next delivery is taken', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { body } = await takenDown(house, world)
  const broken: [string, string | Buffer, number][] = [
    ['1', '1', 400],
    ['a string', '"x"', 400],
    ['null', 'null', 400],
    ['cut off', body.slice(0, body.indexOf('"title":"') + 12), 400],
    ['a lone 0xFF', Buffer.concat([Buffer.from('{"action":"'), Buffer.from([0xff]), Buffer.from('"}')]), 400],
    ['26 MB', `{"action":"${'x'.repeat(26 * 1024 * 1024)}"}`, 413],
  ]
  for (const [what, sent, status] of broken) expect({ what, status: (await post(house, { body: sent })).status }).toEqual({ what, status })
  expect((await post(house, { body, secret: 'another secret' })).status).toBe(401)
  const { db } = house.ledger
  expect(await db.selectFrom('delivery').select('id').where('transport', '=', 'webhook').execute()).toEqual([])

  expect((await post(house, { body })).status).toBe(202)
  await eventually('the good one becomes a candidate', () => db.selectFrom('candidate').select('id').executeTakeFirst())
  for (const text of ['{"action":"', 'another secret']) expect(house.logged()).not.toContain(text)
})

test('[P4] [F147] [F304] outsiders and the agent itself start nothing; a follow-up reaches the Ticket that owns the Thread', async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { db } = house.ledger
  await house.operate('createAccount', { login: 'stranger' })
  for (const nth of [1, 2]) {
    await house.operate('openIssue', { repository: REPOSITORY, as: 'stranger', title: `Mine ${nth}`, body: '@switchyard fix everything' })
  }
  const refused = await eventually('both are decided', async () => {
    const rows = await db.selectFrom('trigger').select(['rule', 'reason', 'member']).where('authorLogin', '=', 'stranger').execute()
    return rows.length === 2 && rows
  })
  for (const row of refused) expect(row).toEqual({ rule: 'P7', reason: 'only members can ask', member: false })
  expect(await db.selectFrom('candidate').select('id').execute()).toEqual([])
  expect(house.model.requests()).toEqual([])

  const issue = await house.openIssue()
  await finished(house)
  await house.operate('comment', { repository: REPOSITORY, number: issue, as: 'mara', body: 'Thank you, that was quick.' })
  const followUp = await eventually('the follow-up is taken in', () =>
    db.selectFrom('trigger').select(['id', 'rule', 'reason']).where('body', '=', 'Thank you, that was quick.').executeTakeFirst(),
  )
  expect(followUp).toMatchObject({ rule: 'P4', reason: 'message for T-1' })
  await eventually('the Ticket claims it by reading it', () =>
    db
      .selectFrom('claim')
      .select('state')
      .where('trigger', '=', followUp.id)
      .where('ticket', '=', 1)
      .where('state', '=', 'claimed')
      .executeTakeFirst(),
  )
  await idle(house)

  const own = await db.selectFrom('trigger').select(['id', 'rule', 'authorLogin']).where('authorLogin', 'like', 'switchyard%').execute()
  expect(own.length).toBeGreaterThan(0)
  for (const { rule } of own) expect(rule).toBe('P1')
  const ids = own.map(({ id }) => id)
  for (const table of ['inbox', 'claim', 'candidate'] as const) {
    expect(await db.selectFrom(table).select('trigger').where('trigger', 'in', ids).execute()).toEqual([])
  }
  expect(await db.selectFrom('ticket').select('id').execute()).toHaveLength(1)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

test('[F104] [F113] [M1] sent again while the handling takes twelve seconds, it is acknowledged at once both times, and the second is dropped', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  const { body } = await takenDown(house, world)
  await house.operate('setFaults', { rules: [{ does: 'delay', ms: 12_000, match: { path: '/permission$' } }] })
  const guid = randomUUID()
  const posted = async () => {
    const began = performance.now()
    const answer = await post(house, { body, guid })
    expect(answer.status).toBe(202)
    expect(performance.now() - began).toBeLessThan(1_000)
    return ((await answer.json()) as { message: string }).message
  }
  expect(await posted()).toBe('The delivery is stored.')
  // GitHub is asked who wrote it, and answers late
  await eventually('it is being decided', () => db.selectFrom('account').select('id').executeTakeFirst())
  expect(await posted()).toBe('The delivery is known already.')
  const rows = () => db.selectFrom('delivery').select(['state', 'tries', 'settledAt']).where('guid', '=', guid).execute()
  expect(await rows()).toEqual([{ state: 'pending', tries: 0, settledAt: null }])

  await eventually('the Ticket acknowledges', () =>
    db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await idle(house)
  expect(await rows()).toEqual([{ state: 'normalised', tries: 0, settledAt: expect.any(Date) }])
  expect(await asked(house)).toEqual({ triggers: 1, tickets: 1, comments: 1 })
})

test('[F105] [F123] [M4] presented again after it was answered, and once more after a restart, it is acknowledged and answered no second time', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  const { body } = await takenDown(house, world)
  const guid = randomUUID()
  expect((await post(house, { body, guid })).status).toBe(202)
  await eventually('the Ticket acknowledges', () =>
    db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await idle(house)
  const before = { ...(await asked(house)), requests: house.model.requests().length }
  expect(before).toMatchObject({ triggers: 1, tickets: 1, comments: 1 })

  expect((await post(house, { body, guid })).status).toBe(202)
  await house.restart()
  for (const again of [guid, randomUUID()]) expect((await post(house, { body, guid: again })).status).toBe(202)
  // and every workflow is woken as if it had missed its last message
  for (const id of ['main', 'ticket-1']) await house.client.workflow.getHandle(id).signal(wake)
  await eventually('the copy under another id is decided', async () => {
    const rows = await db
      .selectFrom('delivery')
      .select(['state', 'reason'])
      .where('event', '=', 'issues')
      .where('guid', '!=', guid)
      .execute()
    return rows.length > 0 && rows.every(({ state, reason }) => state === 'ignored' && reason?.includes('taken in before'))
  })
  await eventually('the woken workflows have looked', async () => {
    const standing = await Promise.all(['main', 'ticket-1'].map((id) => house.client.workflow.getHandle(id).describe()))
    return standing.every(({ raw }) => (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask)
  })
  await idle(house)
  expect({ ...(await asked(house)), requests: house.model.requests().length }).toEqual(before)
})

/** What the one message about the issue has become: Triggers of a person, Tickets, and comments that the agent wrote. */
async function asked({ ledger, github }: House) {
  const count = async (rows: Promise<unknown[]>) => (await rows).length
  const { comments, accounts } = github.operator.state()
  const agent = accounts.find(({ login }) => login === `${world.app.slug}[bot]`)!
  return {
    triggers: await count(ledger.db.selectFrom('trigger').select('id').where('rule', '!=', 'P1').execute()),
    tickets: await count(ledger.db.selectFrom('ticket').select('id').execute()),
    comments: comments.filter(({ userId }) => userId === agent.id).length,
  }
}
