/**
 * What goes wrong on purpose: an operator's rules, kept in memory and not in the state. Here stands what a rule may say and which
 * request or delivery it meets; `mishaps.ts` carries out a request's rule, `hooks.ts` a delivery's, `outage.ts` the failure of all.
 *
 * Of several rules the first that fits is met, and one rule only. The operator's own deeds are never met by any.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Mistake } from './acts/setup.ts'
import type { Outage } from './outage.ts'

export interface RequestMatch {
  method?: string
  /** A regular expression over the path without `/api/v3`; git's are like `/acme/shop.git/git-receive-pack`. */
  path?: string
  /** A regular expression over the query's text; only GraphQL requests match. */
  graphql?: string
}

export interface DeliveryMatch {
  /** A regular expression over `event.action`, e.g. `issue_comment\.created`. */
  event?: string
}

export type RequestDeed =
  | { does: 'delay'; ms: number }
  /** The connection is held, then reset. */
  | { does: 'hang' | 'hang after commit'; ms: number }
  | { does: '502 before' | '502 after commit' | 'reset before' | 'reset after commit' }
  /** The right status, and the JSON cut in its middle. */
  | { does: 'truncate' }
  /** `seconds` to wait, as GitHub names it (default 60 and 3,600). */
  | { does: 'secondary limit' | 'primary limit'; seconds?: number }
  /** 401 for the installation's token that comes with the request, from now on: until a new one is minted. */
  | { does: 'token expired' }

export type DeliveryDeed =
  /** Posted `copies` times at once, under one GUID. */
  | { does: 'duplicate'; copies: number }
  /** `hold` deliveries are kept back and then posted in reverse; fewer stay back until the rules change. For one hook's deliveries. */
  | { does: 'reorder'; hold: number }
  /** Logged as failed, never posted. */
  | { does: 'drop' }
  | { does: 'delay delivery'; ms: number }

interface Times {
  /** How many requests, deliveries or groups to reorder it is for (default 1); null: until the rules change. */
  times?: number | null
}

export type RequestRule = RequestDeed & Times & { match?: RequestMatch }
export type DeliveryRule = DeliveryDeed & Times & { match?: DeliveryMatch }
/** For everything but the operator, and at once: API, git, and no webhook goes out before its end (default answer: 503). */
export interface OutageRule {
  does: 'outage'
  ms: number
  answer?: '503' | 'refused'
}
export type Rule = RequestRule | DeliveryRule | OutageRule

/** What each deed is done to, and what it must be told. Git has no JSON to cut and counts no limits. */
const DEEDS: Readonly<Record<Rule['does'], { to: readonly Seen['kind'][]; needs?: 'ms' | 'copies' | 'hold' }>> = {
  delay: { to: ['api', 'git'], needs: 'ms' },
  hang: { to: ['api', 'git'], needs: 'ms' },
  'hang after commit': { to: ['api', 'git'], needs: 'ms' },
  '502 before': { to: ['api', 'git'] },
  '502 after commit': { to: ['api', 'git'] },
  'reset before': { to: ['api', 'git'] },
  'reset after commit': { to: ['api', 'git'] },
  'token expired': { to: ['api', 'git'] },
  truncate: { to: ['api'] },
  'secondary limit': { to: ['api'] },
  'primary limit': { to: ['api'] },
  duplicate: { to: ['delivery'], needs: 'copies' },
  reorder: { to: ['delivery'], needs: 'hold' },
  drop: { to: ['delivery'] },
  'delay delivery': { to: ['delivery'], needs: 'ms' },
  outage: { to: [], needs: 'ms' },
}

export type Seen =
  | { kind: 'api'; method: string; path: string; graphql: string | null; token: string | null }
  | { kind: 'git'; method: string; path: string; token: string | null }
  | { kind: 'delivery'; event: string }

/** A rule and how often it may still be met. */
export interface Live<Of extends Rule = Rule> {
  rule: Of
  left: number
}

export interface Faults {
  set(given: unknown): Promise<void>
  request(seen: Exclude<Seen, { kind: 'delivery' }>): RequestRule | null
  delivery(event: string): Live<DeliveryRule> | null
  isSet(live: Live): boolean
  outage: Outage
}

