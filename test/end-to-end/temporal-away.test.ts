/** Temporal is away for a while: what comes in is stored and acknowledged all the same, and handed on later. */
import { expect, test, vi } from 'vitest'
import type { Line, Scenario } from '../../rehearsal/model/script.ts'
import type { View } from '../../rehearsal/model/view.ts'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { eventually, idle, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 180_000 })

const repository = world.repository.fullName
const THREADS = 3
const IN_EACH = 10

/** Acknowledges every message that it owes an answer, the oldest first, and does nothing else. */
const acknowledgesAll: Line[] = [
  {
    name: 'acknowledges what is left',
    when: (view) => unacknowledged(view) !== undefined,
    answer: (view) => ({
      calls: [{ name: 'orchestrator_acknowledge', input: { message: unacknowledged(view), text: 'I have read this.' } }],
    }),
  },
  { name: 'ends its turn', when: {}, answer: { text: 'All is read.' } },
]
const scenario: Scenario = { ...fixFailingTest, roles: { ...fixFailingTest.roles, executor: acknowledgesAll } }

test('[F121] [F337] [M1] thirty deliveries while Temporal is away are acknowledged, the program says that it is not ready, and each Thread is handed on in its order', async () => {
  const house = await openHouse({ world, scenario, gated: true })
  const { db } = house.ledger
  expect((await fetch(`${house.panelUrl}/healthz`)).status).toBe(200)

  house.gate.shut()
  const issues: number[] = []
  for (let nth = 1; nth <= THREADS; nth++) {
    const { number } = await house.operate('openIssue', { repository, as: 'mara', title: `Thread ${nth}`, body: '@switchyard message 1' })
    issues.push(number)
  }
  for (let nth = 2; nth <= IN_EACH; nth++)
    for (const number of issues) await house.operate('comment', { repository, number, as: 'mara', body: `@switchyard message ${nth}` })
  await house.operate('delivered')
  const answers = house.github.operator.state().deliveries.map(({ statusCode }) => statusCode)
  expect(answers).toEqual(Array.from({ length: THREADS * IN_EACH }, () => 202))
  await eventually('all are decided', async () => {
    const rows = await db.selectFrom('delivery').select('state').execute()
    return rows.length === answers.length && rows.every(({ state }) => state === 'normalised')
  })
  const health = await fetch(`${house.panelUrl}/healthz`)
  expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ status: 'not ready' })])
  expect(await db.selectFrom('request').select('id').execute()).toEqual([])

  house.gate.open()
  await eventually('every message is acknowledged', async () => {
    const rows = await db
      .selectFrom('outbox')
      .select('id')
      .where('key', 'like', '%/acknowledge/%')
      .where('state', '=', 'confirmed')
      .execute()
    return rows.length === THREADS * IN_EACH
  })
  await idle(house)
  expect(await db.selectFrom('ticket').select('id').execute()).toHaveLength(THREADS)
  for (const number of issues) {
    const heard = await db
      .selectFrom('inbox')
      .innerJoin('trigger', 'trigger.id', 'inbox.trigger')
      .innerJoin('thread', 'thread.id', 'trigger.thread')
      .select('trigger.body')
      .where('inbox.address', 'like', 'ticket-%')
      .where('inbox.kind', 'in', ['assignment', 'message'])
      .where('thread.number', '=', number)
      .orderBy('inbox.step')
      .orderBy('inbox.id')
      .execute()
    expect(heard.map(({ body }) => Number(/message (\d+)$/.exec(body!)![1]))).toEqual(Array.from({ length: IN_EACH }, (_, nth) => nth + 1))
  }
  expect((await fetch(`${house.panelUrl}/healthz`)).status).toBe(200)
})

/** The first message on whose card stands a number that no call has acknowledged. */
function unacknowledged(view: View): number | undefined {
  const done = new Set(
    view.calls.filter(({ name }) => name === 'orchestrator_acknowledge').map(({ input }) => (input as { message: number }).message),
  )
  return [...view.heard.matchAll(/\bmessage (\d+) · /g)].map(([, number]) => Number(number)).find((number) => !done.has(number))
}
