/**
 * A Trigger card (spec C7, L1): how a Trigger is written into a conversation. The header holds facts that the host vouches for;
 * whatever an outsider could choose is quoted there, and what was written stands fenced below. Sender, permission and
 * explicitness come from the header only.
 */
import { fence, hidesText, oneLine } from './fence.ts'

export interface CardFacts {
  /** The Trigger's id; tools take it as `message`. */
  message: number
  kind: 'message' | 'fact'
  /** Set on the cards of the main Session. Reasons of Tickets that handed the message back are their own words. */
  candidate: { id: string; explicit: boolean; returned: readonly { ticket: string; reason: string }[] } | null
  /** What the message is to the Ticket that reads it; null on the cards of the main Session. */
  standing: 'started this Ticket' | 'to claim or hand back' | 'claimed' | 'for information' | null
  event: string
  /** e.g. `acme/shop#7`. */
  place: string
  title: string
  author: { login: string; authority: 'admin' | 'member' | 'outsider' }
  url: string
  happenedAt: string
  facts: Readonly<Record<string, string>>
  text: string
  /** Where the whole stands when the text has to be cut, as words for the model. */
  whole: string
}

/** Text of one card; a longer one is cut with a pointer to the whole. */
export const CARD_TEXT_BYTES = 32 * 1024

export function card(given: CardFacts, limit = CARD_TEXT_BYTES): string {
  return [...header(given), ...body(given, limit)].join('\n')
}

function header({ message, kind, candidate, standing, event, place, author, url, happenedAt, facts, text }: CardFacts): string[] {
  const about = `${kind} ${message}`
  const first = candidate
    ? [`candidate ${candidate.id}`, about, candidate.explicit ? 'explicit' : 'inferred', oneLine(place), oneLine(event)]
    : [about, ...(standing ? [standing] : []), oneLine(place), oneLine(event)]
  return [
    first.join(' · '),
    `by ${oneLine(author.login)} (${author.authority}) · ${oneLine(happenedAt)} · ${oneLine(url)}`,
    ...Object.keys(facts)
      .sort()
      .map((name) => `${oneLine(name)}: ${JSON.stringify(oneLine(facts[name]!))}`),
    ...(candidate?.returned ?? []).map(({ ticket, reason }) => `handed back by ${ticket}: ${JSON.stringify(oneLine(reason))}`),
    ...(hidesText(text) ? ['the text holds invisible or reordering characters, shown as \\u{…}'] : []),
  ]
}

function body({ title, text, whole }: CardFacts, limit: number): string[] {
  const { shown, bytes, total } = cut(text, limit)
  const titled = title === '' || text.startsWith(title) ? shown : `(in: ${oneLine(title)})\n\n${shown}`
  if (titled === '') return ['(no text)']
  const fenced = fence('text', titled.trimEnd())
  return total > bytes ? [fenced, `cut: the first ${bytes} of ${total} bytes stand here. The whole: ${whole}`] : [fenced]
}

/** The longest beginning of at most `limit` bytes that ends between two code points. */
function cut(text: string, limit: number): { shown: string; bytes: number; total: number } {
  const all = Buffer.from(text)
  if (all.length <= limit) return { shown: text, bytes: all.length, total: all.length }
  let end = limit
  while (end > 0 && (all[end]! & 0xc0) === 0x80) end -= 1
  return { shown: all.subarray(0, end).toString(), bytes: end, total: all.length }
}
