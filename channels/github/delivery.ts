/** What is kept of a delivery beside its body, over whatever way it came: its place, and what its headers tell. */
import { at, idOf, numberOf } from './payload.ts'

/** Events of one issue or pull request are decided in the order in which they came; null: in any order. */
export function placeOf(payload: unknown): string | null {
  const repository = idOf(at(payload, 'repository', 'id'))
  const number = numberOf(at(payload, 'issue', 'number')) ?? numberOf(at(payload, 'pull_request', 'number'))
  if (repository === null) return null
  return number === null ? `github:${repository}` : `github:${repository}#${number}`
}

/** Neither signatures nor what says nothing about the delivery. Headers are not signed. */
export function toldBeside(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const names = Object.keys(headers).filter((name) => name === 'user-agent' || name.startsWith('x-github-'))
  return Object.fromEntries(names.toSorted().map((name) => [name, [headers[name] ?? ''].flat().join(', ')]))
}
