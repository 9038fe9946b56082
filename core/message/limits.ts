/** How long words may be (spec E2, E6, H4). Too long is refused with the count, never cut. */
import { withoutOpening } from './opening.ts'
import { countWords } from './words.ts'

export const WORD_LIMITS = {
  /** Whatever reaches people, an acknowledgement included. */
  message: 100,
  routingNote: 30,
  noteToTicket: 100,
} as const

/** null if the text is short enough; the opening sentence is not counted. */
export function messageTooLong(text: string, opening: string): string | null {
  return tooLong(
    'the message',
    withoutOpening(text, opening),
    WORD_LIMITS.message,
    'Say the one thing that the reader must do or can use, link to the rest',
  )
}

export function routingNoteTooLong(note: string): string | null {
  return tooLong(
    'the routing note',
    note,
    WORD_LIMITS.routingNote,
    'The Ticket gets the original message anyway: keep only what it cannot know',
  )
}

function tooLong(what: string, text: string, limit: number, advice: string): string | null {
  const words = countWords(text)
  return words > limit ? `${what} has ${words} words; at most ${limit} are legal. ${advice}.` : null
}
