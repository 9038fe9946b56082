/** `switchyard log <session>`: every word that a Session read and said, in order and whole (spec M7). `T-7` is its newest Session. */
import { MAIN, ticketOf } from '../core/ticket/scope.ts'
import type { Database } from '../ledger/database.ts'
import { type SessionLog, sessionLog, sessionsOf } from '../ledger/story.ts'
import { withLedger } from './ledger.ts'
import { clockOf, dayOf, shownLines } from './lines.ts'
import { harmless, painted, type Style } from './live/style.ts'
import { parseScope } from './scope.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from './terminal.ts'

export function log(written: string, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const found = await find(db, written)
    if ('refused' in found) {
      complain(found.refused)
      return 1
    }
    if (json) sayJson(found)
    else say(renderLog(found, outputStyle()))
    return 0
  })
}

async function find(db: Database, written: string): Promise<SessionLog | { refused: string }> {
  const word = written.trim().toLowerCase()
  const exact = await sessionLog(db, word)
  if (exact) return exact
  const parsed = parseScope(/^t(\d+)-\d+$/.exec(word)?.[1] ?? (/^main-\d+$/.test(word) ? MAIN : word))
  if ('refused' in parsed || parsed.scope === 'all') {
    return { refused: `"${written}" names no Session: a Session (t7-1, main-1), a Ticket for its newest one (T-7), or main` }
  }
  const ticket = ticketOf(parsed.scope)
  const known = await sessionsOf(db, ticket)
  const newest = known.at(-1)
  if (newest === undefined) return { refused: `there is no Ticket T-${ticket}. Those there are: switchyard status` }
  const isScope = 'scope' in parseScope(word)
  return (isScope && (await sessionLog(db, newest))) || { refused: `there is no Session ${written}. Those there are: ${known.join(', ')}` }
}

export function renderLog({ session, role, ticket, opened, ended, entries }: SessionLog, style: Style): string {
  const whose = ticket === null ? role : `${role} of T-${ticket}`
  const until = ended === null ? '' : `, until ${dayOf(ended)} ${clockOf(ended)}`
  return [
    `${painted(session, 'strong', style)} · ${whose} · since ${dayOf(opened)} ${clockOf(opened)}${until}`,
    ...(entries.length === 0 ? ['', 'Nothing was said yet.'] : []),
    ...entries.flatMap((entry) => ['', painted(headOf(entry), 'faint', style), ...wordsOf(entry)]),
  ].join('\n')
}

function headOf({ seq, kind, step, call, tool, at }: SessionLog['entries'][number]): string {
  const whose = call === null ? [] : [tool ?? 'unknown tool', call]
  return `── ${[seq, kind, `step ${step}`, ...whose.map(harmless), `${dayOf(at)} ${clockOf(at)}`].join(' · ')}`
}

/** As it is stored (core/prompt/conversation.ts): a text, and of an answer also the thinking and the calls. */
interface Body {
  text: string
  reasoning?: string
  calls?: { id: string; name: string; input: unknown }[]
}

function wordsOf({ body }: SessionLog['entries'][number]): string[] {
  if (body === null) return ['[removed from the record]']
  const { text, reasoning, calls = [] } = body as Body
  return [
    ...(reasoning ? ['(thinking)', ...shownLines(reasoning), '(end of thinking)'] : []),
    ...(text === '' ? [] : shownLines(text)),
    ...calls.flatMap(({ id, name, input }) => [harmless(`→ ${name} · ${id}`), ...shownLines(JSON.stringify(input, null, 2))]),
  ]
}
