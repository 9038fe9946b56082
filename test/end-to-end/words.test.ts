/** What people get to read of a model that repeats itself: each thing once (spec H3). */
import { expect, test, vi } from 'vitest'
import type { View } from '../../rehearsal/model/view.ts'
import { messageIn } from '../../rehearsal/scenarios/conversation.ts'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { eventually, finished, openHouse } from './house.ts'
import { rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 120_000 })

const RESULT = 'The last page is counted again and the pull request is ready for review.'
const NEARLY = [
  RESULT,
  'The last page is counted again; the pull request is ready for review.',
  'The pull request is ready for review: the last page is counted.',
]

/** Says its result three times at once, once more as a notice and as a receipt, and ends its turn with it. */
const repetitive = rescript(fixFailingTest, {
  lines: {
    'tells the result': {
      answer: (view) => ({
        calls: NEARLY.map((text) => ({ name: 'reply', input: { message: messageIn(view), purpose: 'result', text } })),
      }),
    },
    // in which time the fact arrives
    'opens a pull request with evidence': { delayMs: 4_000 },
    'ends its turn': { answer: { text: RESULT } },
  },
  first: [
    {
      name: 'tells the result again in other words and under other names',
      when: { contains: ['[result reply]'], lacks: ['"purpose":"notice"'] },
      answer: (view) => ({
        calls: [
          { name: 'reply', input: { message: messageIn(view), purpose: 'notice', text: RESULT } },
          { name: 'reply', input: { message: messageIn(view), purpose: 'result', text: RESULT } },
          { name: 'reply', input: { message: factIn(view), purpose: 'result', text: RESULT } },
          { name: 'orchestrator_acknowledge', input: { message: messageIn(view), text: RESULT } },
        ],
      }),
    },
  ],
})

/** The pull request's own news, of which the Ticket only hears. */
const factIn = (view: View) => Number(view.need(/\bfact (\d+) · /))

test('[F122] [F125] [F126] a result is posted once: nearly equal ones, the same as a notice or receipt, and the text that ends the turn reach nobody', async () => {
  const house = await openHouse({ world, scenario: repetitive })
  const issue = await house.openIssue()
  await eventually('the request is acknowledged', () =>
    house.ledger.db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await house.operate('editIssue', { repository: world.repository.fullName, number: issue, as: 'mara', labels: ['bug'] })
  await finished(house)

  const { agent, issue: thread } = await house.end(issue)
  const said = thread.comments.filter(({ author }) => author === agent).map(({ body }) => body)
  expect(said).toHaveLength(2)
  expect(said[0]).toContain('`pageCount`')
  expect(said[1]).toContain(RESULT)

  const { db } = house.ledger
  const replies = await db
    .selectFrom('toolCall')
    .innerJoin('sessionLog', (join) =>
      join
        .onRef('sessionLog.session', '=', 'toolCall.session')
        .onRef('sessionLog.step', '=', 'toolCall.step')
        .onRef('sessionLog.call', '=', 'toolCall.call'),
    )
    .select(['toolCall.tool', 'toolCall.outcome', 'sessionLog.body'])
    .where('toolCall.tool', 'in', ['reply', 'orchestrator_acknowledge'])
    .orderBy('toolCall.step')
    .orderBy('toolCall.position')
    .execute()
  const [receipt, result, ...repeated] = replies.map(({ tool, outcome, body }) => ({
    tool,
    outcome,
    text: JSON.parse(body!).text as string,
  }))
  expect([receipt, result].map((each) => each!.outcome)).toEqual(['done', 'done'])
  const url = /posted: (\S+)$/.exec(result!.text)![1]!
  expect(repeated.map(({ outcome }) => outcome)).toEqual(repeated.map(() => 'refused'))
  const [second, third, asNotice, asResult, underFact, asReceipt] = repeated.map(({ text }) => text)
  for (const text of [second, third, asResult]) expect(text).toContain(`has said this already: ${url}`)
  expect(asNotice).toMatch(/purpose.*"result".*"cannot_complete"/s)
  expect(underFact).toMatch(/has not claimed message \d+, so no result was asked for there/)
  expect(asReceipt).toContain('has said this already')
  expect(repeated).toHaveLength(6)

  const last = await db
    .selectFrom('sessionLog')
    .select('body')
    .where('session', '=', 't1-1')
    .where('kind', '=', 'answer')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  expect(last.body).toContain(RESULT)
  expect(await db.selectFrom('outbox').select('key').where('kind', '=', 'comment').execute()).toHaveLength(2)
})
