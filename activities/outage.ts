/**
 * Whether an error says that a service is away for now: waited out without end, while a bug is not (design §4). A write to GitHub
 * whose outcome is unknown is one too: the next attempt looks first (spec M4).
 */
import { GithubError, type GithubFailure } from '../channels/github/failure.ts'
import { GitFailure } from './workspace/git.ts'

/** SQLSTATE: connection trouble, the server going down or coming up, no room left, so slow or so locked that it gave up itself. */
const POSTGRES = /^(08...|57P0[123]|53...|57014|25P03)$/
const NETWORK = /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/
const GITHUB: Readonly<Record<GithubFailure['kind'], boolean>> = {
  server: true,
  'unknown-outcome': true,
  'rate-limited': true,
  unauthorised: false,
  forbidden: false,
  'not-found': false,
  gone: false,
  invalid: false,
  locked: false,
}

export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof GithubError) return GITHUB[error.failure.kind]
  if (error instanceof GitFailure) return error.network
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && (POSTGRES.test(code) || NETWORK.test(code))) return true
  return (
    /^Connection terminated|^timeout exceeded when trying to connect|Client has encountered a connection error/.test(error.message) ||
    isOutage(error.cause)
  )
}

/** When the service asked to be tried again; null: it named no time. */
export function retryAtOf(error: unknown): Date | null {
  if (!(error instanceof Error)) return null
  if (error instanceof GithubError) return error.failure.kind === 'rate-limited' ? error.failure.retryAt : null
  return retryAtOf(error.cause)
}
