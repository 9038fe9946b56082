/** `switchyard log <session>`: every word that a Session read and said, in order and whole (spec M7). `T-7` is its newest Session. */
import { type SessionLog, sessionLog } from '../ledger/story.ts'
import { withLedger } from './ledger.ts'
import { clockOf, dayOf } from './lines.ts'
import { harmless, painted, type Style } from './live/style.ts'
import { findSession } from './session.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from './terminal.ts'
import { type Said, saidLines } from './words.ts'

export function log(written: string, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const found = await findSession(db, written)
    if ('refused' in found) {
      complain(found.refused)
      return 1
    }
    const whole = (await sessionLog(db, found.session))! // rows are never deleted
    if (json) sayJson(whole)
    else say(renderLog(whole, outputStyle()))
    return 0
  })
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

/** As it is stored: core/prompt/conversation.ts. */
const wordsOf = ({ body }: SessionLog['entries'][number]): string[] =>
  body === null ? ['[removed from the record]'] : saidLines(body as Said)
