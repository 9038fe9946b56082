/** Bounded waiting: what does not come in time is an error, and the one who waits goes on. */

/** `what` stands in the error: "not stored", "no answer from the ledger". */
export async function within<Value>(milliseconds: number, what: string, work: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} within ${milliseconds} ms`)), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
