/** What was opened is closed in the opposite order, all of it: what one closer throws does not keep the ones before it open. */

export type Closer = () => unknown

/** Empties the list, so that a second call closes nothing twice. Throws at the end: the one error, or one that holds them all. */
export async function closeAll(closers: Closer[]): Promise<void> {
  const errors: Error[] = []
  for (const close of closers.splice(0).reverse()) {
    try {
      await close()
    } catch (error) {
      errors.push(error instanceof Error ? error : new Error(String(error)))
    }
  }
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(({ message }) => message).join('; '))
}
