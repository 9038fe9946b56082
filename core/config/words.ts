/** Text is stored as it was given, but for line ends (spec K6); what Postgres or a reader would silently lose is refused. */
import { type ConfigFault, pointerOf } from './fault.ts'

/** No document of ours is deeper; a draft that is has the wrong shape, which is told where that is told. */
export const DEEPEST = 12

/** CRLF and CR become LF, in names too. */
export function withLineFeeds(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(/\r\n?/g, '\n')
  if (value === null || typeof value !== 'object' || depth > DEEPEST) return value
  if (Array.isArray(value)) return value.map((each) => withLineFeeds(each, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [withLineFeeds(name), withLineFeeds(each, depth + 1)]))
}

export function wordFaults(value: unknown, path: readonly PropertyKey[] = []): ConfigFault[] {
  if (typeof value === 'string') return faultsIn(value).map((found) => ({ pointer: pointerOf(path), found, legal: 'text without it' }))
  if (value === null || typeof value !== 'object' || path.length > DEEPEST) return []
  return Object.entries(value).flatMap(([name, each]) => wordFaults(each, [...path, name]))
}

function faultsIn(text: string): string[] {
  const nul = text.indexOf('\0')
  const lone = text.isWellFormed() ? -1 : loneSurrogate(text)
  return [
    ...(nul === -1 ? [] : [`the character U+0000 stands at ${placeOf(text, nul)}`]),
    ...(lone === -1
      ? []
      : [`half of a character (U+${text.charCodeAt(lone).toString(16).toUpperCase()}) stands at ${placeOf(text, lone)}`]),
  ]
}

const loneSurrogate = (text: string): number => /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.exec(text)!.index

function placeOf(text: string, at: number): string {
  const before = text.slice(0, at)
  return `line ${before.split('\n').length}, column ${[...before.slice(before.lastIndexOf('\n') + 1)].length + 1}`
}
