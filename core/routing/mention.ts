/**
 * Whether a text mentions the agent (spec N1): `@slug` or `@slug[bot]`, in any case, said in the author's own voice. Only the
 * exact handle counts; look-alikes, longer handles, addresses and handles with invisible characters inside do not (F046–F048).
 */
import { spoken } from './spoken.ts'

export interface Mention {
  mentioned: boolean
  /** The text without the mentions that count, each with a comma or colon right behind it: what a command is read from (N5). */
  withoutMention: string
}

export function findMention(text: string, slug: string): Mention {
  const found = [...spoken(text).matchAll(handle(slug))]
  return {
    mentioned: found.length > 0,
    withoutMention: without(
      text,
      found.map((match) => ({ start: match.index, end: match.index + match[0].length })),
    ),
  }
}

const INVISIBLE = '\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2069\\uFEFF\\u{E0000}-\\u{E007F}'

/**
 * The boundaries look past invisible characters, since a reader sees none of them. Behind the handle a letter of an alphabet in
 * which handles are written or imitated makes it another name; Chinese, Japanese and Korean words follow without a space.
 */
function handle(slug: string): RegExp {
  const name = inAnyCase(slug)
  const before = `(?<![A-Za-z0-9_@/.-][${INVISIBLE}]*)`
  const after = `(?![${INVISIBLE}]*(?:[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{M}\\p{Nd}_-]|/\\w))`
  return new RegExp(`${before}@${name}(?:${inAnyCase('[bot]')})?${after}`, 'gu')
}

/** Letter by letter: the flag `i` beside `u` folds U+017F into s and U+212A into k, which makes look-alikes of a handle match. */
function inAnyCase(name: string): string {
  return Array.from(name, (letter) =>
    /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : letter.replace(/[\^$\\.*+?()[\]{}|/]/, '\\$&'),
  ).join('')
}

function without(text: string, ranges: readonly { start: number; end: number }[]): string {
  let out = ''
  let done = 0
  for (const { start, end } of ranges) {
    out += text.slice(done, start)
    done = /[,:，：]/.test(text.charAt(end)) ? end + 1 : end
  }
  return out + text.slice(done)
}
