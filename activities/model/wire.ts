/**
 * The HTTP side of one model request: what went out and what came back, kept as it passes (spec C8, D9), and the body of a past
 * request, made by the very code that sends it.
 */
import type { ModelSettings } from '../../core/deployment/settings.ts'
import type { Message } from '../../core/prompt/conversation.ts'
import type { OfferedTool } from '../../core/tool/as-offered.ts'
import { languageModel } from './provider.ts'
import { streamAnswer } from './stream.ts'

export interface Wire {
  fetch: typeof fetch
  /** The body that went out; null: nothing did. */
  sent(): string | null
}

export function openWire(): Wire {
  let sent: string | null = null
  return {
    fetch: async (address, init) => {
      sent = bodyOf(init)
      return fetch(address, init)
    },
    sent: () => sent,
  }
}

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
