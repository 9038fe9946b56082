import { APICallError, LoadAPIKeyError, NoSuchModelError } from 'ai'
import { expect, test } from 'vitest'
import { BrokenAnswer, judgeFailure, kindAndStatus, RefusedContent } from './failure.ts'

const now = new Date('2026-11-30T12:00:00Z')
interface Answered {
  statusCode?: number
  message?: string
  responseBody?: string
  responseHeaders?: Record<string, string>
}
const answered = (given: Answered) =>
  new APICallError({ message: 'the request failed', url: 'https://model.example/v1', requestBodyValues: { secret: 'words' }, ...given })
const body = (error: object) => JSON.stringify({ error })

test.each<[string, Answered, number | null]>([
  ['429 in seconds', { statusCode: 429, responseHeaders: { 'retry-after': '20' } }, 20_000],
  ['429 in parts of a second', { statusCode: 429, responseHeaders: { 'Retry-After': '1.5' } }, 1_500],
  ['429 until a date', { statusCode: 429, responseHeaders: { 'retry-after': 'Mon, 30 Nov 2026 12:01:30 GMT' } }, 90_000],
  ['429 until a date that is over', { statusCode: 429, responseHeaders: { 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' } }, 0],
  ['429 for an hour: at most five minutes', { statusCode: 429, responseHeaders: { 'retry-after': '3600' } }, 300_000],
  ['429 without a time', { statusCode: 429 }, null],
  ['429 with a time that is none', { statusCode: 429, responseHeaders: { 'retry-after': 'soon' } }, null],
  ['503 in seconds', { statusCode: 503, responseHeaders: { 'retry-after': '2' } }, 2_000],
  ['500', { statusCode: 500 }, null],
  ['502', { statusCode: 502 }, null],
  ['529, overloaded', { statusCode: 529, message: 'Overloaded' }, null],
  ['408', { statusCode: 408 }, null],
  ['429 of somebody whose prompt is long', { statusCode: 429, message: 'too many tokens per minute' }, null],
  ['no answer at all', {}, null],
])('[O2] an outage is waited out: %s', (_, given, retryAfterMs) => {
  expect(judgeFailure(answered(given), now)).toMatchObject({ kind: 'outage', retryAfterMs })
})

test.each<[string, Answered]>([
  ['401, the key', { statusCode: 401, message: 'Incorrect API key provided' }],
  ['402, the account is empty', { statusCode: 402, message: 'Insufficient Balance' }],
  ['403', { statusCode: 403, message: 'Your account does not have access to model m' }],
  ['404, the model', { statusCode: 404, message: 'The model `m` does not exist' }],
  [
    '400, content (Azure)',
    {
      statusCode: 400,
      responseBody: body({
        code: 'content_filter',
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      }),
    },
  ],
  [
    '400, content (OpenAI)',
    { statusCode: 400, message: 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.' },
  ],
])('[O2] blocked, and a person is asked: %s', (_, given) => {
  expect(judgeFailure(answered(given), now).kind).toBe('blocked')
})

test.each<[string, Answered]>([
  [
    'OpenAI',
    {
      statusCode: 400,
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130532 tokens. Please reduce the length of the messages.",
      responseBody: body({ code: 'context_length_exceeded' }),
    },
  ],
  [
    'OpenAI, Responses',
    { statusCode: 400, message: 'Your input exceeds the context window of this model. Please adjust your input and try again.' },
  ],
  ['OpenAI, by its code alone', { statusCode: 400, responseBody: body({ code: 'context_length_exceeded', message: 'no' }) }],
  [
    'DeepSeek',
    {
      statusCode: 400,
      message:
        "This model's maximum context length is 65536 tokens. However, you requested 70121 tokens (66025 in the messages, 4096 in the completion).",
    },
  ],
  ['DeepSeek, unprocessable', { statusCode: 422, message: 'context length exceeded' }],
  ['Anthropic', { statusCode: 400, message: 'prompt is too long: 212113 tokens > 200000 maximum' }],
  [
    'Anthropic, with the answer',
    {
      statusCode: 400,
      message:
        'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again',
    },
  ],
  ['Anthropic, bytes', { statusCode: 413, message: 'Request exceeds the maximum size' }],
  [
    'llama.cpp',
    { statusCode: 400, message: 'the request exceeds the available context size. try increasing the context size or enable context shift' },
  ],
])('an overflow is a limit, not a failure: %s', (_, given) => {
  expect(judgeFailure(answered(given), now).kind).toBe('overflow')
})

test.each<[string, unknown, string]>([
  ['a key that is not set', new LoadAPIKeyError({ message: 'no key' }), 'blocked'],
  ['a model that the library does not know', new NoSuchModelError({ modelId: 'm', modelType: 'languageModel' }), 'blocked'],
  ['content refused in the answer', new RefusedContent('refused'), 'blocked'],
  ['an answer that broke off', new BrokenAnswer('cut'), 'outage'],
  ['a refused connection', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'outage'],
  [
    'a name that does not resolve',
    new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) }),
    'outage',
  ],
  [
    'a connection that broke in the middle',
    new TypeError('terminated', { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) }),
    'outage',
  ],
  ['a timeout', new DOMException('too late', 'TimeoutError'), 'outage'],
  ['an error event of a stream that had begun', { message: 'Internal error', type: 'server_error', code: 500 }, 'outage'],
  ['an overflow that the stream tells', { message: 'maximum context length is 10 tokens', code: 'context_length_exceeded' }, 'overflow'],
  ['a bug', new TypeError('x is not a function'), 'unknown'],
])('%s', (_, error, kind) => {
  expect(judgeFailure(error, now).kind).toBe(kind)
})

test.each([400, 418, 422])('%i without words that say more is unknown: a few tries, then somebody looks', (statusCode) => {
  expect(judgeFailure(answered({ statusCode, message: 'messages.3: invalid role' }), now)).toEqual({
    kind: 'unknown',
    message: `${statusCode} messages.3: invalid role`,
  })
})

test('[M7, M8] the message is one short line and holds nothing of request or answer', () => {
  const { message } = judgeFailure(
    answered({ statusCode: 500, message: `a\n  b ${'x'.repeat(900)}`, responseBody: 'what people wrote' }),
    now,
  )
  expect(message).toHaveLength(300)
  expect(message).toMatch(/^500 a b x+$/)
})

test.each<[unknown, string]>([
  [answered({ statusCode: 401, message: 'Incorrect API key provided: sk-proj-abc123. Find it' }), '401 Incorrect [secret] Find it'],
  [answered({ statusCode: 401, message: 'no such key sk-ant-api03-x_Y9 here' }), '401 no such key [secret] here'],
  [answered({ statusCode: 401, message: 'Your api key: house4711 is invalid' }), '401 Your [secret] is invalid'],
  [answered({ statusCode: 401, message: 'refused: Bearer abc4711def' }), '401 refused: [secret]'],
  [answered({ statusCode: 401, message: 'Bearer authentication is a risk-free way' }), '401 Bearer authentication is a risk-free way'],
  [{ error: { message: 'overloaded' }, prompt: 'what people wrote' }, 'overloaded'],
  [{ prompt: 'what people wrote' }, 'an error event without a message'],
])('[M8] no key and no body in the message: case %#', (error, message) => {
  expect(judgeFailure(error, now)).toMatchObject({ message })
})

test('[M7] the history gets kind and status only', () => {
  const error = answered({ statusCode: 503, message: 'what people wrote' })
  expect(kindAndStatus(judgeFailure(error, now), error)).toBe('the model request failed: outage, status 503; see the log')
})
