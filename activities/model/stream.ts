/** One model request, streamed: what is sent is made of values that the ledger holds, what comes back is plain data. */
import { type JSONSchema7, jsonSchema, type LanguageModel, type ModelMessage, streamText, type ToolSet, tool } from 'ai'
import type { Message } from '../../core/prompt/conversation.ts'
import type { OfferedTool } from '../../core/tool/as-offered.ts'
import type { Usage } from '../../ledger/requests.ts'
import { BrokenAnswer, RefusedContent } from './failure.ts'

export interface ModelRequest {
  model: LanguageModel
  system: string
  messages: readonly Message[]
  tools: readonly OfferedTool[]
  signal: AbortSignal
}

export interface ModelAnswer {
  text: string
  reasoning: string
  /** `input` is what the model wrote, parsed; `unparsed` what could not be parsed. */
  calls: ({ name: string; input: unknown } | { name: string; unparsed: string })[]
  finishReason: string
  usage: Usage
}

/** The stream may be silent for so long; a model that thinks streams something. */
const SILENCE_MS = 5 * 60_000

/** Reasons by which an answer says that it came to its end; without one it may be cut. */
const WHOLE: readonly string[] = ['stop', 'length', 'tool-calls']

export async function streamAnswer({ model, system, messages, tools, signal }: ModelRequest): Promise<ModelAnswer> {
  const silence = new AbortController()
  const quiet = () => silence.abort(new BrokenAnswer(`nothing came from the model for ${SILENCE_MS / 60_000} minutes`))
  let timer = setTimeout(quiet, SILENCE_MS)
  try {
    const stream = streamText({
      model,
      instructions: system,
      messages: messages.map(providerMessage),
      tools: toolSet(tools),
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, silence.signal]),
      onError: () => {}, // the error arrives as a part of the stream, below
    })
    const answer: ModelAnswer = {
      text: '',
      reasoning: '',
      calls: [],
      finishReason: '',
      usage: { inputTokens: null, cachedTokens: null, outputTokens: null },
    }
    for await (const part of stream.fullStream) {
      clearTimeout(timer)
      timer = setTimeout(quiet, SILENCE_MS)
      switch (part.type) {
        case 'text-delta':
          answer.text += part.text
          break
        case 'reasoning-delta':
          answer.reasoning += part.text
          break
        case 'tool-call':
          answer.calls.push(
            typeof part.input === 'string' ? { name: part.toolName, unparsed: part.input } : { name: part.toolName, input: part.input },
          )
          break
        case 'error':
          throw part.error
        case 'abort':
          throw signal.aborted ? signal.reason : silence.signal.reason
        case 'finish': {
          const { inputTokens, outputTokens, inputTokenDetails } = part.totalUsage
          answer.finishReason = part.finishReason
          answer.usage = {
            inputTokens: inputTokens ?? null,
            cachedTokens: inputTokenDetails.cacheReadTokens ?? null,
            outputTokens: outputTokens ?? null,
          }
          break
        }
        default: // starts, ends and metadata of parts
      }
    }
    if (answer.finishReason === 'content-filter') throw new RefusedContent('the provider refused the content of the conversation')
    if (!WHOLE.includes(answer.finishReason)) {
      throw broken(answer, 'the answer ended without saying why; it may be cut')
    }
    // with nothing more to say a model ends its turn so; any other reason means that words are missing
    const isEmpty = answer.text === '' && answer.calls.length === 0
    if (isEmpty && answer.finishReason !== 'stop') throw broken(answer, `the model answered nothing (${answer.finishReason})`)
    return answer
  } finally {
    clearTimeout(timer)
  }
}

function broken({ usage }: ModelAnswer, message: string): BrokenAnswer {
  return Object.assign(new BrokenAnswer(message), { usage })
}

function toolSet(tools: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, schema }) => [name, tool({ description, inputSchema: jsonSchema(schema as JSONSchema7) })]),
  )
}

function providerMessage(message: Message): ModelMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.text }
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(message.reasoning ? [{ type: 'reasoning' as const, text: message.reasoning }] : []),
          ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
          ...message.calls.map(({ id, name, input }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: name, input })),
        ],
      }
    case 'tool':
      return {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: message.call, toolName: message.name, output: { type: 'text', value: message.text } }],
      }
    default:
      return message satisfies never
  }
}
