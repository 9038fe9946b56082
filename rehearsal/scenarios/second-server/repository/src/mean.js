/** The arithmetic mean; of no values there is none. */
export function mean(values) {
  if (values.length === 0) throw new RangeError('no values: there is no mean')
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
