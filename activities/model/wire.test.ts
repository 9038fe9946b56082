import { expect, test } from 'vitest'
import type { ModelSettings } from '../../core/deployment/settings.ts'
import type { Message } from '../../core/prompt/conversation.ts'
import { judgeFailure } from './failure.ts'
import { call, chunk, events, finish, modelServer, usage } from './model-server.test-help.ts'
import { languageModel } from './provider.ts'
import { streamAnswer } from './stream.ts'
import { openWire, playing, wireBody } from './wire.ts'

const request = {
  system: 'You read.\n\n“Ünïcode”',
  messages: [
    { role: 'user', text: 'What does a.js say? \ud83d\ude00' },
    { role: 'assistant', text: '', reasoning: 'hm', calls: [{ id: 'call_1_1', name: 'read', input: { path: 'a.js', lines: [1, 2.5] } }] },
    { role: 'tool', call: 'call_1_1', name: 'read', text: 'one\0two' },
  ] as Message[],
  tools: [{ name: 'read', description: 'Reads a file.', schema: { type: 'object', properties: { path: { type: 'string' } } } }],
}
const PROVIDERS: ModelSettings['provider'][] = ['openai-compatible', 'deepseek', 'anthropic', 'openai']

test.each(PROVIDERS)('[C8] the body of a request is made again, byte for byte, as it went out to %s', async (provider) => {
  const { url, texts } = await modelServer((response) => void response.writeHead(503).end())
  const wire = openWire()
  const model = languageModel({ provider, baseUrl: url, apiKey: 'a-key' }, 'some-model', wire.fetch)
  await expect(streamAnswer({ model, ...request, signal: new AbortController().signal })).rejects.toThrow()
  expect(texts).toHaveLength(1)
  expect(wire.sent()).toBe(texts[0])
  const body = await wireBody({ provider, model: 'some-model', ...request })
  expect(body).toBe(texts[0])
  expect(body).not.toContain('a-key')
})

test('[M8] no key, no network: nothing is sent when a body is made again', async () => {
  const real = globalThis.fetch
  globalThis.fetch = () => Promise.reject(new Error('somebody asked the network'))
  try {
    for (const provider of PROVIDERS) expect(JSON.parse(await wireBody({ provider, model: 'm', ...request }))).toMatchObject({ model: 'm' })
  } finally {
    globalThis.fetch = real
  }
})

test('nothing went out before the request was made', () => expect(openWire().sent()).toBeNull())

const STREAM = [
  chunk({ content: 'It says ' }),
  chunk({ content: 'öne.' }),
  ...call(0, 'read', ['{"path":', '"b.js"}']),
  finish('tool_calls'),
  usage(10, 2, 4),
]

test.each(['openai-compatible', 'deepseek'] as const)(
  '[D9] an answer of %s that was kept as it came plays again as the same answer',
  async (provider) => {
    const { url } = await modelServer((response) => void events(response, [...STREAM, '[DONE]']).end())
    const wire = openWire({ keepsAnswer: true })
    const settings = { provider, baseUrl: url, apiKey: 'a-key' }
    const { signal } = new AbortController()
    const first = await streamAnswer({ model: languageModel(settings, 'm', wire.fetch), ...request, signal })
    expect(first).toMatchObject({ text: 'It says öne.', calls: [{ name: 'read', input: { path: 'b.js' } }] })
    const kept = wire.received()!
    expect(kept).toMatchObject({ status: 200, contentType: 'text/event-stream' })
    expect(kept.body).toBe([...STREAM.map((value) => JSON.stringify(value)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''))
    const nowhere = { provider, baseUrl: 'http://nowhere.invalid/v1', apiKey: 'none' }
    const other = { ...request, system: 'Other words.', messages: request.messages.slice(0, 1), tools: [], signal }
    expect(await streamAnswer({ model: languageModel(nowhere, 'm', playing(kept)), ...other })).toEqual(first)
  },
)

test('[D9] [O2] what came of an answer that broke off is kept, and the failure is what it was', async () => {
  const { url } = await modelServer((response) => void events(response, [chunk({ content: 'It sa' })]).socket!.destroySoon())
  const wire = openWire({ keepsAnswer: true })
  const model = languageModel({ provider: 'openai-compatible', baseUrl: url, apiKey: null }, 'm', wire.fetch)
  const error = await streamAnswer({ model, ...request, signal: new AbortController().signal }).catch((reason: unknown) => reason)
  expect(judgeFailure(error, new Date())).toMatchObject({ kind: 'outage' })
  expect(wire.received()!.body).toContain('It sa')
})

test('[D9] a refusal is kept with its status', async () => {
  const { url } = await modelServer(
    (response) => void response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"busy"}}'),
  )
  const wire = openWire({ keepsAnswer: true })
  const model = languageModel({ provider: 'openai-compatible', baseUrl: url, apiKey: null }, 'm', wire.fetch)
  const error = await streamAnswer({ model, ...request, signal: new AbortController().signal }).catch((reason: unknown) => reason)
  expect(judgeFailure(error, new Date())).toMatchObject({ kind: 'outage', message: expect.stringContaining('busy') })
  expect(wire.received()).toEqual({ status: 503, contentType: 'application/json', body: '{"error":{"message":"busy"}}' })
})

test('nothing is kept of an answer unless it is asked for', async () => {
  const { url } = await modelServer((response) => void events(response, [...STREAM, '[DONE]']).end())
  const wire = openWire()
  await streamAnswer({
    model: languageModel({ provider: 'deepseek', baseUrl: url, apiKey: 'k' }, 'm', wire.fetch),
    ...request,
    signal: new AbortController().signal,
  })
  expect(wire.received()).toBeNull()
})
