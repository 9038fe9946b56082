/** Follows the ledger and tells what happens as events for the terminal, each once and in order. */
import { setTimeout as sleep } from 'node:timers/promises'
import { placeName } from '../../core/message/items.ts'
import type { Database } from '../../ledger/database.ts'
import { type Happened, happenings } from '../../ledger/happenings.ts'
import type { Happening, LiveEvent } from './event.ts'
import { targetOf } from './target.ts'

const POLL_MS = 200
/** Longer than any of our transactions: a row's time may be older than what was told before it. */
const LAG_MS = 10_000

/** Calls `tell` until the signal. Trouble with the database is waited out: the program itself says what is wrong. */
export async function follow(db: Database, since: Date, tell: (event: LiveEvent) => void, signal: AbortSignal): Promise<void> {
  const told = new Set<string>()
  let newest = since.getTime()
  while (!signal.aborted) {
    const rows = await happenings(db, new Date(Math.max(since.getTime(), newest - LAG_MS))).catch(() => [])
    for (const row of rows) {
      const key = `${row.kind} ${row.id}`
      if (told.has(key)) continue
      told.add(key)
      newest = Math.max(newest, row.at.getTime())
      const happening = eventOf(row)
      if (happening) tell({ at: row.at.getTime(), ...happening })
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** `main-1` → main, `t7-1` → T-7. */
const who = (session: string | null): string =>
  session === null ? 'host' : session.startsWith('main') ? 'main' : session.replace(/^t(\d+)-\d+$/, 'T-$1')

function eventOf({ kind, id, facts }: Happened): Happening | null {
  switch (kind) {
    case 'delivery':
      return { kind, source: facts.source, event: facts.event, id: facts.guid }
    case 'trigger':
      // what the agent caused itself is told where it caused it
      if (facts.rule === 'P1') return null
      return {
        kind,
        message: Number(id),
        event: facts.event,
        place: placeName({ repository: facts.repository, number: facts.number, title: facts.title }),
        author: facts.author,
        decision: facts.rule === 'P7' ? 'ignored' : facts.rule,
        reason: facts.reason,
      }
    case 'routed': {
      const decision = facts.state === 'started' ? 'start' : facts.state === 'attached' ? 'attach' : 'ignore'
      return {
        kind,
        candidate: `C-${id}`,
        decision,
        ...(facts.ticket === null ? {} : { ticket: `T-${facts.ticket}` }),
        ...(facts.reason ? { reason: facts.reason } : {}),
      }
    }
    case 'ticket':
      return { kind, ticket: `T-${id}`, title: facts.title, executor: facts.session }
    case 'request':
      if (facts.outcome !== 'answered') return null
      return {
        kind: 'model step',
        who: who(facts.session),
        step: facts.step,
        revision: facts.revision,
        inputTokens: facts.input ?? 0,
        outputTokens: facts.output ?? 0,
      }
    case 'call':
      return {
        kind: 'tool call',
        who: who(facts.session),
        tool: facts.tool,
        target: targetOf(facts.tool, facts.input),
        outcome: facts.outcome,
        ...(facts.said ? { detail: JSON.parse(`"${/^\{"text":"((?:[^"\\]|\\.)*)/.exec(facts.said)?.[1] ?? ''}"`) as string } : {}),
      }
    case 'effect':
      return effectOf(facts)
    case 'report':
      return { kind, who: who(facts.session), status: facts.status, summary: facts.summary ?? '' }
    case 'end':
      return { kind: 'turn ended', who: who(facts.session), outcome: facts.outcome }
    case 'closed':
      return { kind, ticket: `T-${id}`, reason: facts.reason }
    case 'alarm':
    case 'alarm over':
      return { kind, who: facts.subject, what: facts.body }
    default:
      return kind satisfies never
  }
}

const PULL_REQUEST_ACTIONS = { open: 'opened', ready: 'ready', draft: 'draft', update: 'updated', close: 'closed' } as const

function effectOf({ session, effect, key, state, url, payload }: Happened['facts']): Happening | null {
  if (state !== 'confirmed') return null
  const action = /^pull_request\.(\w+)$/.exec(effect)?.[1] as keyof typeof PULL_REQUEST_ACTIONS | undefined
  if (action)
    return {
      kind: 'pull request',
      who: who(session),
      action: PULL_REQUEST_ACTIONS[action],
      title: payload.title ?? `#${payload.number}`,
      url,
    }
  if (effect === 'push') return { kind: 'push', who: who(session), branch: payload.branch, sha: payload.sha }
  return { kind: 'comment', who: who(session), purpose: /\/(\w+)\//.exec(key)?.[1] ?? effect, url }
}
