/**
 * The HTTP side of one model request: what went out and what came back, kept as it passes (spec C8, D9), and the body of a past
 * request, made by the very code that sends it.
 */
import type { ModelSettings } from '../../core/deployment/settings.ts'
import type { Message } from '../../core/prompt/conversation.ts'
import type { OfferedTool } from '../../core/tool/as-offered.ts'
import type { Answered } from '../../ledger/recordings.ts'
import { languageModel } from './provider.ts'
import { streamAnswer } from './stream.ts'

export interface Wire {
  fetch: typeof fetch
  /** The body that went out; null: nothing did. */
  sent(): string | null
  /** What came back so far, if it is kept; null: nothing did. */
  received(): Answered | null
}

export function openWire({ keepsAnswer = false } = {}): Wire {
  let sent: string | null = null
  let head: Omit<Answered, 'body'> | null = null
  const pieces: Uint8Array[] = []
  const keep = (piece: Uint8Array, onwards: TransformStreamDefaultController) => {
    pieces.push(piece)
    onwards.enqueue(piece)
  }
  return {
    fetch: async (address, init) => {
      sent = bodyOf(init)
      const response = await fetch(address, init)
      if (!keepsAnswer) return response
      head = { status: response.status, contentType: response.headers.get('content-type') ?? '' }
      return new Response(response.body?.pipeThrough(new TransformStream({ transform: keep })) ?? null, response)
    },
    sent: () => sent,
    received: () => head && { ...head, body: Buffer.concat(pieces).toString() },
  }
}

/** A provider that answers what it answered then, whatever it is asked. */
export const playing =
  ({ status, contentType, body }: Answered): typeof fetch =>
  async () =>
    new Response(body, { status, headers: { 'content-type': contentType } })

export interface WireRequest {
  provider: ModelSettings['provider']
  model: string
  system: string
  messages: readonly Message[]
  tools: readonly OfferedTool[]
}

/** Nobody is asked and no key is needed: the request ends where it would leave the house. */
export async function wireBody({ provider, model, ...request }: WireRequest): Promise<string> {
  let body: string | null = null
  const capture: typeof fetch = async (_, init) => {
    body = bodyOf(init)
    throw new Error('the body is all that was asked for')
  }
  const nowhere = languageModel({ provider, baseUrl: 'http://provider.invalid/v1', apiKey: 'none' }, model, capture)
  const { signal } = new AbortController()
  const ended = await streamAnswer({ model: nowhere, ...request, signal }).catch((error: unknown) => error)
  if (body === null) throw new Error(`the request of ${provider} could not be written`, { cause: ended })
  return body
}

/** All providers of the AI SDK send JSON as text. */
function bodyOf(init: RequestInit | undefined): string {
  if (typeof init?.body !== 'string') throw new Error(`a model request has a body of text, not ${typeof init?.body}`)
  return init.body
}
