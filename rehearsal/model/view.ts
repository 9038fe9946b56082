/**
 * What a script sees of a request: who asks, how far the conversation is, and its text with calls and results marked, so that
 * a pattern can tell `[call shell]` from somebody who writes about a shell. Only the request decides; nothing is remembered.
 */
import type { Role } from '../../core/tool/tool.ts'
import { type ChatMessage, type ChatRequest, textOf } from './protocol.ts'

export interface View {
  role: Role
  /** How many answers the conversation holds. */
  step: number
  /** Names of the tools offered. */
  tools: readonly string[]
  system: string
  lastUser: string
  /** The last message as it stands in `conversation`. */
  last: string
  /** All but the system prompt, each message opened by `[user]`, `[assistant]`, `[call <tool>]` or `[result <tool>]`. */
  conversation: string
  /** What people and the host wrote, without answers, calls and results. */
  heard: string
  /** Calls in the order in which they were made; an open one has no result. */
  calls: readonly Call[]
  /** The newest result of a tool. */
  result(tool: string): string | null
  /** The first capture of the pattern's first match in the conversation, or the whole match if it captures nothing. */
  find(pattern: RegExp): string | null
  /** As `find`; nothing found is an error that the server answers as an unexpected request. */
  need(pattern: RegExp): string
}

export interface Call {
  name: string
  input: unknown
  result: string | null
  /** The step that made it, from 0. */
  step: number
}

export function viewOf(request: ChatRequest): View {
  const tools = (request.tools ?? []).map((tool) => tool.function.name)
  const talk = request.messages.filter((message) => message.role !== 'system' && message.role !== 'developer')
  const { parts, calls } = readThrough(talk)
  const heard = talk.filter((message) => message.role === 'user').map((message) => textOf(message.content))
  const conversation = parts.join('\n\n')
  const find = (pattern: RegExp) => capture(conversation, pattern)
  return {
    role: roleOf(tools),
    step: talk.filter((message) => message.role === 'assistant').length,
    tools,
    system: request.messages
      .filter((message) => message.role === 'system' || message.role === 'developer')
      .map((message) => textOf(message.content))
      .join('\n\n'),
    lastUser: heard.at(-1) ?? '',
    last: parts.at(-1) ?? '',
    conversation,
    heard: heard.join('\n\n'),
    calls,
    result: (tool) => calls.findLast((call) => call.name === tool && call.result !== null)?.result ?? null,
    find,
    need: (pattern) => {
      const found = find(pattern)
      if (found === null) throw new Error(`the conversation has nothing like ${pattern}`)
      return found
    },
  }
}

/** The first capture, or the whole match of a pattern without one. */
export function capture(text: string, pattern: RegExp): string | null {
  const match = fromTheStart(pattern).exec(text)
  return match ? (match[1] ?? match[0]) : null
}

/** A pattern with `g` or `y` remembers where it stopped; here every look is the first. */
export function fromTheStart(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
}

function roleOf(tools: readonly string[]): Role {
  if (tools.includes('orchestrator_route')) return 'main'
  return tools.includes('orchestrator_report') ? 'executor' : 'subagent'
}

/** One way through the conversation, because an id may come again in a later step: the newest open call is the one answered. */
function readThrough(talk: readonly ChatMessage[]): { parts: string[]; calls: Call[] } {
  const calls: Call[] = []
  const open = new Map<string, Call>()
  let step = 0
  const parts = talk.map((message) => {
    const text = textOf(message.content)
    if (message.role === 'tool') {
      const call = open.get(message.tool_call_id)
      if (call) call.result = text
      return `[result ${call?.name ?? message.tool_call_id}] ${text}`
    }
    if (message.role !== 'assistant') return `[${message.role}] ${text}`
    const made = (message.tool_calls ?? []).map(({ id, function: called }) => {
      const call: Call = { name: called.name, input: inputOf(called.arguments), result: null, step }
      open.set(id, call)
      calls.push(call)
      return `[call ${called.name}] ${called.arguments}`
    })
    step++
    return [...(text === '' && made.length > 0 ? [] : [`[assistant] ${text}`]), ...made].join('\n')
  })
  return { parts, calls }
}

/** Arguments that are no JSON stay as the text they are: a model may have said so, and the client repeats it. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
