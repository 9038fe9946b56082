import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { wireBody } from '../activities/model/wire.ts'
import { answered, look, openLedger, started, type TestLedger } from '../ledger/fixture.ts'
import { closeRequest, openRequest } from '../ledger/requests.ts'
import { commitStep } from '../ledger/steps.ts'
import { shaOf } from '../ledger/texts.ts'
import { testFolder } from '../test/services.ts'
import { switchyard } from './process.test-help.ts'

let ledger: TestLedger
let env: Record<string, string>
let session: string
let failed: number
let answeredOne: number
let body: string

const system = 'You are an agent.\u001b[2J\n\n\tIndented.'
const tools = [{ name: 'read', description: 'Reads a file.', schema: { type: 'object' } }]

beforeAll(async () => {
  ledger = await openLedger()
  env = { DATABASE_URL: ledger.appUrl, SWITCHYARD_HOME: testFolder('cli-request-') }
  const { ticket, session: opened } = await started(ledger.db, 1)
  session = opened
  const ask = async () => {
    const at = { session, step: 1 }
    const view = await look(ledger.db, at)
    const inputs = view.unread.map(({ id }) => ({ inbox: id, text: 'Fix it.' }))
    const request = await openRequest(
      ledger.db,
      at,
      view.scope,
      {
        revision: 1,
        policyVersion: 1,
        sections: [{ name: 'identity', text: system, sha: shaOf(system).toString('hex'), bytes: Buffer.byteLength(system) }],
        tools: JSON.stringify(tools),
        logSeq: view.logSeq,
        inputs,
        facts: { github: true, cwd: null, environment: [] },
        provider: 'openai-compatible',
        model: 'some-model',
      },
      new Set(),
    )
    if (request === 'moved') throw new Error('somebody saved meanwhile')
    return { request: request.id, inputs }
  }
  const messages = [{ role: 'user' as const, text: 'Fix it.' }]
  body = await wireBody({ provider: 'openai-compatible', model: 'some-model', system, messages, tools })
  failed = (await ask()).request
  await closeRequest(ledger.db, failed, { outcome: 'failed', error: '503: busy', wireSha: shaOf(body) })
  const second = await ask()
  answeredOne = second.request
  const usage = { inputTokens: 12_000, cachedTokens: 10_500, outputTokens: 7 }
  await commitStep(ledger.db, { session, step: 1 }, `ticket-${ticket}`, {
    ...answered(second.request, second.inputs),
    usage,
    wireSha: shaOf('other bytes'),
  })
})
afterAll(() => ledger.drop())

test('[C8] a request shows its facts, the prompt, the tools and the messages, also when it failed', async () => {
  const { code, out } = await switchyard(['request', `${failed}`], env)
  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`^request ${failed}\\n`))
  expect(out).toContain(`session   ${session}, step 1, attempt 1`)
  expect(out).toContain('model     some-model (openai-compatible)')
  expect(out).toContain('revision  1, Policy version 1')
  expect(out).toContain('outcome   failed: 503: busy')
  expect(out).toContain('tokens    the provider reported none')
  expect(out).toContain('\n── system prompt · 33 bytes · identity\nYou are an agent.\\u{1b}[2J\n\n\tIndented.\n')
  expect(out).toContain('\n── tools · 1\nread: Reads a file.\n{"type":"object"}\n')
  expect(out).toMatch(/\n── message 1 · user\nFix it\.\n$/)
})

test('[C8] in JSON everything is exact, with what the cache gave and what was kept', async () => {
  const document = JSON.parse((await switchyard(['request', `${answeredOne}`, '--json'], env)).out)
  expect(document).toMatchObject({
    request: answeredOne,
    session,
    attempt: 2,
    system,
    tools,
    messages: [{ role: 'user', text: 'Fix it.' }],
    tokens: { input: 12_000, cacheHit: 10_500, cacheMiss: 1_500, output: 7 },
    kept: { differs: null },
  })
})

test('[C8] --wire prints the body that went out and nothing else', async () => {
  const { code, out, err } = await switchyard(['request', `${failed}`, '--wire'], env)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe(body)
  expect(hash('sha256', out, 'hex')).toBe(shaOf(body).toString('hex'))
})

test('[C8] a body that is not the one that went out is said to be another', async () => {
  const { code, out, err } = await switchyard(['request', `${answeredOne}`, '--wire'], env)
  expect(out).toBe(body)
  expect(err).toMatch(/^switchyard: this version writes .* as other bytes than the one that sent them \(sha256 [0-9a-f]{64}\)\n$/)
  expect(code).toBe(1)
})

test("[C8] a Session's requests are one table, and one JSON document", async () => {
  const { code, out } = await switchyard(['requests', 'T-1'], env)
  expect(code).toBe(0)
  expect(out).toMatch(/^ +request +step +revision +Policy +tokens in +cached +out +kept +first difference +outcome$/m)
  expect(out).toMatch(new RegExp(`^ +${failed} +1 +1 +1 +– +– +– +– +– +failed: 503: busy$`, 'm'))
  expect(out).toMatch(new RegExp(`^ +${answeredOne} +1, attempt 2 +1 +1 +12,000 +10,500 +7 +100 % +– +answered \\(stop\\)$`, 'm'))
  expect(out).toMatch(new RegExp(`What one of them sent: switchyard request ${answeredOne}\\n$`))
  const document = JSON.parse((await switchyard(['requests', session, '--json'], env)).out)
  expect(document).toMatchObject({ session, requests: [{ request: failed, tools: 1, messages: 1 }, { request: answeredOne }] })
  expect((await switchyard(['requests', 'main'], env)).out).toBe('main-1 has asked its model nothing yet.\n')
})

test.each([
  [['request', 'twelve'], 2, /"twelve" is no request: give its number, such as 12\. .*switchyard requests t7-1/],
  [['request', '0'], 2, /"0" is no request/],
  [['request', '1', '--json', '--wire'], 2, /give one of them/],
  [['request', '999999'], 1, /there is no request 999999\. A Session's requests: switchyard requests <session>/],
  [['requests', 't1-9'], 1, /there is no Session t1-9\. Those there are: t1-1/],
  [['requests', 'nonsense'], 1, /"nonsense" names no Session/],
])('what cannot be shown is said, with what can: %j', async (args, code, expected) => {
  const ended = await switchyard(args, env)
  expect(ended).toMatchObject({ code, out: '' })
  expect(ended.err).toMatch(expected)
})
