/**
 * References in built-in parts, overrides and personas (spec D2), and the exact placeholders of the template parts (spec B2),
 * replaced in one pass: what a value contains is never scanned again.
 *
 * The grammar is frozen, since stored texts depend on it: `{{name}}` is a reference, `{{{{` writes `{{`, a `{{` with no `}}`
 * after it is prose, anything else that opens with `{{` is a fault. Single braces mean something only as a known placeholder.
 */

import { closest } from './near.ts'

export type Values = Readonly<Record<string, string | undefined>>

export interface Scope {
  /** Named in faults: the section or part that the text belongs to. */
  section: string
  /** Registered variables; `undefined` is a variable that has no value for this Session. */
  variables: Values
  placeholders?: Readonly<Record<string, string>>
}

export interface ReferenceFault {
  section: string
  /** The reference as written. */
  reference: string
  /** From 1; the column counts code points. */
  line: number
  column: number
  problem: string
  /** The names that are known there, sorted. */
  known: readonly string[]
  /** All of it in a sentence. */
  message: string
}

export type Rendered = { text: string } | { fault: ReferenceFault }

export function render(text: string, scope: Scope): Rendered {
  let rendered = ''
  for (const token of scan(text, Object.keys(scope.placeholders ?? {}))) {
    const value = replacement(token, scope)
    if (typeof value !== 'string') return { fault: located(placesIn(text)(token.at), token, scope, value.problem) }
    rendered += value
  }
  return { text: rendered }
}

/** Every fault of a text, for a save that reports all at once (spec K5). */
export function referenceFaults(text: string, scope: Scope): ReferenceFault[] {
  const place = placesIn(text)
  return scan(text, Object.keys(scope.placeholders ?? {})).flatMap((token) => {
    const value = replacement(token, scope)
    return typeof value === 'string' ? [] : [located(place(token.at), token, scope, value.problem)]
  })
}

export type Token =
  | { kind: 'prose'; text: string; at: number }
  | { kind: 'variable'; name: string; text: string; at: number }
  | { kind: 'placeholder'; name: string; text: string; at: number }
  | { kind: 'unbalanced'; text: string; at: number }

/** Splits a text by the grammar above; linear in its length, also where every brace is a fault. */
export function scan(text: string, placeholders: readonly string[]): Token[] {
  const mark = placeholders.length > 0 ? '{' : '{{'
  let at = text.indexOf(mark)
  if (at === -1) return text === '' ? [] : [{ kind: 'prose', text, at: 0 }]

  const tokens: Token[] = []
  const lastClose = text.lastIndexOf('}}')
  let proseFrom = 0
  const take = (token: Token, length: number) => {
    if (token.at > proseFrom) tokens.push({ kind: 'prose', text: text.slice(proseFrom, token.at), at: proseFrom })
    tokens.push(token)
    proseFrom = token.at + length
  }
  while (at !== -1) {
    const found = tokenAt(text, at, lastClose, placeholders)
    if (found) take(found.token, found.length)
    // a lone `{{` is passed over as a whole, so that `{{version}` holds no `{version}`
    const next = found ? at + found.length : at + (text.startsWith('{{', at) ? 2 : 1)
    at = text.indexOf(mark, next)
  }
  if (proseFrom < text.length) tokens.push({ kind: 'prose', text: text.slice(proseFrom), at: proseFrom })
  return tokens
}

const GROUP = /\{\{([^{}]*)\}\}/y

function tokenAt(text: string, at: number, lastClose: number, placeholders: readonly string[]): { token: Token; length: number } | null {
  if (text.startsWith('{{{{', at)) return { token: { kind: 'prose', text: '{{', at }, length: 4 }
  if (!text.startsWith('{{', at)) {
    const name = placeholders.find((placeholder) => text.startsWith(`{${placeholder}}`, at))
    return name === undefined ? null : { token: { kind: 'placeholder', name, text: `{${name}}`, at }, length: name.length + 2 }
  }
  GROUP.lastIndex = at
  const group = GROUP.exec(text)
  if (group && text[at + group[0].length] !== '}') {
    return { token: { kind: 'variable', name: group[1]!, text: group[0], at }, length: group[0].length }
  }
  if (lastClose < at + 2) return null
  const whole = group ? group[0] + closing(text, at + group[0].length) : opened(text, at)
  return { token: { kind: 'unbalanced', text: whole, at }, length: whole.length }
}

function closing(text: string, from: number): string {
  let to = from
  while (text[to] === '}') to += 1
  return text.slice(from, to)
}

/** What to show of a group that does not close: up to the next `}}` of the same line, or what little stands there. */
function opened(text: string, at: number): string {
  const shown = text.slice(at, at + 60)
  const end = shown.indexOf('}}')
  const line = shown.indexOf('\n')
  if (end !== -1 && (line === -1 || end < line)) return shown.slice(0, end) + closing(shown, end)
  return text.startsWith('{{{', at) ? '{{{' : '{{'
}

const NAME = /^[a-z][a-z0-9_]*$/

function replacement(token: Token, { variables, placeholders }: Scope): string | { problem: string } {
  switch (token.kind) {
    case 'prose':
      return token.text
    case 'placeholder':
      return placeholders![token.name]!
    case 'unbalanced':
      return { problem: `its braces are not balanced: a reference is exactly {{name}}, and {{{{ writes a literal {{` }
    case 'variable': {
      const { name } = token
      if (!NAME.test(name)) {
        return {
          problem: `a name matches ${NAME.source}, without spaces, and {{{{ writes a literal {{${near(name, variables, placeholders)}`,
        }
      }
      if (!Object.hasOwn(variables, name)) return { problem: `no such variable${near(name, variables, placeholders)}` }
      const value = variables[name]
      return value === undefined ? { problem: 'the variable has no value for this Session' } : value
    }
    default:
      return token satisfies never
  }
}

function near(name: string, variables: Values, placeholders: Scope['placeholders'] = {}): string {
  const plain = name.trim().toLowerCase().replaceAll('-', '_')
  if (Object.hasOwn(placeholders, plain)) return `; did you mean {${plain}}?`
  const close = closest(
    plain,
    Object.keys(variables).filter((each) => variables[each] !== undefined),
  )
  return close === null ? '' : `; did you mean {{${close}}}?`
}

function located({ line, column }: Place, token: Token, scope: Scope, problem: string): ReferenceFault {
  const known = Object.keys(scope.variables).sort()
  const message =
    `${scope.section}, line ${line}, column ${column}: ${JSON.stringify(token.text)}: ${problem}. ` +
    `Known variables: ${known.length > 0 ? known.join(', ') : '(none)'}.`
  return { section: scope.section, reference: token.text, line, column, problem, known, message }
}

interface Place {
  line: number
  column: number
}

/** Asked for growing positions, it walks the text once. */
function placesIn(text: string): (at: number) => Place {
  let seen = 0
  let [line, column] = [1, 1]
  return (at) => {
    for (const character of text.slice(seen, at)) [line, column] = character === '\n' ? [line + 1, 1] : [line, column + 1]
    seen = at
    return { line, column }
  }
}
