/** How many pages it takes to show `total` widgets, `perPage` on each. */
export function pageCount(total, perPage) {
  requirePositive(perPage)
  return Math.floor(total / perPage)
}

/** The widgets on page `number`, counted from 1. */
export function pageOf(widgets, number, perPage) {
  requirePositive(perPage)
  return widgets.slice((number - 1) * perPage, number * perPage)
}

function requirePositive(perPage) {
  if (!Number.isInteger(perPage) || perPage < 1) throw new RangeError(`perPage must be a whole number above 0, not ${perPage}`)
}
