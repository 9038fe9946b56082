/** Whether an error says that a service is away for now: waited out without end, while a bug is not (design §4). */

/** SQLSTATE: connection trouble, the server going down or coming up, no room left. */
const POSTGRES = /^(08...|57P0[123]|53...)$/
const NETWORK = /^(ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/

export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && (POSTGRES.test(code) || NETWORK.test(code))) return true
  return (
    /^Connection terminated|^timeout exceeded when trying to connect|Client has encountered a connection error/.test(error.message) ||
    isOutage(error.cause)
  )
}
