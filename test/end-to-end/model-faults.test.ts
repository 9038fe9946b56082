/** A model that is away, that calls what is not there, that never learns, and that is too small. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { status } from '../../workflows/protocol.ts'
import { listed, runsOf, wordsOf } from './histories.ts'
import { eventually, finished, type House, idle, openHouse } from './house.ts'
import { onlyAcknowledges, rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 120_000 })

const repository = world.repository.fullName

test('[O2] [D7] [M7] an overload is waited out; an unknown tool and wrong arguments are results that say so, and the turn goes on', async () => {
  const scenario = rescript(fixFailingTest, {
    first: [
      {
        name: 'calls what is not there',
        when: { lacks: ['[call fly_to_the_moon]'] },
        answer: {
          calls: [
            { name: 'fly_to_the_moon', input: {} },
            { name: 'glob', input: { pattern: 5 } },
            { name: 'grep', input: 'pageCount' },
          ],
        },
      },
    ],
  })
  const house = await openHouse({ world, scenario, inFrontOfModel: overloaded(2) })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])

  const { db } = house.ledger
  const failed = await db.selectFrom('request').select(['session', 'step', 'error']).where('outcome', '=', 'failed').execute()
  expect(failed).toEqual([1, 2].map(() => ({ session: 'main-1', step: 1, error: expect.stringContaining('503') })))
  const results = await db
    .selectFrom('sessionLog')
    .select('body')
    .where('session', '=', 't1-1')
    .where('step', '=', 1)
    .where('kind', '=', 'result')
    .orderBy('call')
    .execute()
  expect(results.map(({ body }) => JSON.parse(body!).text)).toEqual([
    expect.stringContaining('fly_to_the_moon'),
    expect.stringMatching(/glob.*pattern/s),
    expect.stringContaining('grep: the arguments are no JSON'),
  ])
  expect(wordsOf((await runsOf(house, 'ticket-1'))[0]!)).not.toContain('fly_to_the_moon')
})

test('[D7] [O1] the same invalid call three times, whatever stands beside it, ends the turn with an alarm, and the next message can succeed', async () => {
  const scenario = rescript(fixFailingTest, {
    first: [
      {
        name: 'never learns',
        when: (view) => !view.heard.includes('once more'),
        answer: ({ step }) => ({
          calls: [
            { name: 'glob', input: { pattern: `*${step}` } },
            { name: 'fly_to_the_moon', input: {} },
          ],
        }),
      },
    ],
  })
  const house = await openHouse({ world, scenario })
  const issue = await house.openIssue()
  const alarm = await openAlarm(house, 'error')
  expect(alarm).toMatchObject({ subject: 'ticket-1', body: expect.stringContaining('the same invalid call three times') })
  expect(house.model.requests().filter(({ line }) => line?.includes('never learns'))).toHaveLength(3)
  await eventually(
    'the Ticket is seen to be blocked',
    async () => (await listed(house.client, 'SyTicket = "T-1" and SyState = "blocked"')).length === 1,
  )
  expect((await house.client.workflow.getHandle('ticket-1').query(status)).at).toEqual({ session: 't1-1', step: 3 })

  await house.operate('comment', { repository, number: issue, as: 'mara', body: 'Try it once more, please.' })
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

test('[O1] a conversation that does not fit is asked of no model; with room for it, a retry goes on', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest), environment: { MODEL_CONTEXT_TOKENS: '100' } })
  await house.openIssue()
  expect(await openAlarm(house, 'context')).toMatchObject({ subject: 'main', body: expect.stringContaining('MODEL_CONTEXT_TOKENS') })
  await eventually(
    'main is seen to be blocked',
    async () => (await listed(house.client, 'SyRole = "main" and SyState = "blocked"')).length === 1,
  )
  expect(house.model.requests()).toEqual([])

  await house.restart({ MODEL_CONTEXT_TOKENS: '100000' })
  await house.command('retry', 'main')
  await eventually('the Ticket starts', () =>
    house.ledger.db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await idle(house)
  expect(await house.ledger.db.selectFrom('alarm').select('id').where('endedAt', 'is', null).execute()).toEqual([])
})

test('[F331] [D8] an answer of nothing, and a kill while the model speaks, leave a Session that a strict provider takes and that goes on', async () => {
  const goesOn = 'Please go on.'
  const scenario = rescript(fixFailingTest, {
    first: [
      {
        name: 'says nothing',
        when: (view) => view.result('orchestrator_acknowledge') !== null && !view.heard.includes(goesOn),
        answer: { text: '' },
        delayMs: 3_000,
      },
      {
        name: 'says spaces with its next call',
        when: (view) => view.lastUser.includes(goesOn) && view.last.startsWith('[user]'),
        answer: { text: ' \n', calls: [{ name: 'glob', input: { pattern: '*' } }] },
      },
    ],
  })
  const house = await openHouse({ world, scenario, inFrontOfModel: strict, child: true })
  const { db } = house.ledger
  const issue = await house.openIssue()
  const speaking = () => house.model.requests().filter(({ line }) => line?.includes('says nothing')).length
  await eventually('the model speaks', async () => speaking() === 1)
  await house.killAndRestart()
  await eventually('the model has said nothing', () =>
    db.selectFrom('step').select('step').where('session', '=', 't1-1').where('outcome', '=', 'end').executeTakeFirst(),
  )
  expect(speaking()).toBe(2)
  await house.operate('comment', { repository, number: issue, as: 'mara', body: goesOn })
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.model.requests().some(({ line }) => line?.includes('says spaces'))).toBe(true)
  expect(await db.selectFrom('request').select('error').where('outcome', '=', 'failed').execute()).toEqual([])
})

/** As providers do that take no empty words in a conversation. */
const strict = (model: string) =>
  inFront(model, ({ messages }) => {
    const isEmpty = ({ role, content, tool_calls }: { role: string; content?: unknown; tool_calls?: unknown[] }) =>
      role === 'assistant' && (typeof content === 'string' && content !== '' ? content.trim() === '' : !tool_calls?.length)
    return messages.some(isEmpty) ? { status: 400, message: 'an assistant message must not be empty' } : null
  })

function openAlarm({ ledger }: House, kind: string) {
  return eventually(`an alarm of kind ${kind}`, () =>
    ledger.db.selectFrom('alarm').select(['subject', 'body']).where('kind', '=', kind).where('endedAt', 'is', null).executeTakeFirst(),
  )
}

/** Answers so many requests with 503, then passes them on. */
const overloaded = (times: number) => (model: string) => {
  let left = times
  return inFront(model, () => (left-- > 0 ? { status: 503, message: 'overloaded' } : null))
}

type Refuse = (body: {
  messages: { role: string; content?: unknown; tool_calls?: unknown[] }[]
}) => { status: number; message: string } | null

/** Passes on what is not refused. */
async function inFront(model: string, refuse: Refuse) {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const refused = refuse(JSON.parse(body.toString()))
    if (refused) {
      const error = { error: { message: refused.message } }
      response.writeHead(refused.status, { 'content-type': 'application/json' }).end(JSON.stringify(error))
      return
    }
    const answer = await fetch(new URL(request.url!, model), { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! }).end(Buffer.from(await answer.arrayBuffer()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => new Promise((closed) => server.close(closed).closeAllConnections()),
  }
}
