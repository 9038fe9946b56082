/**
 * The wire of an OpenAI-compatible chat-completions server: what a request must look like, and how an answer, a stream of
 * chunks and an error look. It is as strict as the real ones where a client can go wrong (a call without its result, a tool
 * without an object schema), so that a request they would refuse is refused here.
 */
import { z } from 'zod'

/** What the scripted model says in one step; with `calls` the turn goes on, without them it ends. */
export interface Answer {
  text?: string
  reasoning?: string
  calls?: readonly { name: string; input: unknown }[]
}

export interface ApiFault {
  status: number
  code: string
  message: string
  param?: string
}

export type ChatRequest = z.infer<typeof chatRequest>
export type ChatMessage = z.infer<typeof chatMessage>

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'letters, digits, _ and - only, at most 64')

const chatMessage = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer']), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string().min(1),
          type: z.literal('function'),
          function: z.object({ name: toolName, arguments: z.string() }),
        }),
      )
      .min(1)
      .optional(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string().min(1), content }),
])

const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(chatMessage).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal('function'),
        function: z.looseObject({
          name: toolName,
          description: z.string().optional(),
          parameters: z.looseObject({ type: z.literal('object', 'a tool takes one object') }).optional(),
        }),
      }),
    )
    .optional(),
})

/** A request as it came in, or why the protocol refuses it. */
export function parseRequest(body: unknown): { request: ChatRequest } | { fault: ApiFault } {
  const parsed = chatRequest.safeParse(body)
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
    return { fault: { status: 400, code: 'invalid_value', message: issues.join('; '), param: parsed.error.issues[0]?.path.join('.') } }
  }
  const request = parsed.data
  if (request.stream_options && !request.stream) {
    return {
      fault: { status: 400, code: 'invalid_value', message: 'stream_options is allowed only with stream: true', param: 'stream_options' },
    }
  }
  const message = toolNamesFault(request) ?? pairingFault(request.messages)
  return message === null ? { request } : { fault: { status: 400, code: 'invalid_value', message } }
}

function toolNamesFault({ tools = [] }: ChatRequest): string | null {
  const names = tools.map((tool) => tool.function.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? null : `tools: ${twice} is offered twice; tool names must be unique`
}

/** Every call is answered right after the message that made it, and every result answers such a call. */
function pairingFault(messages: readonly ChatMessage[]): string | null {
  let open: string[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) return `messages.${index}: the result ${message.tool_call_id} answers no open call`
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) return `messages.${index}: the calls ${open.join(', ')} must have their results before any other message`
    if (message.role === 'assistant') open = (message.tool_calls ?? []).map((call) => call.id)
  }
  return open.length === 0 ? null : `messages: the calls ${open.join(', ')} have no results`
}

export function textOf(value: z.infer<typeof content> | null | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : value.map((part) => part.text ?? `(${part.type})`).join('')
}

/** What names one answer: the same request gets the same ids, whoever asks and whenever. */
export interface Stamp {
  /** Hex digest of the request. */
  digest: string
  model: string
  /** Seconds since 1970. */
  created: number
  promptCharacters: number
  /** Of these so many that a real provider would find in its cache. */
  cachedCharacters: number
}

/** What the request before this one of the same conversation held: all up to the last answer, if there is one. */
export function cachedCharacters({ messages, tools = [] }: ChatRequest): number {
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  return answer === -1 ? 0 : JSON.stringify(tools).length + JSON.stringify(messages.slice(0, answer)).length
}

/** An answer in one piece. */
export function completion(answer: Answer, stamp: Stamp): object {
  const calls = callsOf(answer, stamp)
  return {
    ...envelope('chat.completion', stamp),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text ?? null,
          refusal: null,
          ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(answer),
      },
    ],
    usage: usage(answer, stamp),
  }
}

/** An answer as the chunks of a stream; `[DONE]` is the transport's. With `includeUsage` the last chunk has no choice and the usage. */
export function chunks(answer: Answer, stamp: Stamp, includeUsage: boolean): object[] {
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...envelope('chat.completion.chunk', stamp),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  })
  return [
    chunk({ role: 'assistant', content: answer.calls ? null : '', refusal: null }),
    ...pieces(answer.reasoning ?? '').map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(answer.text ?? '').map((piece) => chunk({ content: piece })),
    ...callsOf(answer, stamp).flatMap((call, index) => [
      chunk({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.function.name, arguments: '' } }] }),
      ...pieces(call.function.arguments).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finishReason(answer)),
    ...(includeUsage ? [{ ...envelope('chat.completion.chunk', stamp), choices: [], usage: usage(answer, stamp) }] : []),
  ]
}

export function errorBody({ status, code, message, param }: ApiFault): object {
  return { error: { message, type: status >= 500 ? 'server_error' : 'invalid_request_error', param: param ?? null, code } }
}

function envelope(object: string, { digest, model, created }: Stamp) {
  return { id: `chatcmpl-${digest.slice(0, 24)}`, object, created, model, service_tier: 'default', system_fingerprint: null }
}

function callsOf(answer: Answer, { digest }: Stamp) {
  return (answer.calls ?? []).map(({ name, input }, index) => ({
    id: `call_${digest.slice(0, 20)}_${index}`,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }))
}

function finishReason(answer: Answer): 'tool_calls' | 'stop' {
  return answer.calls && answer.calls.length > 0 ? 'tool_calls' : 'stop'
}

/** A token is taken for four characters: near enough for budgets, and the same for the same text. */
function usage(answer: Answer, { promptCharacters, cachedCharacters }: Stamp) {
  const tokens = (characters: number) => Math.ceil(characters / 4)
  const said = (answer.text ?? '').length + JSON.stringify(answer.calls ?? []).length
  const reasoning = tokens((answer.reasoning ?? '').length)
  const prompt = tokens(promptCharacters)
  const cached = Math.floor(cachedCharacters / 4)
  return {
    prompt_tokens: prompt,
    completion_tokens: tokens(said) + reasoning,
    total_tokens: prompt + tokens(said) + reasoning,
    prompt_tokens_details: { cached_tokens: cached },
    // the same as DeepSeek says it
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: prompt - cached,
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

/** Text in three or so pieces, cut by code point, so that every client has to put an answer together. */
function pieces(text: string): string[] {
  const points = [...text]
  const size = Math.max(1, Math.ceil(points.length / 3))
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => points.slice(index * size, (index + 1) * size).join(''))
}
