/** Rows as aligned lines: as wide as the terminal, the last cell goes on below itself, and nothing is cut. Times as people say them. */
import { columns, harmless, padded, painted, type Style, type Tone, wrapped } from './live/style.ts'

export interface Cell {
  text: string
  tone?: Tone
}

/** The last cell of a row keeps at least so many columns; a narrower terminal breaks the line itself. */
const LEAST = 20

/** Text from outside is made harmless here, so a cell may hold a title or a message. */
export function aligned(rows: readonly (readonly Cell[])[], style: Style, indent = 2): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, { text }] of row.slice(0, -1).entries()) widths[at] = Math.max(widths[at] ?? 0, columns(harmless(text)))
  }
  return rows.flatMap((row) => {
    const before = row.slice(0, -1).map(({ text, tone = 'plain' }, at) => painted(padded(harmless(text), widths[at]!), tone, style))
    const start = indent + widths.slice(0, before.length).reduce((sum, width) => sum + width + 2, 0)
    const { text, tone = 'plain' } = row.at(-1) ?? { text: '' }
    const lines = wrapped(harmless(text), Math.max(LEAST, style.width - start)).map((line) => painted(line, tone, style))
    const [first = '', ...more] = lines
    return [' '.repeat(indent) + [...before, first].join('  '), ...more.map((line) => ' '.repeat(start) + line)].map((line) =>
      line.trimEnd(),
    )
  })
}

/** Line by line, with its tabs: what is shown can be compared and copied, and cannot steer the terminal. */
export const shownLines = (text: string): string[] => text.split(/\r?\n/).map((line) => line.split('\t').map(harmless).join('\t'))
export const shownText = (text: string): string => shownLines(text).join('\n')

/** `12 s`, `5 min`, `3 h`, `2 d`: the largest unit that fits at least once. */
export function ago(since: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** In the reader's own time zone. */
export const dayOf = (at: Date): string => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
export const clockOf = (at: Date): string => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`

export const counted = (count: number, thing: string): string => `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`

const two = (value: number): string => String(value).padStart(2, '0')
