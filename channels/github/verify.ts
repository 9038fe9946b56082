/**
 * Whether a request on the webhook address is a delivery of GitHub's (spec N10): identity headers, then type and encoding, then
 * UTF-8, then the signature over the received bytes against every accepted secret, and only then the body's meaning.
 *
 * The headers are not covered by the signature, so the event's kind must fit the body's shape (F023).
 */
import { Webhooks } from '@octokit/webhooks'
import { toldBeside } from './delivery.ts'
import { at, isRecord, parseExact } from './payload.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface Delivery {
  event: string
  guid: string
  /** Numeric id of the hook; null where the header is missing. */
  hook: string | null
  /** What GitHub says about the delivery beside its body: `x-github-*` and the user agent, without the signature. Not signed. */
  headers: Record<string, string>
  /** The JSON text, without byte order mark or form encoding. */
  body: string
  payload: unknown
  /** Which accepted secret fits: 0 is the current one. */
  secretIndex: number
}

export type Rejection = keyof typeof REJECTIONS
export type Verdict = { ok: true; delivery: Delivery } | { ok: false; status: 400 | 401 | 415; reason: Rejection; message: string }

/** Each with its status and what the hook's administrator reads in GitHub's list of deliveries. */
export const REJECTIONS = {
  event: [400, 'X-GitHub-Event must be one event name of lower-case letters, digits and underscores.'],
  guid: [400, 'X-GitHub-Delivery must be one delivery id of at most 64 printable characters.'],
  hook: [400, 'X-GitHub-Hook-ID must be one number.'],
  'content-type': [
    415,
    'The content type must be application/json or application/x-www-form-urlencoded; set it in the settings of the hook.',
  ],
  'content-encoding': [415, 'The body must not be compressed.'],
  empty: [400, 'The body is empty.'],
  utf8: [400, 'The body is not UTF-8.'],
  unsigned: [401, 'X-Hub-Signature-256 is missing; set a secret in the settings of the hook.'],
  signature: [401, 'X-Hub-Signature-256 does not fit the body and any accepted secret.'],
  form: [400, 'A form body must hold the field payload in UTF-8.'],
  json: [400, 'The body is not JSON.'],
  object: [400, 'The body must be a JSON object.'],
  shape: [400, 'The body is of another kind than X-GitHub-Event says.'],
} as const satisfies Record<string, readonly [400 | 401 | 415, string]>

/** `secrets`: current first, then those that are still accepted during a rotation. */
export function createVerifier(secrets: readonly string[]): (headers: Headers, body: Uint8Array) => Promise<Verdict> {
  const accepted = secrets.filter((secret) => secret !== '').map((secret) => new Webhooks({ secret }))
  if (accepted.length === 0) throw new Error('The webhook listener needs at least one accepted secret: set GITHUB_WEBHOOK_SECRET.')

  return async (headers, bytes) => {
    const event = one(headers, 'x-github-event')
    if (!event || event.length > 64 || !/^[a-z0-9_]+$/.test(event)) return rejected('event')
    const guid = one(headers, 'x-github-delivery')
    // No comma, since Node joins repeated headers with one.
    if (!guid || !/^[!-+\x2D-~]{1,64}$/.test(guid)) return rejected('guid')
    const hook = one(headers, 'x-github-hook-id')
    if (hook !== null && !/^\d{1,20}$/.test(hook)) return rejected('hook')

    const type = mediaType(one(headers, 'content-type'))
    if (!type) return rejected('content-type')
    if (!/^(?:identity)?$/i.test(one(headers, 'content-encoding')?.trim() ?? '')) return rejected('content-encoding')
    if (bytes.byteLength === 0) return rejected('empty')
    const text = decoded(bytes)
    if (text === null) return rejected('utf8')

    const signature = one(headers, 'x-hub-signature-256')
    if (signature === null) return rejected('unsigned')
    const secretIndex = await fitting(accepted, text, signature)
    if (secretIndex === null) return rejected('signature')

    const body = type === 'form' ? formPayload(text) : text.replace(/^\uFEFF/, '')
    if (body === null) return rejected('form')
    const payload = parsed(body)
    if (payload === undefined) return rejected('json')
    if (!isRecord(payload)) return rejected('object')
    if (!fits(event, payload)) return rejected('shape')
    return { ok: true, delivery: { event, guid, hook, headers: toldBeside(headers), body, payload, secretIndex } }
  }
}

function rejected(reason: Rejection): Verdict {
  const [status, message] = REJECTIONS[reason]
  return { ok: false, status, reason, message }
}

/** A repeated header is one text with commas or a list; neither is ever taken apart. */
function one(headers: Headers, name: string): string | null {
  const value = headers[name]
  return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value
}

function mediaType(header: string | null): 'json' | 'form' | null {
  const type = header?.split(';', 1)[0]?.trim().toLowerCase()
  return type === 'application/json' ? 'json' : type === 'application/x-www-form-urlencoded' ? 'form' : null
}

/** Keeps a byte order mark, which is part of what was signed (F008). */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** The form is checked first, since the library throws on some malformed signatures. Upper-case hex is none (F004). */
async function fitting(accepted: readonly Webhooks[], text: string, signature: string): Promise<number | null> {
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) return null
  for (const [index, secret] of accepted.entries()) {
    if (await secret.verify(text, signature)) return index
  }
  return null
}

/** Decoded strictly: `URLSearchParams` would put U+FFFD for bytes that are no UTF-8. */
function formPayload(text: string): string | null {
  const field = text.split('&').find((pair) => pair.startsWith('payload='))
  if (field === undefined) return null
  try {
    return decodeURIComponent(field.slice('payload='.length).replaceAll('+', ' '))
  } catch {
    return null
  }
}

function parsed(body: string): unknown {
  try {
    return parseExact(body)
  } catch {
    return undefined
  }
}

/** What tells the events apart that are read. The first row whose fields are all there and whose others are not is the body's kind. */
const SHAPES: readonly { event: string; has: readonly string[]; lacks: readonly string[] }[] = [
  { event: 'pull_request_review_comment', has: ['pull_request', 'comment'], lacks: [] },
  { event: 'pull_request_review_thread', has: ['pull_request', 'thread'], lacks: [] },
  { event: 'pull_request_review', has: ['pull_request', 'review'], lacks: [] },
  { event: 'pull_request', has: ['pull_request'], lacks: ['comment', 'thread', 'review'] },
  { event: 'issue_comment', has: ['issue', 'comment'], lacks: ['pull_request'] },
  { event: 'issues', has: ['issue'], lacks: ['comment', 'pull_request'] },
  { event: 'check_run', has: ['check_run'], lacks: ['pull_request', 'issue'] },
  { event: 'check_suite', has: ['check_suite'], lacks: ['check_run', 'pull_request', 'issue'] },
  { event: 'push', has: ['ref', 'before', 'after', 'commits'], lacks: ['pull_request', 'issue'] },
]

/** A body of no known kind fits any event, and an event that is not read has any body: GitHub adds both all the time (spec M5). */
function fits(event: string, payload: unknown): boolean {
  if (!SHAPES.some((shape) => shape.event === event)) return true
  const isThere = (name: string) => at(payload, name) !== undefined && at(payload, name) !== null
  const kind = SHAPES.find(({ has, lacks }) => has.every(isThere) && !lacks.some(isThere))
  return kind === undefined || kind.event === event
}
