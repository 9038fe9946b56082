/** The program is killed at the moments that hurt most: between a deed and the note of it (spec M4). */
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, finished, type House, idle, openHouse } from './house.ts'
import { rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 180_000 })

const repository = world.repository.fullName

test('[F322] [F323] [F324] killed between storing and handing on, between a comment and the note of it, and with the last completion lost, each comes to the one right end', async () => {
  // side by side: most of the time passes while Temporal waits for the heartbeats of those that were killed
  await Promise.all([beforeHandingOn(), beforeTheNote(), beforeTheCompletion()])
})

/** [F322] Once before the delivery was decided, and once before main was woken. */
async function beforeHandingOn(): Promise<void> {
  const house = await openHouse({ world, scenario: fixFailingTest, child: true, gated: true })
  const { db } = house.ledger
  await house.operate('setFaults', { rules: [{ does: 'delay', ms: 60_000, match: { path: '/permission$' } }] })
  const issue = await house.openIssue()
  await house.operate('delivered')
  expect(house.github.operator.state().deliveries).toMatchObject([{ event: 'issues', statusCode: 202 }])
  const stored = () => db.selectFrom('delivery').select(['state', 'tries']).where('event', '=', 'issues').execute()
  expect(await stored()).toEqual([{ state: 'pending', tries: 0 }])
  await house.kill()
  await house.operate('setFaults', { rules: [] })

  await house.start()
  house.gate.shut()
  await eventually('it is decided', () => db.selectFrom('candidate').select('id').executeTakeFirst())
  const woken = await db.selectFrom('inbox').select(['address', 'seenAt', 'session']).execute()
  expect(woken).toEqual([{ address: 'main', seenAt: null, session: null }])
  await house.kill()
  house.gate.open()

  await house.start()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(await stored()).toEqual([{ state: 'normalised', tries: 0 }])
}

/** [F323] GitHub has taken the comment and has not said so: it is looked up and stands once. */
async function beforeTheNote(): Promise<void> {
  const house = await openHouse({ world, scenario: fixFailingTest, child: true })
  const { db } = house.ledger
  await house.operate('setFaults', {
    rules: [{ does: 'hang after commit', ms: 90_000, match: { method: 'POST', path: '/issues/\\d+/comments$' } }],
  })
  const issue = await house.openIssue()
  const [comment] = await eventually('the comment stands', async () => {
    const { comments } = house.github.operator.state()
    return comments.length > 0 && comments
  })
  const receipt = () =>
    db.selectFrom('outbox').select(['state', 'tries', 'externalId']).where('key', 'like', '%/acknowledge/%').executeTakeFirstOrThrow()
  expect(await receipt()).toEqual({ state: 'sent', tries: 1, externalId: null })
  await house.killAndRestart()

  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(await receipt()).toEqual({ state: 'confirmed', tries: 1, externalId: String(comment!.id) })
}

/** [F324] The outcome of the last step is read from the ledger, the model is not asked again, and the Ticket goes on. */
async function beforeTheCompletion(): Promise<void> {
  const scenario = rescript(fixFailingTest, { lines: { 'ends its turn': { delayMs: 3_000 } } })
  const house = await openHouse({ world, scenario, child: true, gated: true })
  const { db } = house.ledger
  const issue = await house.openIssue()
  const { step } = await eventually('the last step is being asked for', () =>
    db
      .selectFrom('report')
      .innerJoin('request', (join) => join.onRef('request.session', '=', 'report.session').onRef('request.step', '>', 'report.step'))
      .select('request.step')
      .executeTakeFirst(),
  )
  // from here on nothing of what the worker did reaches Temporal
  house.gate.shut()
  const ofStep = { session: 't1-1', step }
  await eventually('the last step is in the ledger', () =>
    db.selectFrom('step').select('outcome').where('session', '=', ofStep.session).where('step', '=', step).executeTakeFirst(),
  )
  await house.kill()
  house.gate.open()
  await house.start()

  await house.operate('comment', { repository, number: issue, as: 'mara', body: 'Thank you, that was quick.' })
  await eventually('the Ticket reads what comes next', () =>
    db
      .selectFrom('claim')
      .innerJoin('trigger', 'trigger.id', 'claim.trigger')
      .select('claim.state')
      .where('trigger.body', 'like', 'Thank you%')
      .where('claim.state', '=', 'claimed')
      .executeTakeFirst(),
  )
  await idle(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(await requestsOf(house, ofStep)).toEqual([{ outcome: 'answered' }])
}

function requestsOf({ ledger }: House, { session, step }: { session: string; step: number }) {
  return ledger.db.selectFrom('request').select('outcome').where('session', '=', session).where('step', '=', step).execute()
}
