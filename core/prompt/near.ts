/** Which known name was meant by one that is not known; only ever a hint in an error. */

/** The name at most two edits away, the first of the nearest by code unit order; null if none is that close. */
export function closest(written: string, names: readonly string[]): string | null {
  if (written.length > 64) return null
  const ranked = names
    .map((name) => ({ name, edits: edits(written, name) }))
    .filter(({ name, edits }) => edits <= 2 && edits < name.length)
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))
  return ranked[0]?.name ?? null
}

/** Edit distance in which two neighbours that changed places count once: `titel` is one edit from `title`. */
function edits(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const changed = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, changed, swapped))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
