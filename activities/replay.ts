/**
 * A recorded Session played again (spec D9): each step's request is assembled from today's program and configuration and the ledger's
 * log, the answer is the provider's stream as it was recorded, read by the code that reads streams, and its calls are held against
 * today's tools; their results are those in the log. Nobody is asked, no tool runs and nothing is written.
 */

import type { ModelSettings } from '../core/deployment/settings.ts'
import type { Answer, LogEntry } from '../core/prompt/conversation.ts'
import { type Kept, keptPrefix } from '../core/prompt/prefix.ts'
import type { OfferedTool } from '../core/tool/as-offered.ts'
import type { RecordedSession, RecordedStep } from '../ledger/recorded-session.ts'
import { type Built, buildRequest } from './build-request.ts'
import { languageModel } from './model/provider.ts'
import { streamAnswer } from './model/stream.ts'
import { playing } from './model/wire.ts'
import { readAnswer } from './read-answer.ts'
import { createDriftReader, type ReadDrift } from './read-drift.ts'

export interface Replayed {
  turn: number
  step: number
  request: number
  /** Null: it came to its end. Else why it could not be played. */
  stopped: string | null
  /** Today's request against the one that was sent then. */
  prompt: { kept: Kept; changes: Change[] } | null
  answer: { said: Answer; differences: string[] } | null
  /** Calls that today's tools refuse; `asThen`: they were refused in the same words. */
  refused: { call: string; tool: string; why: string; asThen: boolean }[]
}

/** A section, a tool or the conversation, with its bytes; null: it is not there. */
export interface Change {
  name: string
  was: number | null
  is: number | null
}

export async function* replaySession(session: RecordedSession, builtIn: Readonly<Record<string, string>>): AsyncGenerator<Replayed> {
  const answers = new Map<number, Answer>()
  const readDrift = createDriftReader(builtIn, { warn: () => undefined }) // the program that runs says it
  for (const step of session.steps) {
    const played = await replayStep({ session, step, builtIn, readDrift, answers })
    if (played.answer) answers.set(step.step, played.answer.said)
    yield played
  }
}

interface Playing {
  session: RecordedSession
  step: RecordedStep
  builtIn: Readonly<Record<string, string>>
  readDrift: ReadDrift
  /** What came out of the steps before. */
  answers: ReadonlyMap<number, Answer>
}

async function replayStep(given: Playing): Promise<Replayed> {
  const { session, step } = given
  const { request, recording } = step
  const at = { turn: step.turn, step: step.step, request: request.request }
  const stopped = (why: string, prompt: Replayed['prompt'] = null): Replayed => ({ ...at, stopped: why, prompt, answer: null, refused: [] })

  const { provider, model, facts } = request
  const { view, agentsMd } = session
  const built = buildRequest({
    view,
    facts,
    builtIn: given.builtIn,
    readDrift: given.readDrift,
    provider,
    model,
    agentsMd,
    log: logOf(given),
  })
  if ('fault' in built) return stopped(`today's prompt cannot be built: ${built.fault.message}`)
  const prompt = comparedPrompt(step, built)
  if (recording === null) return stopped('it was not recorded', prompt)
  if (recording === 'removed') return stopped('its recording was removed from the record', prompt)

  const source = { provider: provider as ModelSettings['provider'], baseUrl: 'http://recording.invalid/v1', apiKey: 'none' }
  const { system, messages, tools } = built
  const { signal } = new AbortController()
  try {
    const streamed = await streamAnswer({ model: languageModel(source, model, playing(recording)), system, messages, tools, signal })
    const { said, calls } = readAnswer(streamed, step.step, built.offered)
    const refused = calls.flatMap(({ call, fault, said }) =>
      fault === null ? [] : [{ call, tool: said.name, why: fault, asThen: step.faults.get(call) === fault }],
    )
    return { ...at, stopped: null, prompt, answer: { said, differences: differencesOf(loggedAnswer(session, step), said) }, refused }
  } catch (error) {
    return stopped(`the recorded stream cannot be read: ${error instanceof Error ? error.message : String(error)}`, prompt)
  }
}

/** The log as it stood, with the answers as they came out now: results of calls that were not made again answer nothing. */
function logOf({ session, step, answers }: Playing): LogEntry[] {
  const seen = session.view.log.filter((entry) => entry.seq <= step.request.logSeq || (entry.kind === 'input' && entry.step === step.step))
  return seen.flatMap((entry): LogEntry[] => {
    const again = answers.get(entry.step)
    if (entry.kind === 'answer') return [again ? { ...entry, body: again } : entry]
    if (entry.kind === 'result' && again && !again.calls.some(({ id }) => id === entry.call)) return []
    return [entry]
  })
}

function loggedAnswer({ view }: RecordedSession, { step }: RecordedStep): Answer | null {
  const entry = view.log.find((entry) => entry.kind === 'answer' && entry.step === step)
  return entry?.kind === 'answer' ? entry.body : null
}

function differencesOf(then: Answer | null, now: Answer): string[] {
  if (!then) return ['the log holds no answer of this step']
  const calls = Array.from({ length: Math.max(then.calls.length, now.calls.length) }, (_, index) => {
    const [was, is] = [then.calls[index], now.calls[index]].map((call) => (call ? `${call.name} ${JSON.stringify(call.input)}` : 'no call'))
    return was === is ? [] : [`call ${index + 1}: then ${was}, now ${is}`]
  })
  return [
    ...(then.text === now.text ? [] : [`the text: then ${JSON.stringify(then.text)}, now ${JSON.stringify(now.text)}`]),
    ...((then.reasoning ?? '') === (now.reasoning ?? '') ? [] : ['the thinking']),
    ...calls.flat(),
  ]
}

function comparedPrompt({ request }: RecordedStep, built: Built): NonNullable<Replayed['prompt']> {
  const { provider, sections, tools, messages } = request
  const kept = keptPrefix(
    { provider, tools: JSON.stringify(tools), sections, messages },
    { provider, tools: JSON.stringify(built.tools), sections: built.sections, messages: built.messages },
  )
  const text = (messages: unknown) => [{ name: 'messages', text: JSON.stringify(messages) }]
  return {
    kept,
    changes: [
      ...changesOf(sections, built.sections),
      ...changesOf(tools.map(toolText), built.tools.map(toolText)),
      ...changesOf(text(messages), text(built.messages)),
    ],
  }
}

const toolText = (tool: OfferedTool) => ({ name: `tool ${tool.name}`, text: JSON.stringify(tool) })

function changesOf(then: readonly Named[], now: readonly Named[]): Change[] {
  const names = new Set([...then, ...now].map(({ name }) => name))
  return [...names].flatMap((name) => {
    const [was, is] = [then, now].map((texts) => texts.find((each) => each.name === name)?.text)
    const bytes = (text: string | undefined) => (text === undefined ? null : Buffer.byteLength(text))
    return was === is ? [] : [{ name, was: bytes(was), is: bytes(is) }]
  })
}

interface Named {
  name: string
  text: string
}
