/**
 * Reading a GitHub payload, which may hold anything: fields are missing, null or of another type in reality, whatever the schema
 * says (facts/github.md §6). Every reader is total: it answers with an empty value and never throws (spec M5).
 */

/**
 * JSON with every integer exact (F052): one beyond 2^53 becomes the text of its digits, which `idOf` takes like a number. The
 * reviver costs many times the parsing, so it runs only if the text holds so long a number at all.
 */
export function parseExact(body: string): unknown {
  return LONG_INTEGER.test(body) ? JSON.parse(body, keepDigits as Reviver) : JSON.parse(body)
}

const LONG_INTEGER = /[:,[]\s*-?\d{16}/

type Reviver = (this: unknown, key: string, value: unknown) => unknown

function keepDigits(_key: string, value: unknown, context: { source?: string }): unknown {
  const isLong = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? '')
  return isLong ? context.source : value
}

/** JSON of what the API's client gave: it reads long integers as `bigint`, and they are written as the numbers that they were (F052). */
export function stringifyExact(payload: unknown): string {
  return JSON.stringify(payload, (_, value) => (typeof value === 'bigint' ? rawJson(String(value)) : value))
}

const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

/** What lies at a path of own properties; undefined if the path ends early. */
export function at(value: unknown, ...path: string[]): unknown {
  let here = value
  for (const name of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, name)) return undefined
    here = (here as Record<string, unknown>)[name]
  }
  return here
}

export function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** LF line ends. A NUL or half a surrogate pair, which Postgres cannot hold as text, becomes U+FFFD. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replace(/\r\n?/g, '\n').replaceAll('\0', '\uFFFD').toWellFormed() : ''
}

/** A numeric id as its digits. The API's client reads long ones as `bigint`. */
export function idOf(value: unknown): string | null {
  if (typeof value === 'bigint') return value > 0n ? String(value) : null
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : null
  return typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value) ? value : null
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}

/** A commit; the 40 zeros that stand for none are none (F033). */
export function shaOf(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(value) && !/^0+$/.test(value) ? value : null
}

/** ISO 8601 in UTC, from GitHub's ISO text or, in a push, from seconds. */
export function timeOf(value: unknown): string | null {
  const time =
    typeof value === 'number' ? value * 1000 : typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isFinite(time) && time > 0 && time < 253_402_300_800_000 ? new Date(time).toISOString() : null
}
