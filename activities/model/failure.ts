/**
 * What a failed model request means (design §4, spec O2). An outage, a rate limit or an overload is waited out without end; a
 * refused key, an unknown model or refused content blocks the Session; an overflow is a limit, not a failure.
 */

import { AISDKError, APICallError, InvalidResponseDataError, LoadAPIKeyError, NoSuchModelError } from 'ai'
import type { Usage } from '../../ledger/requests.ts'

export type ModelFailure =
  /** Try again, after `retryAfterMs` if the provider named a time. */
  | { kind: 'outage'; message: string; retryAfterMs: number | null }
  | { kind: 'blocked'; message: string }
  | { kind: 'overflow'; message: string }
  /** On no list: worth a few tries, then somebody must look. */
  | { kind: 'unknown'; message: string }

/** The answer broke off: no finish reason came, or no words and no calls. */
export class BrokenAnswer extends Error {
  /** What had been paid for when it broke off, as far as the provider told. */
  usage: Partial<Usage> = {}
}
/** The provider streamed an answer only to say that it refuses the content. */
export class RefusedContent extends Error {}

const OVERFLOW =
  /context[ _-]?(length|window|limit|size)|maximum context|too many (input )?tokens|prompt is too long|reduce the length|exceeds? the maximum size/i
const REFUSED_CONTENT = /content[ _-]?(filter|policy|management)|flagged|safety system/i
/** Waiting does not fill an account. */
const QUOTA = /insufficient_quota|exceeded your current quota|insufficient balance/i
const OUTAGE = new Set([408, 409, 425, 429])
const LONGEST_WAIT_MS = 5 * 60_000

export function judgeFailure(error: unknown, now: Date): ModelFailure {
  const message = shortMessage(error)
  if (error instanceof BrokenAnswer || isCut(error)) return { kind: 'outage', message, retryAfterMs: null }
  if (error instanceof RefusedContent) return { kind: 'blocked', message }
  if (LoadAPIKeyError.isInstance(error) || NoSuchModelError.isInstance(error)) return { kind: 'blocked', message }
  // a good status and a broken connection: the stream ended before it said anything
  if (isNetworkError(error)) return { kind: 'outage', message, retryAfterMs: null }
  const answer = answerOf(error)
  if (!answer) return { kind: 'unknown', message }

  const { status, said, headers } = answer
  if (status === 429 && QUOTA.test(said)) return { kind: 'blocked', message }
  if (status !== null && (OUTAGE.has(status) || status >= 500)) return { kind: 'outage', message, retryAfterMs: retryAfter(headers, now) }
  const isAboutInput = status === null || status === 400 || status === 422
  if (status === 413 || (isAboutInput && OVERFLOW.test(said))) return { kind: 'overflow', message }
  if (isAboutInput && REFUSED_CONTENT.test(said)) return { kind: 'blocked', message: `the provider refused the content: ${message}` }
  if (status === 401 || status === 402 || status === 403 || status === 404) return { kind: 'blocked', message }
  return status === null ? { kind: 'outage', message, retryAfterMs: null } : { kind: 'unknown', message }
}

/**
 * What the provider answered; `status` is null where a request got none, or where the answer had begun and broke off with an error:
 * as the library's error that may know a status, or as the very value that came over the wire. Null: no answer of a provider.
 */
function answerOf(error: unknown): { status: number | null; said: string; headers: Record<string, string> } | null {
  if (APICallError.isInstance(error)) {
    const { statusCode, responseHeaders, responseBody, message } = error
    return { status: statusCode ?? null, said: `${message} ${responseBody ?? ''}`, headers: responseHeaders ?? {} }
  }
  // the library has a class for it and does not export it
  if (AISDKError.isInstance(error) && error.name === 'AI_StreamProviderError') {
    const { statusCode, code, type } = error as { statusCode?: number; code?: string | number; type?: string }
    return { status: statusCode ?? null, said: `${error.message} ${code ?? ''} ${type ?? ''}`, headers: {} }
  }
  return error instanceof Error ? null : { status: null, said: wordsOf(error), headers: {} }
}

const wordsOf = (error: unknown): string => (typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error)))

/** Seconds or a date, at most five minutes. */
function retryAfter(headers: Record<string, string>, now: Date): number | null {
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  if (given === undefined) return null
  const ms = /^\d+(\.\d+)?$/.test(given) ? Number(given) * 1000 : Date.parse(given) - now.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_WAIT_MS) : null
}

/** The library's own words for a stream without an end; the second class is not exported. */
function isCut(error: unknown): boolean {
  if (!AISDKError.isInstance(error)) return false
  return InvalidResponseDataError.isInstance(error) ? /ended without/.test(error.message) : error.name === 'AI_NoOutputGeneratedError'
}

function isNetworkError(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each.name === 'TimeoutError' || /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|UND_ERR_)/.test((each as { code?: string }).code ?? ''))
      return true
    if (each instanceof TypeError && /^(fetch failed|terminated)/.test(each.message)) return true
  }
  return false
}

/** All that Temporal's history may hold of a failure (spec M7): the rest is the provider's words. */
export function kindAndStatus({ kind }: ModelFailure, error: unknown): string {
  const status = answerOf(error)?.status
  return `the model request failed: ${kind}${status ? `, status ${status}` : ''}; see the log`
}

/** Providers quote a refused key, in part or whole (spec M8). */
const SECRET = /\bsk-[\w*.-]{4,}|\bBearer\s+(?=\S*\d)\S{6,}|\bapi[ _-]?key(?: provided)?\s*[:=]\s*\S+/gi

/**
 * Messages go into alarms and the ledger: short, and never a response body. The library takes its `message` out of the body's
 * `error.message`, so a key that is quoted there is cut before the line is.
 */
function shortMessage(error: unknown): string {
  const status = answerOf(error)?.status
  const text = error instanceof Error ? error.message : wireMessage(error)
  return `${status ? `${status} ` : ''}${text}`.replace(SECRET, '[secret]').replace(/\s+/g, ' ').slice(0, 300)
}

/** An error event of a stream: its message alone, bare or inside `error`; an event without one is not shown. */
function wireMessage(event: unknown): string {
  const said = event as { message?: unknown; error?: { message?: unknown } | null } | null
  const found = [event, said?.message, said?.error?.message].find((words) => typeof words === 'string')
  return typeof found === 'string' ? found : 'an error event without a message'
}
