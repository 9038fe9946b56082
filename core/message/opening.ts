/**
 * The body of a message on GitHub (spec H5): the opening sentence once, whatever the model wrote, then the model's text, then the
 * hidden marker on a line of its own.
 */

import { pieces } from './markdown.ts'
import { markerLine } from './marker.ts'

export const DEFAULT_OPENING = 'This message was written by an automated agent, not by a human.'

export function messageBody({ opening, text, key }: { opening: string; text: string; key: string }): string {
  return [opening.trim(), closed(withoutOpening(text, opening)), markerLine(key)].filter((piece) => piece !== '').join('\n\n')
}

/** The model's own words. An opening sentence in code is a quotation of it and stays. */
export function withoutOpening(text: string, opening: string): string {
  const sentence = openingPattern(opening)
  if (!sentence) return text.trim()
  return pieces(text)
    .pieces.map((piece) => (piece.kind === 'prose' ? piece.text.replace(sentence, '') : piece.text))
    .join('')
    .trim()
}

/** Matches whatever its case, the breaks between its words, and marks of emphasis or quotation around it. */
function openingPattern(opening: string): RegExp | null {
  const words = opening
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return null
  const sentence = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('\\s+')
  return new RegExp(`(?:^[ \\t]*>[ \\t]*)?[*_]{0,3}${sentence}[*_]{0,3}[ \\t]*`, 'gimu')
}

/** A fenced block left open would swallow the marker and show it. */
function closed(text: string): string {
  const { open } = pieces(text)
  return open === null ? text : `${text}\n${open}`
}
