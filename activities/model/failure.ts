/**
 * What a failed model request means (design §4, spec O2). An outage, a rate limit or an overload is waited out without end; a
 * refused key, an unknown model or refused content blocks the Session; an overflow is a limit, not a failure.
 */
import { APICallError, LoadAPIKeyError, NoSuchModelError } from 'ai'

export type ModelFailure =
  /** Try again, after `retryAfterMs` if the provider named a time. */
  | { kind: 'outage'; message: string; retryAfterMs: number | null }
  | { kind: 'blocked'; message: string }
  | { kind: 'overflow'; message: string }
  /** On no list: worth a few tries, then somebody must look. */
  | { kind: 'unknown'; message: string }

/** The answer broke off: no finish reason came, or no words and no calls. */
export class BrokenAnswer extends Error {}
/** The provider streamed an answer only to say that it refuses the content. */
export class RefusedContent extends Error {}

const OVERFLOW = /context[ _-]?(length|window)|maximum context|too many (input )?tokens|prompt is too long|reduce the length/i
const REFUSED_CONTENT = /content[ _-]?(filter|policy|management)|flagged|safety system/i
const OUTAGE = new Set([408, 409, 425, 429])
const LONGEST_WAIT_MS = 5 * 60_000

export function judgeFailure(error: unknown, now: Date): ModelFailure {
  const message = shortMessage(error)
  if (error instanceof BrokenAnswer) return { kind: 'outage', message, retryAfterMs: null }
  if (error instanceof RefusedContent) return { kind: 'blocked', message }
  if (LoadAPIKeyError.isInstance(error) || NoSuchModelError.isInstance(error)) return { kind: 'blocked', message }
  if (!APICallError.isInstance(error))
    return isNetworkError(error) ? { kind: 'outage', message, retryAfterMs: null } : { kind: 'unknown', message }

  const { statusCode, responseHeaders, responseBody } = error
  const said = `${error.message} ${responseBody ?? ''}`
  if (statusCode === undefined) return { kind: 'outage', message, retryAfterMs: null }
  if (OUTAGE.has(statusCode) || statusCode >= 500) return { kind: 'outage', message, retryAfterMs: retryAfter(responseHeaders ?? {}, now) }
  if ((statusCode === 400 || statusCode === 413 || statusCode === 422) && OVERFLOW.test(said)) return { kind: 'overflow', message }
  if (statusCode === 400 && REFUSED_CONTENT.test(said)) return { kind: 'blocked', message: `the provider refused the content: ${message}` }
  if (statusCode === 401 || statusCode === 402 || statusCode === 403 || statusCode === 404) return { kind: 'blocked', message }
  return { kind: 'unknown', message }
}

/** Seconds or a date, at most five minutes. */
function retryAfter(headers: Record<string, string>, now: Date): number | null {
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  if (given === undefined) return null
  const ms = /^\d+(\.\d+)?$/.test(given) ? Number(given) * 1000 : Date.parse(given) - now.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_WAIT_MS) : null
}

function isNetworkError(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each.name === 'TimeoutError' || /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|UND_ERR_)/.test((each as { code?: string }).code ?? ''))
      return true
    if (each instanceof TypeError && /fetch failed|terminated/.test(each.message)) return true
  }
  return false
}

/** Messages go into histories and alarms: short, and never a response body. */
function shortMessage(error: unknown): string {
  const status = APICallError.isInstance(error) && error.statusCode !== undefined ? `${error.statusCode} ` : ''
  const text = error instanceof Error ? error.message : String(error)
  return `${status}${text}`.replace(/\s+/g, ' ').slice(0, 300)
}
