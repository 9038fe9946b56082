import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import type { ModelSettings } from '../../core/deployment/settings.ts'
import type { Message } from '../../core/prompt/conversation.ts'
import type { OfferedTool } from '../../core/tool/as-offered.ts'
import { judgeFailure, type ModelFailure } from './failure.ts'
import { type Asked, call, chunk, events, finish, modelServer, usage } from './model-server.test-help.ts'
import { languageModel } from './provider.ts'
import { type ModelAnswer, streamAnswer } from './stream.ts'

const TOOLS: OfferedTool[] = [
  {
    name: 'read',
    description: 'Reads a file.',
    schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
  },
]
const MESSAGES: Message[] = [
  { role: 'user', text: 'What does a.js say?' },
  { role: 'assistant', text: '', calls: [{ id: 'call_1_1', name: 'read', input: { path: 'a.js' } }] },
  { role: 'tool', call: 'call_1_1', name: 'read', text: 'one' },
]
const NEVER = new AbortController().signal

const settings = (provider: ModelSettings['provider'], baseUrl: string): ModelSettings => ({
  provider,
  name: 'some-model',
  mainName: 'some-model',
  baseUrl,
  apiKey: 'a-key',
  contextTokens: 1000,
})
const askAt = (url: string, provider: ModelSettings['provider'] = 'openai-compatible', signal = NEVER): Promise<ModelAnswer> =>
  streamAnswer({
    model: languageModel(settings(provider, url), 'some-model'),
    system: 'You read.',
    messages: MESSAGES,
    tools: TOOLS,
    signal,
  })
async function answerTo(answer: (response: ServerResponse, asked: Asked) => void): Promise<ModelAnswer> {
  return askAt((await modelServer(answer)).url)
}
async function failureOf(answer: (response: ServerResponse) => void): Promise<ModelFailure> {
  return answerTo(answer).then(
    (said) => {
      throw new Error(`it answered ${JSON.stringify(said)}`)
    },
    (error: unknown) => judgeFailure(error, new Date()),
  )
}
/** Whole answers end with DONE. */
const done = (response: ServerResponse, ...values: object[]) => void events(response, [...values, '[DONE]']).end()

test('an answer in pieces is one text, with what it cost', async () => {
  const said = await answerTo((response) =>
    done(response, chunk({ role: 'assistant', content: 'It says ' }), chunk({ content: 'one.' }), finish('stop'), usage(120, 7, 100)),
  )
  expect(said).toEqual({
    text: 'It says one.',
    reasoning: '',
    calls: [],
    finishReason: 'stop',
    usage: { inputTokens: 120, cachedTokens: 100, outputTokens: 7 },
  })
})

test('reasoning is kept apart from the answer', async () => {
  const said = await answerTo((response) => done(response, chunk({ reasoning_content: 'hm' }), chunk({ content: 'Yes.' }), finish('stop')))
  expect(said).toMatchObject({ reasoning: 'hm', text: 'Yes.' })
})

test('a server that tells no usage costs an unknown amount, not nothing', async () => {
  const said = await answerTo((response) => done(response, chunk({ content: 'Yes.' }), finish('stop')))
  expect(said.usage).toMatchObject({ inputTokens: null, outputTokens: null })
})

test("calls come in the model's order, their arguments put together and parsed", async () => {
  const said = await answerTo((response) =>
    done(response, ...call(0, 'read', ['{"path"', ':"b.', 'js"}']), ...call(1, 'read', ['{"path":"c.js"}']), finish('tool_calls')),
  )
  expect(said).toMatchObject({
    finishReason: 'tool-calls',
    calls: [
      { name: 'read', input: { path: 'b.js' } },
      { name: 'read', input: { path: 'c.js' } },
    ],
  })
})

test.each([
  ['cut', ['{"path": "b.']],
  ['no JSON', ['path=b.js']],
])('arguments that are %s are handed on as they came: the model is told, the turn goes on', async (_, pieces) => {
  const said = await answerTo((response) => done(response, ...call(0, 'read', pieces), finish('tool_calls')))
  expect(said.calls).toEqual([{ name: 'read', unparsed: pieces.join('') }])
})

test('a tool that does not exist is a call like any other here; who reads the calls refuses it', async () => {
  const said = await answerTo((response) => done(response, ...call(0, 'rm_rf', ['{"a":1}']), finish('tool_calls')))
  expect(said.calls).toEqual([{ name: 'rm_rf', input: { a: 1 } }])
})