export function createFaults(outage: Outage): Faults {
  let rules: readonly Live[] = []
  const met = (seen: Seen): Live | null => {
    const live = pick(rules, seen)
    if (live) live.left -= 1
    return live
  }
  return {
    async set(given) {
      const checked = checkRules(given)
      rules = checked.map((rule) => ({ rule, left: timesOf(rule) }))
      await outage.end()
      const out = checked.find((rule) => rule.does === 'outage')
      if (out) outage.begin(out.ms, out.answer ?? '503')
    },
    request: (seen) => (met(seen)?.rule as RequestRule | undefined) ?? null,
    delivery: (event) => met({ kind: 'delivery', event }) as Live<DeliveryRule> | null,
    isSet: (live) => rules.includes(live),
    outage,
  }
}

export function pick(rules: readonly Live[], seen: Seen): Live | null {
  return rules.find(({ rule, left }) => left > 0 && DEEDS[rule.does].to.includes(seen.kind) && fits(rule, seen)) ?? null
}

function fits(rule: Rule, seen: Seen): boolean {
  if (rule.does === 'outage') return false
  const match: RequestMatch & DeliveryMatch = rule.match ?? {}
  const holds = (pattern: string | undefined, text: string | null) =>
    pattern === undefined || (text !== null && new RegExp(pattern).test(text))
  if (seen.kind === 'delivery') return holds(match.event, seen.event)
  // an App's own signature is no token that could be minted anew
  if (rule.does === 'token expired' && (seen.token === null || seen.token.split('.').length === 3)) return false
  return (
    (match.method === undefined || match.method.toUpperCase() === seen.method) &&
    holds(match.path, seen.path) &&
    holds(match.graphql, seen.kind === 'api' ? seen.graphql : null)
  )
}

function timesOf(rule: Rule): number {
  if (rule.does === 'outage') return 0
  const times = rule.times === null ? Number.POSITIVE_INFINITY : (rule.times ?? 1)
  return rule.does === 'reorder' ? times * rule.hold : times
}

/** Over HTTP the rules may stand alone or as `rules`. */
function checkRules(given: unknown): Rule[] {
  const rules = typeof given === 'object' && given !== null && 'rules' in given ? given.rules : given
  if (!Array.isArray(rules)) throw new Mistake('setFaults takes a list of rules; an empty one clears them')
  for (const [at, rule] of rules.entries()) {
    const problem = problemOf(rule)
    if (problem) throw new Mistake(`rule ${at + 1}: ${problem}`)
  }
  return rules as Rule[]
}

function problemOf(rule: unknown): string | null {
  if (typeof rule !== 'object' || rule === null) return 'a rule is an object'
  const { does, match = {}, times = 1, ...rest } = rule as Record<string, unknown>
  if (typeof does !== 'string' || !Object.hasOwn(DEEDS, does)) {
    return `does ${JSON.stringify(does)} is unknown; legal are ${Object.keys(DEEDS).join(', ')}`
  }
  const { to, needs } = DEEDS[does as Rule['does']]
  if (needs && !isCount(rest[needs])) return `"${does}" needs ${needs}, a whole number from 1 on`
  if (times !== null && !isCount(times)) return 'times is a whole number from 1 on, or null for as long as the rules stay'
  if (rest.seconds !== undefined && !isCount(rest.seconds)) return 'seconds is a whole number from 1 on'
  if (rest.answer !== undefined && rest.answer !== '503' && rest.answer !== 'refused') return 'answer is "503" or "refused"'
  return matchProblem(match, to.includes('delivery') ? ['event'] : to.length > 0 ? ['method', 'path', 'graphql'] : [])
}

function matchProblem(match: unknown, legal: readonly string[]): string | null {
  if (typeof match !== 'object' || match === null) return 'match is an object'
  for (const [name, pattern] of Object.entries(match)) {
    if (!legal.includes(name)) return `match.${name} is unknown here; legal are ${legal.join(', ') || 'none'}`
    if (typeof pattern !== 'string') return `match.${name} is a text`
    try {
      new RegExp(pattern)
    } catch (error) {
      return `match.${name}: ${(error as Error).message}`
    }
  }
  return null
}

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value) && value >= 1

/** Ends after `ms`, or as soon as the offline GitHub closes. */
export async function pause(ms: number, closing: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: closing }).catch((error: unknown) => {
    if (!closing.aborted) throw error
  })
}
