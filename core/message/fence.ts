/**
 * How outside text is written into what a model reads (spec L1): between two lines whose mark is made of the text's own hash,
 * so that the text cannot hold its own closing line and the same text is fenced the same way for ever.
 */
import { hash } from 'node:crypto'

/** `kind` says what stands inside, e.g. `text`, `AGENTS.md`. */
export function fence(kind: string, text: string): string {
  const shown = visible(text)
  const mark = markFor(shown)
  return `<<< ${kind} ${mark}\n${shown}\n>>> ${kind} ${mark}`
}

function markFor(text: string): string {
  for (let round = 0; ; round += 1) {
    const mark = hash('sha256', `${round}:${text}`, 'hex').slice(0, 16)
    if (!text.includes(mark)) return mark
  }
}

/**
 * Characters that a person does not see, or that change the order of those they see. A zero-width joiner or one variation
 * selector inside an emoji is what makes it that emoji, and stays.
 */
const EMOJI = String.raw`\p{Extended_Pictographic}[\u{FE0E}\u{FE0F}]?\p{Emoji_Modifier}?`
const SEEN = String.raw`${EMOJI}(?:\u{200D}${EMOJI})*|[0-9#*]\u{FE0F}\u{20E3}`
const HIDDEN = String.raw`(?![\n\t])[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Cs}\p{Zl}\p{Zp}]`
const EITHER = new RegExp(`(?<seen>${SEEN})|${HIDDEN}`, 'gu')

/** Hidden characters become escapes such as `\u{202E}`; line feeds and tabs stay. */
export function visible(text: string): string {
  return text.replace(EITHER, (found, seen: string | undefined) => seen ?? `\\u{${found.codePointAt(0)!.toString(16).toUpperCase()}}`)
}

export function hidesText(text: string): boolean {
  return visible(text) !== text
}

/** The team's own words on one line: as typed, but that no break can open another line. */
export const unbroken = (text: string): string => text.replace(/[\s\u{85}\u{2028}\u{2029}]+/gu, ' ').trim()

/** A value that others may have chosen, on one line of a header: it can neither open a line nor hide a character. */
export function oneLine(text: string): string {
  return visible(unbroken(text))
}