test('arguments that do not fit the schema are handed on whole', async () => {
  const said = await answerTo((response) => done(response, ...call(0, 'read', ['{"file": 3}']), finish('tool_calls')))
  expect(said.calls).toEqual([{ name: 'read', input: { file: 3 } }])
})

test('an answer that was cut at its length limit is an answer', async () => {
  const said = await answerTo((response) => done(response, chunk({ content: 'It says o' }), finish('length')))
  expect(said).toMatchObject({ text: 'It says o', finishReason: 'length' })
})

test.each<[string, (response: ServerResponse) => void]>([
  ['ended without a finish reason', (response) => void events(response, [chunk({ content: 'It sa' })]).end()],
  ['whose connection broke', (response) => void events(response, [chunk({ content: 'It sa' })]).socket!.destroySoon()],
  ['whose connection was reset before a word', (response) => void events(response, []).socket!.resetAndDestroy()],
  ['that says nothing for want of length', (response) => done(response, finish('length'))],
  ['that is no event at all', (response) => void events(response, []).end()],
  [
    'with an error in the middle',
    (response) => done(response, chunk({ content: 'It sa' }), { error: { message: 'The server had an error', type: 'server_error' } }),
  ],
  ['of 503', (response) => void response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"busy"}}')],
  [
    'of a proxy that speaks HTML',
    (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>'),
  ],
])('[O2] an answer %s is asked for again', async (_, answer) => {
  expect(await failureOf(answer)).toMatchObject({ kind: 'outage' })
})

test('an empty answer that stopped by itself ends the turn', async () => {
  expect(await answerTo((response) => done(response, finish('stop')))).toMatchObject({ text: '', calls: [], finishReason: 'stop' })
})

test.each(['deepseek', 'anthropic', 'openai'] as const)('[O2] an empty answer of %s is asked for again', async (provider) => {
  const { url } = await modelServer((response) => void events(response, []).end())
  const error = await askAt(url, provider).catch((reason: unknown) => reason)
  expect(judgeFailure(error, new Date())).toMatchObject({ kind: 'outage' })
})

test('[O2] an answer that only refuses the content blocks', async () => {
  expect(await failureOf((response) => done(response, chunk({ content: '' }), finish('content_filter')))).toMatchObject({ kind: 'blocked' })
})

test('[O2] nobody listens there: an outage', async () => {
  const error = await askAt('http://127.0.0.1:9').catch((reason: unknown) => reason)
  expect(judgeFailure(error, new Date())).toMatchObject({ kind: 'outage' })
})

test('a failed request is tried once: retries belong to who called', async () => {
  const { url, asked } = await modelServer((response) => void response.writeHead(500).end())
  await expect(askAt(url)).rejects.toThrow()
  expect(asked).toHaveLength(1)
})

test('[I2] what cuts the request off ends it in the middle of its stream', async () => {
  const cut = new AbortController()
  const gone = Promise.withResolvers<void>()
  const { url } = await modelServer((response) => {
    events(response, [chunk({ content: 'It sa' })]).on('close', gone.resolve)
    cut.abort(new Error('a pause came'))
  })
  await expect(askAt(url, 'openai-compatible', cut.signal)).rejects.toThrow('a pause came')
  await gone.promise
})

test('what is sent is the system prompt, the conversation in order, the tools and the key', async () => {
  const { url, asked } = await modelServer((response) => done(response, chunk({ content: 'one' }), finish('stop')))
  await askAt(url)
  expect(asked[0]).toMatchObject({
    path: '/chat/completions',
    headers: { authorization: 'Bearer a-key' },
    body: {
      model: 'some-model',
      stream: true,
      messages: [
        { role: 'system', content: 'You read.' },
        { role: 'user', content: 'What does a.js say?' },
        { role: 'assistant', tool_calls: [{ id: 'call_1_1', function: { name: 'read', arguments: '{"path":"a.js"}' } }] },
        { role: 'tool', tool_call_id: 'call_1_1', content: 'one' },
      ],
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: TOOLS[0]!.schema } }],
    },
  })
})

test('the same request is the same bytes', async () => {
  const { url, asked } = await modelServer((response) => done(response, chunk({ content: 'one' }), finish('stop')))
  await askAt(url)
  await askAt(url)
  expect(JSON.stringify(asked[1]!.body)).toBe(JSON.stringify(asked[0]!.body))
})

