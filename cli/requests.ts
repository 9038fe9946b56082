/** `switchyard requests <session>`: a Session's requests in one table, with what each cost and what it kept of the one before. */
import { type PastRequest, pastRequests } from '../ledger/past-requests.ts'
import { withLedger } from './ledger.ts'
import { aligned, type Cell } from './lines.ts'
import type { Style } from './live/style.ts'
import { grouped, outcomeOf } from './request.ts'
import { findSession } from './session.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from './terminal.ts'

export function requests(written: string, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const found = await findSession(db, written)
    if ('refused' in found) {
      complain(found.refused)
      return 1
    }
    const past = await pastRequests(db, found.session)
    if (json) sayJson({ session: found.session, requests: past.map(listed) })
    else say(renderRequests(found.session, past, outputStyle()))
    return 0
  })
}

/** The words of each: switchyard request <id> --json. */
function listed({ system: _system, sections, tools, messages, ...facts }: PastRequest) {
  return { ...facts, sections: sections.map(({ text: _text, ...section }) => section), tools: tools.length, messages: messages.length }
}

export function renderRequests(session: string, past: readonly PastRequest[], style: Style): string {
  if (past.length === 0) return `${session} has asked its model nothing yet.`
  const titles = ['request', 'step', 'revision', 'Policy', 'tokens in', 'cached', 'out', 'kept', 'first difference', 'outcome']
  const rows = past.map(({ request, step, attempt, revision, policyVersion, tokens, kept, ...end }): Cell[] => [
    { text: String(request), tone: 'strong' },
    { text: attempt === 1 ? String(step) : `${step}, attempt ${attempt}` },
    { text: String(revision) },
    { text: String(policyVersion) },
    { text: shown(tokens.input) },
    { text: shown(tokens.cacheHit) },
    { text: shown(tokens.output) },
    { text: kept === null ? '–' : percentOf(kept) },
    { text: kept?.differs ?? '–' },
    { text: outcomeOf(end), tone: end.outcome === 'failed' ? 'warning' : 'plain' },
  ])
  return [
    ...aligned([titles.map((text) => ({ text, tone: 'faint' as const })), ...rows], style),
    '',
    `What one of them sent: switchyard request ${past.at(-1)!.request}`,
  ].join('\n')
}

/** What a provider did not report is no zero. */
const shown = (count: number | null): string => (count === null ? '–' : grouped(count))

/** Never rounded up to all of it. */
const percentOf = ({ bytes, of }: NonNullable<PastRequest['kept']>): string => `${Math.floor((100 * bytes) / Math.max(1, of))} %`
