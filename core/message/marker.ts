/**
 * The hidden marker by which the agent finds its own message again after an uncertain send (spec M4). Anybody can copy a marker,
 * so it means something only in a message whose author is this agent, and nothing is ever read from it but equality.
 */
import { createHash } from 'node:crypto'

export function markerLine(key: string): string {
  return `<!-- switchyard:v1 k=${digest(key)} -->`
}

/** What the last line's marker says, null if there is none. */
export function findMarker(body: string): string | null {
  return /(?:^|\n)<!-- switchyard:v1 k=([a-z2-7]{26}) -->\s*$/.exec(body)?.[1] ?? null
}

/** Accounts by numeric id as text; a deleted account has none and wrote nothing of ours. */
export function isOwnMessage(message: { body: string; authorId: string | null }, key: string, self: { id: string }): boolean {
  return message.authorId === self.id && findMarker(message.body) === digest(key)
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** The first 130 bits of the sha256, five to a letter. */
function digest(key: string): string {
  const bits = [...createHash('sha256').update(key).digest()].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return Array.from({ length: 26 }, (_, i) => BASE32[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)]).join('')
}
