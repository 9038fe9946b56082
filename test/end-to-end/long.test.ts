/** A long conversation, and messages that arrive while a workflow rolls over: what Temporal keeps stays small, and nothing is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { wake } from '../../workflows/protocol.ts'
import { runsOf, summaryOf, wordsOf } from './histories.ts'
import { eventually, idle, openHouse } from './house.ts'
import { onlyAcknowledges, rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 180_000 })

const repository = world.repository.fullName
const STEPS = 50
const WORD = 'conversation'

test('[F333] [M7] a conversation of 200,000 tokens over fifty model steps: each step costs the same few events, and no word of it is among them', async () => {
  const told = { name: 'shell', input: { command: `for n in $(seq 1500); do echo "${WORD} $n"; done` } }
  const scenario = rescript(onlyAcknowledges(fixFailingTest), {
    lines: {
      'ends its turn': {
        answer: (view) => (view.calls.filter(({ name }) => name === 'shell').length < STEPS ? { calls: [told] } : { text: 'Enough.' }),
      },
    },
  })
  const house = await openHouse({
    world,
    scenario,
    environment: { MODEL_CONTEXT_TOKENS: '1000000', SWITCHYARD_TICKET_BUDGET_TOKENS: '1000000000' },
  })
  const { db } = house.ledger
  await house.openIssue()
  await eventually(
    'the Ticket has had enough',
    () => db.selectFrom('step').select('step').where('session', '=', 't1-1').where('outcome', '=', 'end').executeTakeFirst(),
    150_000,
  )
  const { most } = await db
    .selectFrom('request')
    .select((of) => of.fn.max('inputTokens').as('most'))
    .where('session', '=', 't1-1')
    .executeTakeFirstOrThrow()
  expect(most).toBeGreaterThan(200_000)

  const [events, ...more] = await runsOf(house, 'ticket-1')
  expect(more).toEqual([])
  const starts = events!.flatMap((event, index) => (summaryOf(event).startsWith('model step') ? [index] : []))
  const steps = starts.slice(1, -1).map((start, nth) => events!.slice(start, starts[nth + 2]))
  expect(steps.length).toBeGreaterThanOrEqual(STEPS - 1)
  const counts = steps.map((each) => each.length)
  const bytes = steps.map((each) => JSON.stringify(each).length)
  const mean = (sizes: number[]) => sizes.reduce((sum, size) => sum + size) / sizes.length
  expect(Math.max(...counts)).toBeLessThanOrEqual(12)
  expect(mean(counts.slice(-10))).toBeLessThanOrEqual(mean(counts.slice(0, 10)) + 1)
  expect(mean(bytes.slice(-10))).toBeLessThan(mean(bytes.slice(0, 10)) * 1.1)
  expect(wordsOf(events!)).not.toContain(WORD)
})

test('[F336] [M4] [M2] messages that keep arriving while the workflow continues as new again and again are each told to the model once', async () => {
  const scenario = onlyAcknowledges(fixFailingTest)
  const house = await openHouse({ world, scenario, rollAfter: 60 })
  const { db } = house.ledger
  const issue = await house.openIssue()
  await eventually('the Ticket acknowledges', () =>
    db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  const COUNT = 60
  for (let nth = 1; nth <= COUNT; nth++) {
    await house.operate('comment', { repository, number: issue, as: 'mara', body: `word number ${nth} of mara` })
    // wakes of no message fall into the moments between two runs as well
    await house.client.workflow.getHandle('ticket-1').signal(wake)
    await sleep(50 + ((nth * 37) % 200))
  }
  await idle(house)

  expect((await runsOf(house, 'ticket-1')).length).toBeGreaterThan(3)
  const rows = await db
    .selectFrom('inbox')
    .innerJoin('trigger', 'trigger.id', 'inbox.trigger')
    .innerJoin('claim', 'claim.trigger', 'trigger.id')
    .select(['trigger.body', 'inbox.session', 'inbox.dropped', 'claim.state'])
    .where('inbox.address', '=', 'ticket-1')
    .where('inbox.kind', '=', 'message')
    .orderBy('inbox.id')
    .execute()
  expect(rows).toEqual(
    Array.from({ length: COUNT }, (_, nth) => ({
      body: `word number ${nth + 1} of mara`,
      session: 't1-1',
      dropped: null,
      state: 'claimed',
    })),
  )
  const last = house.model.requests().findLast(({ role }) => role === 'executor')!
  const heard = JSON.stringify(last.body.messages)
  for (let nth = 1; nth <= COUNT; nth++) expect(heard.split(`word number ${nth} of mara`)).toHaveLength(2)
  expect(await db.selectFrom('outbox').select('id').where('kind', '=', 'comment').execute()).toHaveLength(1)
})
