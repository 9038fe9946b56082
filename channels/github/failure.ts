/**
 * What a failed request to GitHub means for its caller: a closed list, told apart by one function (facts/github.md §8). The
 * important line runs between "it did not happen" and "nobody knows": a write that ended without a clear answer may have had its
 * effect, so its caller looks before it repeats (spec M4).
 */

export type GithubFailure =
  | { kind: 'rate-limited'; retryAt: Date; status: number | null; message: string }
  | {
      kind: 'unknown-outcome' | 'unauthorised' | 'forbidden' | 'not-found' | 'gone' | 'invalid' | 'locked' | 'server'
      status: number | null
      message: string
    }

/** The only error that the client throws for what GitHub or the network did. */
export class GithubError extends Error {
  readonly failure: GithubFailure

  constructor(failure: GithubFailure) {
    super(failure.message)
    this.name = 'GithubError'
    this.failure = failure
  }
}

export interface Asked {
  /** `POST /repos/acme/shop/issues/7/comments`. */
  request: string
  write: boolean
  now: Date
}

/** GitHub asks to wait at least a minute where it names no time. */
const UNNAMED_WAIT_MS = 60_000

export function classify(error: unknown, { request, write, now }: Asked): GithubFailure {
  const answer = answerOf(error)
  const lost = write ? 'unknown-outcome' : 'server'
  if (!answer) return { kind: lost, status: null, message: `${request}: no answer (${networkReason(error)})` }

  const { status, said } = answer
  const message = `${request}: ${status} ${redacted(said)}`
  if (status === 429 || (status === 403 && isRateLimit(answer)))
    return { kind: 'rate-limited', retryAt: retryAt(answer, now), status, message }
  if (status >= 500 || status === 408) return { kind: lost, status, message }
  if (status === 423 || (status === 403 && /\blocked\b/i.test(said))) return { kind: 'locked', status, message }
  switch (status) {
    case 401:
      return { kind: 'unauthorised', status, message }
    case 403:
    case 451:
      return { kind: 'forbidden', status, message }
    case 404:
      return { kind: 'not-found', status, message }
    case 410:
      return { kind: 'gone', status, message }
    default:
      return { kind: 'invalid', status, message }
  }
}

/** GraphQL answers 200 and lists its errors; the type of the first one decides. */
export function classifyGraphql(errors: readonly { type: string; message: string }[], { request, now }: Asked): GithubFailure {
  const message = `${request}: ${redacted(errors.map((error) => error.message).join('; '))}`
  switch (errors[0]?.type) {
    case 'RATE_LIMITED':
      return { kind: 'rate-limited', retryAt: new Date(now.getTime() + UNNAMED_WAIT_MS), status: 200, message }
    case 'NOT_FOUND':
      return { kind: 'not-found', status: 200, message }
    case 'FORBIDDEN':
    case 'INSUFFICIENT_SCOPES':
      return { kind: 'forbidden', status: 200, message }
    default:
      return { kind: 'invalid', status: 200, message }
  }
}

interface Answer {
  status: number
  headers: Record<string, string | undefined>
  said: string
}

/** Null for a request without a response: the library reports it as status 500. */
function answerOf(error: unknown): Answer | null {
  if (typeof error !== 'object' || error === null || !('response' in error)) return null
  const { response } = error as { response?: { status: number; headers: Record<string, string | undefined>; data: unknown } }
  if (!response) return null
  const { status, headers, data } = response
  const isJson = typeof data === 'object' && data !== null && 'message' in data
  // A proxy's page in HTML says nothing that a reader here could use.
  const said =
    isJson && error instanceof Error ? error.message : `an answer that is not JSON (${headers['content-type'] ?? 'no content type'})`
  return { status, headers, said }
}

function isRateLimit({ headers, said }: Answer): boolean {
  return headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0' || /rate limit|abuse detection/i.test(said)
}

function retryAt({ headers }: Answer, now: Date): Date {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  if (Number.isFinite(seconds)) return new Date(now.getTime() + Math.max(seconds, 1) * 1000)
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN) * 1000
  if (headers['x-ratelimit-remaining'] === '0' && Number.isFinite(reset)) return new Date(Math.max(reset, now.getTime() + 1000))
  return new Date(now.getTime() + UNNAMED_WAIT_MS)
}

function networkReason(error: unknown): string {
  const causes: string[] = []
  for (let at = error; at instanceof Error && causes.length < 4; at = at.cause) {
    causes.push('code' in at && typeof at.code === 'string' ? at.code : at.message)
  }
  return redacted(causes.at(-1) || 'unknown')
}

/** GitHub's tokens have prefixes, a JSON web token three parts; neither belongs in a log (spec M8). */
export function redacted(text: string): string {
  return text.replace(/\b(?:gh[a-z]_|github_pat_)\w+|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '[secret]')
}
