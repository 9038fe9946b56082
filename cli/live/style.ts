/** How the terminal wants it: colour only where a person looks on, lines as wide as it is, and no control character from outside. */
import { styleText } from 'node:util'

export interface Style {
  colour: boolean
  /** Columns. */
  width: number
  /** When the story began; lines show the time since. */
  since: number
}

export type Tone = 'plain' | 'faint' | 'strong' | 'good' | 'warning' | 'bad' | 'link'

const FORMATS = {
  plain: [],
  faint: ['dim'],
  strong: ['bold'],
  good: ['green'],
  warning: ['yellow'],
  bad: ['red', 'bold'],
  link: ['cyan'],
} as const satisfies Record<Tone, readonly string[]>

const WIDTH = { least: 40, unknown: 100 }

/** `NO_COLOR`, when set and not empty, and anything but a terminal get plain text; `FORCE_COLOR` does not bring it back. */
export function styleFor(stream: { isTTY?: boolean; columns?: number }, env: NodeJS.ProcessEnv, since: number): Style {
  const colour = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  return { colour, width: Math.max(WIDTH.least, stream.columns ?? WIDTH.unknown), since }
}

export function painted(text: string, tone: Tone, { colour }: Style): string {
  return colour && text !== '' && tone !== 'plain' ? styleText([...FORMATS[tone]], text, { validateStream: false }) : text
}

/** Text from outside on one line: a title must not move the cursor, ring, or turn the reading order round. */
export function harmless(text: string): string {
  return text.replace(/[\t\r\n]+/g, ' ').replace(/[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}

/** Words put on lines of at most `width` columns; what is longer than a line alone is broken, but an address stays whole to be clicked. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap((word) => (isAddress(word) ? [word] : broken(word, width)))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && columns(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line]
}

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columns(text)))
}

/** Columns of a terminal: Chinese and emoji take two, combining marks none. */
export function columns(text: string): number {
  return graphemes(text).reduce((sum, grapheme) => sum + widthOf(grapheme), 0)
}

function widthOf(grapheme: string): number {
  if (/^[\p{M}\p{Cf}]+$/u.test(grapheme)) return 0
  return /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u.test(
    grapheme,
  )
    ? 2
    : 1
}

function isAddress(word: string): boolean {
  return /^https?:\/\//.test(word)
}

function broken(word: string, width: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const grapheme of graphemes(word)) {
    if (piece !== '' && columns(piece + grapheme) > width) {
      pieces.push(piece)
      piece = ''
    }
    piece += grapheme
  }
  return [...pieces, piece]
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

function graphemes(text: string): string[] {
  return Array.from(SEGMENTER.segment(text), ({ segment }) => segment)
}
