/**
 * The manner of the wire: what a route gets and gives, refusals in GitHub's shape, reading of a request's fields, and pages
 * with Link headers. A refusal is thrown, so that a rule may refuse from any depth; the server turns it into the answer.
 */
import type { Actor } from './auth.ts'
import type { World } from './world.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Call {
  world: World
  actor: Actor
  method: Method
  /** Without the API's prefix, as the caller wrote it. */
  path: string
  params: Record<string, string>
  query: URLSearchParams
  body: Record<string, unknown>
}

export interface Answer {
  status: number
  body?: unknown
  headers?: Record<string, string>
}

export interface Route {
  method: Method
  /** As the OpenAPI description writes it, so that route and contract are found by one name. */
  path: string
  handle(call: Call): Answer | Promise<Answer>
}

export interface FieldFault {
  resource: string
  field?: string
  code: 'missing_field' | 'invalid' | 'custom' | 'missing' | 'unprocessable' | 'already_exists'
  message?: string
}

const DOCUMENTATION = 'https://docs.github.com/rest'
const REFUSAL = Symbol('refusal')

export function refuse(status: number, message: string, errors?: FieldFault[]): never {
  const body = { message, ...(errors ? { errors } : {}), documentation_url: DOCUMENTATION, status: String(status) }
  throw Object.assign(new Error(message), { [REFUSAL]: { status, body } satisfies Answer })
}

export function refusalOf(error: unknown): Answer | null {
  return error instanceof Error && REFUSAL in error ? (error[REFUSAL] as Answer) : null
}

export function notFound(): never {
  return refuse(404, 'Not Found')
}

export function invalid(resource: string, field: string, code: FieldFault['code'], message?: string): never {
  return refuse(422, 'Validation Failed', [{ resource, field, code, ...(message ? { message } : {}) }])
}

export function found<T>(row: T | undefined | null): T {
  return row ?? notFound()
}

export function ok(body: unknown, status = 200): Answer {
  return { status, body }
}

/** GitHub refuses a comment or a description longer than this (facts: 65,536 characters). */
const BODY_LIMIT = 65_536

export function requiredText(fields: Record<string, unknown>, resource: string, field: string): string {
  const value = optionalText(fields, resource, field)
  if (value === null || value === undefined || value.trim() === '') return invalid(resource, field, 'missing_field')
  return value
}

/** `undefined`: not said; `null`: taken away. */
export function optionalText(fields: Record<string, unknown>, resource: string, field: string): string | null | undefined {
  const value = fields[field]
  if (value === undefined || value === null) return value
  if (typeof value !== 'string') return invalid(resource, field, 'invalid', `${field} must be a string`)
  if (field === 'body' && [...value].length > BODY_LIMIT) {
    return invalid(resource, field, 'unprocessable', `body is too long (maximum is ${BODY_LIMIT} characters)`)
  }
  return value
}

export function optionalTexts(fields: Record<string, unknown>, resource: string, field: string): string[] | undefined {
  const value = fields[field]
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return invalid(resource, field, 'invalid', `${field} must be a list`)
  return value.map((item) => {
    const text = typeof item === 'object' && item !== null && 'name' in item ? item.name : item
    return typeof text === 'string' ? text : invalid(resource, field, 'invalid', `${field} must be a list of strings`)
  })
}

export function oneOf<const T extends string>(value: unknown, legal: readonly T[], resource: string, field: string): T {
  const match = legal.find((item) => item === value)
  return match ?? invalid(resource, field, 'invalid', `${field} must be one of ${legal.join(', ')}`)
}

export function numberParam(call: Call, name: string): number {
  const text = call.params[name] ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : notFound()
}

/** One page of what a list route found, and the Link header that leads on. */
export function page<T>(call: Call, rows: readonly T[], render: (row: T) => unknown, wrap = (items: unknown[]): unknown => items): Answer {
  const size = pageSize(call)
  const last = Math.max(1, Math.ceil(rows.length / size))
  const at = Math.max(1, Number(call.query.get('page') ?? '1') || 1)
  const body = wrap(rows.slice((at - 1) * size, at * size).map(render))
  const links = [
    ...(at > 1 ? [link(call, { page: Math.min(at - 1, last) }, 'prev')] : []),
    ...(at < last ? [link(call, { page: at + 1 }, 'next'), link(call, { page: last }, 'last')] : []),
    ...(at > 1 ? [link(call, { page: 1 }, 'first')] : []),
  ]
  return { status: 200, body, headers: links.length > 0 ? { link: links.join(', ') } : {} }
}

export function pageSize(call: Call): number {
  return Math.min(100, Math.max(1, Number(call.query.get('per_page') ?? '30') || 30))
}

export function link(call: Call, change: Record<string, string | number>, rel: string): string {
  const query = new URLSearchParams(call.query)
  for (const [key, value] of Object.entries(change)) query.set(key, String(value))
  return `<${call.world.apiUrl()}${call.path}?${query}>; rel="${rel}"`
}

/** Newest first unless the caller says otherwise, by the field that GitHub sorts by. */
export function sorted<T extends { id: number; createdAt: string; updatedAt: string }>(
  call: Call,
  rows: readonly T[],
  direction: 'asc' | 'desc',
): T[] {
  const field = call.query.get('sort') === 'updated' ? 'updatedAt' : 'createdAt'
  const sign = (call.query.get('direction') ?? direction) === 'asc' ? 1 : -1
  return [...rows].sort((a, b) => sign * (a[field].localeCompare(b[field]) || a.id - b.id))
}

export function since<T extends { updatedAt: string }>(call: Call, rows: readonly T[]): T[] {
  const from = call.query.get('since')
  if (from !== null && Number.isNaN(Date.parse(from)))
    refuse(422, 'Validation Failed', [{ resource: 'Search', field: 'since', code: 'invalid' }])
  return rows.filter((row) => from === null || Date.parse(row.updatedAt) >= Date.parse(from))
}