test('deepseek is asked at its address, and its reasoning and calls are read', async () => {
  const { url, asked } = await modelServer((response) =>
    done(response, chunk({ reasoning_content: 'hm' }), ...call(0, 'read', ['{"path":"b.js"}']), finish('tool_calls'), {
      ...usage(10, 2, 0),
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 },
    }),
  )
  expect(await askAt(url, 'deepseek')).toMatchObject({
    reasoning: 'hm',
    calls: [{ name: 'read', input: { path: 'b.js' } }],
    usage: { inputTokens: 10, cachedTokens: 4, outputTokens: 2 },
  })
  expect(asked[0]).toMatchObject({
    path: '/chat/completions',
    headers: { authorization: 'Bearer a-key' },
    body: { model: 'some-model', stream: true },
  })
})

test('anthropic is asked at its address, with its key header, and its text and calls are read', async () => {
  const { url, asked } = await modelServer(
    (response) =>
      void events(response, [
        [
          'message_start',
          {
            type: 'message_start',
            message: {
              id: 'm1',
              type: 'message',
              role: 'assistant',
              model: 'm',
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 4, cache_creation_input_tokens: 0 },
            },
          },
        ],
        ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
        ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I look.' } }],
        ['content_block_stop', { type: 'content_block_stop', index: 0 }],
        [
          'content_block_start',
          { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} } },
        ],
        ['content_block_delta', { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"path":' } }],
        ['content_block_delta', { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"b.js"}' } }],
        ['content_block_stop', { type: 'content_block_stop', index: 1 }],
        ['message_delta', { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } }],
        ['message_stop', { type: 'message_stop' }],
      ]).end(),
  )
  expect(await askAt(url, 'anthropic')).toMatchObject({
    text: 'I look.',
    calls: [{ name: 'read', input: { path: 'b.js' } }],
    finishReason: 'tool-calls',
    usage: { inputTokens: 14, cachedTokens: 4, outputTokens: 9 },
  })
  expect(asked[0]).toMatchObject({
    path: '/messages',
    headers: { 'x-api-key': 'a-key', 'anthropic-version': expect.any(String) },
    body: {
      model: 'some-model',
      stream: true,
      system: [{ type: 'text', text: 'You read.' }],
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
    },
  })
  expect(asked[0]!.body.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user'])
})

test('[O2] anthropic that is overloaded in the middle of an answer is asked again', async () => {
  const { url } = await modelServer(
    (response) =>
      void events(response, [
        [
          'message_start',
          {
            type: 'message_start',
            message: {
              id: 'm1',
              type: 'message',
              role: 'assistant',
              model: 'm',
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: { input_tokens: 10, output_tokens: 1 },
            },
          },
        ],
        ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
        ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I lo' } }],
        ['error', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
      ]).end(),
  )
  const error = await askAt(url, 'anthropic').catch((reason: unknown) => reason)
  expect(judgeFailure(error, new Date())).toMatchObject({ kind: 'outage', message: expect.stringContaining('Overloaded') })
})

test('openai is asked over its Responses API at its address, and its text and calls are read', async () => {
  const item = { id: 'fc_1', type: 'function_call', call_id: 'call_9', name: 'read' }
  const whole = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', incomplete_details: null, output: [] }
  const { url, asked } = await modelServer(
    (response) =>
      void events(response, [
        { type: 'response.created', sequence_number: 0, response: { ...whole, status: 'in_progress' } },
        {
          type: 'response.output_item.added',
          sequence_number: 1,
          output_index: 0,
          item: { ...item, arguments: '', status: 'in_progress' },
        },
        { type: 'response.function_call_arguments.delta', sequence_number: 2, item_id: 'fc_1', output_index: 0, delta: '{"path":"b.js"}' },
        {
          type: 'response.output_item.done',
          sequence_number: 3,
          output_index: 0,
          item: { ...item, arguments: '{"path":"b.js"}', status: 'completed' },
        },
        {
          type: 'response.completed',
          sequence_number: 4,
          response: {
            ...whole,
            usage: {
              input_tokens: 10,
              input_tokens_details: { cached_tokens: 4 },
              output_tokens: 2,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: 12,
            },
          },
        },
      ]).end(),
  )
  expect(await askAt(url, 'openai')).toMatchObject({
    calls: [{ name: 'read', input: { path: 'b.js' } }],
    finishReason: 'tool-calls',
    usage: { inputTokens: 10, cachedTokens: 4, outputTokens: 2 },
  })
  expect(asked[0]).toMatchObject({
    path: '/responses',
    headers: { authorization: 'Bearer a-key' },
    body: { model: 'some-model', stream: true },
  })
  expect(asked[0]!.body.input.map(({ role, type }: { role?: string; type?: string }) => role ?? type)).toEqual([
    'system',
    'user',
    'function_call',
    'function_call_output',
  ])
})
