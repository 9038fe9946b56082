import { expect, test } from 'vitest'
import type { ModelSettings } from '../../core/deployment/settings.ts'
import type { Message } from '../../core/prompt/conversation.ts'
import { modelServer } from './model-server.test-help.ts'
import { languageModel } from './provider.ts'
import { streamAnswer } from './stream.ts'
import { openWire, wireBody } from './wire.ts'

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
