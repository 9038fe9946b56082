/**
 * How much of a Session's previous request its next one kept (spec C1, C4): what a provider's cache can find again. Both are laid
 * out in the order in which the provider's model reads them, not in that of the JSON, and compared byte for byte.
 */
import { SEPARATOR } from './assemble.ts'
import type { Message } from './conversation.ts'

export interface Sent {
  provider: string
  /** As they were stored: JSON. */
  tools: string
  sections: readonly { name: string; text: string }[]
  messages: readonly Message[]
}

export interface Kept {
  bytes: number
  /** Of so many that the previous request had. */
  of: number
  /** The first section, `tools` or `message <n>` that is not as it was; null: all of the previous request stands, and more follows. */
  differs: string | null
}

export function keptPrefix(previous: Sent, next: Sent): Kept {
  const [before, after] = [layOut(previous), layOut(next)]
  const [from, to] = [bytesOf(before), bytesOf(after)]
  return { bytes: commonBytes(from, to), of: from.length, differs: firstDifference(before, after) }
}

interface Range {
  name: string
  text: string
}

function layOut({ provider, tools, sections, messages }: Sent): Range[] {
  const offered = { name: 'tools', text: tools }
  const system = sections.map(({ name, text }, index) => ({ name, text: index === 0 ? text : SEPARATOR + text }))
  const said = messages.map((message, index) => ({ name: `message ${index + 1}`, text: JSON.stringify(message) }))
  // DeepSeek writes the tools below the system prompt, the others above it
  return provider === 'deepseek' ? [...system, offered, ...said] : [offered, ...system, ...said]
}

function firstDifference(before: readonly Range[], after: readonly Range[]): string | null {
  const at = before.findIndex(({ name, text }, index) => after[index]?.name !== name || after[index].text !== text)
  const [was, is] = [before[at], after[at]]
  if (!was) return null
  // of two names the new one came in between, else the old one is gone
  return is && is.name !== was.name && !before.some(({ name }) => name === is.name) ? is.name : was.name
}

const bytesOf = (ranges: readonly Range[]): Buffer => Buffer.from(ranges.map(({ text }) => text).join(''))

function commonBytes(one: Buffer, other: Buffer): number {
  const most = Math.min(one.length, other.length)
  let same = 0
  // by halves: a conversation of megabytes is compared in native code
  for (let step = most; step > 0; step = Math.min(step >> 1, most - same)) {
    while (same + step <= most && one.compare(other, same, same + step, same, same + step) === 0) same += step
  }
  return same
}
