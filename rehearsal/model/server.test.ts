import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, type ModelMessage, streamText, tool } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import type { Scenario } from './script.ts'
import { type Model, type ModelSettings, startModel } from './server.ts'

const sayings: Scenario = {
  name: 'sayings',
  title: 'One answer of each form',
  applies: () => true,
  roles: {
    executor: [
      {
        name: 'text',
        when: { contains: ['say something'] },
        answer: { text: 'Straßen, 街道 and 🛤️ lead here.', reasoning: 'A greeting will do.' },
      },
      {
        name: 'two calls',
        when: { step: 0, contains: ['two files'] },
        answer: {
          text: 'Both at once.',
          calls: [
            { name: 'read', input: { path: 'a "quoted" name.ts' } },
            { name: 'read', input: { path: '目录/b.ts' } },
          ],
        },
      },
      { name: 'after the results', when: { step: 1, contains: ['[result read] one', '[result read] two'] }, answer: { text: 'Read.' } },
      { name: 'slow', when: { contains: ['take your time'] }, answer: { text: 'Hm.' }, delayMs: 60_000 },
    ],
  },
}

const tools = {
  read: tool({ inputSchema: jsonSchema<{ path: string }>({ type: 'object', properties: { path: { type: 'string' } } }) }),
  orchestrator_report: tool({ inputSchema: jsonSchema({ type: 'object', properties: {} }) }),
}

const running: Model[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((model) => model.close()))
})

async function start(settings: Partial<ModelSettings> = {}): Promise<{ model: Model; complaints: string[] }> {
  const complaints: string[] = []
  const model = await startModel({
    scenarios: [sayings],
    complain: (text) => complaints.push(text),
    now: () => 1_700_000_000_000,
    ...settings,
  })
  running.push(model)
  return { model, complaints }
}

function client(model: Model, apiKey = 'any') {
  return createOpenAICompatible({ name: 'scripted', baseURL: model.url, apiKey, includeUsage: true }).chatModel('scripted')
}

function ask(model: Model, messages: ModelMessage[], apiKey?: string) {
  return streamText({ model: client(model, apiKey), tools, messages, maxRetries: 0, onError: () => undefined })
}

const user = (content: string): ModelMessage => ({ role: 'user', content })

interface ApiBody {
  choices: { message: { content: string } }[]
  error: { type: string; message: string }
}

async function post(model: Model, body: unknown, path = '/chat/completions'): Promise<{ status: number; body: ApiBody }> {
  const response = await fetch(model.url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as ApiBody }
}

describe('through the AI SDK', () => {
  test('text and reasoning come in several chunks and are whole again at the end', async () => {
    const { model } = await start()
    const answer = ask(model, [user('say something')])
    const deltas: string[] = []
    for await (const piece of answer.textStream) deltas.push(piece)
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe('Straßen, 街道 and 🛤️ lead here.')
    expect(await answer.reasoningText).toBe('A greeting will do.')
    expect(await answer.finishReason).toBe('stop')
  })

  test('parallel tool calls keep their order and their arguments', async () => {
    const { model } = await start()
    const answer = ask(model, [user('two files, please')])
    expect((await answer.toolCalls).map((call) => call.input)).toEqual([{ path: 'a "quoted" name.ts' }, { path: '目录/b.ts' }])
    expect(await answer.finishReason).toBe('tool-calls')
    expect(await answer.text).toBe('Both at once.')
  })

  test('results are found by their tool, and the next line answers', async () => {
    const { model } = await start()
    const first = ask(model, [user('two files, please')])
    const calls = await first.toolCalls
    const messages: ModelMessage[] = [
      user('two files, please'),
      {
        role: 'assistant',
        content: calls.map(({ toolCallId, toolName, input }) => ({ type: 'tool-call' as const, toolCallId, toolName, input })),
      },
      {
        role: 'tool',
        content: calls.map(({ toolCallId, toolName }, index) => ({
          type: 'tool-result' as const,
          toolCallId,
          toolName,
          output: { type: 'text' as const, value: index === 0 ? 'one' : 'two' },
        })),
      },
    ]
    expect(await ask(model, messages).text).toBe('Read.')
    expect(model.requests().map(({ role, step, line }) => [role, step, line])).toEqual([
      ['executor', 0, 'sayings, "two calls"'],
      ['executor', 1, 'sayings, "after the results"'],
    ])
  })

  test('[M9] usage comes in the last chunk and adds up', async () => {
    const { model } = await start()
    const usage = await ask(model, [user('say something')]).usage
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(usage.totalTokens).toBe((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0))
  })

  test('the same answer without a stream', async () => {
    const { model } = await start()
    const answer = await generateText({ model: client(model), tools, messages: [user('two files, please')], maxRetries: 0 })
    expect(answer.toolCalls.map((call) => call.input)).toEqual([{ path: 'a "quoted" name.ts' }, { path: '目录/b.ts' }])
    expect(answer.usage.inputTokens).toBeGreaterThan(0)
  })

  test('a repeated request gets the same answer with the same ids, also from another server', async () => {
    const [one, two] = [await start(), await start()]
    const ids = async (model: Model) => (await ask(model, [user('two files, please')]).toolCalls).map((call) => call.toolCallId)
    const first = await ids(one.model)
    expect(new Set(first).size).toBe(2)
    expect(await ids(one.model)).toEqual(first)
    expect(await ids(two.model)).toEqual(first)
  })

  test('an unexpected request fails loudly and shows the difference', async () => {
    const { model, complaints } = await start()
    const answer = generateText({ model: client(model), tools, messages: [user('two flies, please')], maxRetries: 0 })
    await expect(answer).rejects.toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: expect.stringContaining('role executor, step 0'),
    })
    expect(model.unexpected()).toEqual(complaints)
    expect(complaints[0]).toContain('[user] two flies, please')
    expect(complaints[0]).toContain('sayings, "two calls": the conversation lacks "two files"')
    expect(complaints[0]).toContain('sayings, "after the results": the step is 0, not 1; the conversation lacks "[result read] one"')
    expect(model.requests()[0]?.line).toBeNull()
  })

  test('a wrong key is refused in the shape that a client understands, and is no unexpected request', async () => {
    const { model } = await start({ key: 'right' })
    const answer = (apiKey: string) =>
      generateText({ model: client(model, apiKey), tools, messages: [user('say something')], maxRetries: 0 })
    await expect(answer('wrong')).rejects.toMatchObject({ statusCode: 401, message: expect.stringContaining('bearer key') })
    expect((await answer('right')).text).toContain('街道')
    expect(model.unexpected()).toEqual([])
  })

  test('a client that leaves while the model thinks lets the server close at once', async () => {
    const { model } = await start()
    const leave = new AbortController()
    const answer = streamText({
      model: client(model),
      tools,
      messages: [user('take your time')],
      abortSignal: leave.signal,
      onError: () => undefined,
    })
    for await (const part of answer.fullStream) {
      if (part.type === 'start-step') leave.abort()
    }
    await model.close()
    running.length = 0
    expect(model.unexpected()).toEqual([])
  })
})

