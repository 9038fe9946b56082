/** How many words a message has (spec H4, N8): by Unicode segmentation, so that languages without spaces count too. */
import { pieces } from './markdown.ts'

/** A URL or an inline code span is one word; a fenced block counts word by word, without the lines that open and close it. */
export function countWords(text: string): number {
  return pieces(text)
    .pieces.map(({ kind, text }) => {
      switch (kind) {
        case 'inline code':
          return 1
        case 'fenced block':
          return segments(text.split('\n').slice(1).join('\n'))
        case 'prose':
          return proseWords(text)
        default:
          return kind satisfies never
      }
    })
    .reduce((sum, words) => sum + words, 0)
}

/** ASCII only, since a sentence in Chinese may go on right behind an address; brackets only in pairs, as in a Markdown link. */
const ADDRESS = /\bhttps?:\/\/(?:\([!#-'*-;=?-_a-~]*\)|[!#-'*-;=?-_a-~])+/gi

function proseWords(text: string): number {
  const urls = text.match(ADDRESS)?.length ?? 0
  return urls + segments(text.replace(ADDRESS, ' '))
}

const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

function segments(text: string): number {
  let words = 0
  for (const segment of WORDS.segment(text)) if (segment.isWordLike) words += 1
  return words
}