describe('on the wire', () => {
  const hello = { model: 'scripted', messages: [{ role: 'user', content: 'say something' }], tools: [offer('orchestrator_report')] }

  test('a stream is events with a role first, a finish reason, the usage on request, and [DONE]', async () => {
    const { model } = await start()
    const events = async (extra: object) => {
      const response = await fetch(`${model.url}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ ...hello, stream: true, ...extra }),
      })
      expect(response.headers.get('content-type')).toContain('text/event-stream')
      const lines = (await response.text()).split('\n\n').filter((line) => line !== '')
      expect(lines.at(-1)).toBe('data: [DONE]')
      return lines.slice(0, -1).map((line) => JSON.parse(line.replace(/^data: /, '')))
    }
    const plain = await events({})
    expect(plain[0].choices[0].delta.role).toBe('assistant')
    expect(plain.at(-1).choices[0].finish_reason).toBe('stop')
    expect(plain.every((chunk) => !('usage' in chunk))).toBe(true)
    const counted = await events({ stream_options: { include_usage: true } })
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } })
    expect(counted.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
  })

  test('content may come as parts', async () => {
    const { model } = await start()
    const answer = await post(model, { ...hello, messages: [{ role: 'user', content: [{ type: 'text', text: 'say something' }] }] })
    expect(answer.body.choices[0]?.message.content).toContain('街道')
  })

  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }],
  }
  test.each<[string, unknown, string]>([
    ['a body that is no JSON', '{"model": ', 'no JSON'],
    ['no messages', { model: 'scripted', messages: [] }, 'messages'],
    ['no model', { messages: hello.messages }, 'model'],
    [
      'a call without its result',
      { ...hello, messages: [...hello.messages, call, { role: 'user', content: 'go on' }] },
      'c1 must have their results',
    ],
    ['a conversation that ends in an open call', { ...hello, messages: [...hello.messages, call] }, 'c1 have no results'],
    [
      'a result without its call',
      { ...hello, messages: [...hello.messages, { role: 'tool', tool_call_id: 'c9', content: 'x' }] },
      'c9 answers no open call',
    ],
    ['a tool that is offered twice', { ...hello, tools: [offer('read'), offer('read')] }, 'read is offered twice'],
    ['a tool whose schema is no object', { ...hello, tools: [offer('read', { anyOf: [] })] }, 'tools.0.function.parameters.type'],
    ['a tool name that providers refuse', { ...hello, tools: [offer('read file')] }, 'letters, digits'],
    ['stream options without a stream', { ...hello, stream_options: { include_usage: true } }, 'stream: true'],
  ])('%s is refused with what is wrong', async (_, body, reason) => {
    const { model } = await start()
    const answer = await post(model, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', message: expect.stringContaining(reason) })
    expect(model.unexpected()).toHaveLength(1)
  })

  test('an address that is not served names those that are; models are listed', async () => {
    const { model } = await start()
    const answer = await post(model, {}, '/responses')
    expect(answer.status).toBe(404)
    expect(answer.body.error.message).toContain('POST /v1/chat/completions')
    const models = await (await fetch(`${model.url}/models`)).json()
    expect(models).toMatchObject({ object: 'list', data: [{ id: 'scripted' }] })
  })

  function offer(name: string, parameters: object = { type: 'object', properties: {} }) {
    return { type: 'function', function: { name, parameters } }
  }
})
