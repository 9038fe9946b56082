/** One Ticket's story in order, a line for each thing that happened, and then where it stands and what it waits for. */
import type { Entry, Story, TicketNow } from '../../ledger/story.ts'
import type { ShownTrigger } from '../../ledger/triggers.ts'
import { ago, aligned, type Cell, clockOf, counted, dayOf } from '../lines.ts'
import { columns, harmless, padded, painted, type Style, type Tone } from '../live/style.ts'
import { targetOf } from '../live/target.ts'
import { scopeName } from '../scope.ts'
import { waitsFor } from './waits-for.ts'

export function renderStory({ ticket, title, tokens, sessions, entries, now: stands }: Story, style: Style, now: Date): string {
  const rows = entries.map((entry) => ({ day: dayOf(entry.at), cells: cellsOf(entry) }))
  // the same width on every day, so that all columns stand below each other
  const width = Math.max(0, ...rows.map(({ cells: [, what] }) => columns(harmless(what.text))))
  const days = [...Map.groupBy(rows, ({ day }) => day)]
  return [
    `${painted(`T-${ticket}`, 'strong', style)}  ${harmless(title)}`,
    ...days.flatMap(([day, those]) => [
      '',
      painted(day, 'faint', style),
      ...aligned(
        those.map(({ cells: [clock, what, rest] }) => [clock, { ...what, text: padded(harmless(what.text), width) }, rest]),
        style,
      ),
    ]),
    '',
    painted('Now', 'strong', style),
    ...aligned(
      [
        ...standing(ticket, stands, now),
        fact('tokens', number(tokens)),
        fact('every word', `switchyard log ${sessions.at(-1) ?? `T-${ticket}`}`),
      ],
      style,
    ),
  ].join('\n')
}

function standing(ticket: number, stands: TicketNow, now: Date): Cell[][] {
  const waits = waitsFor(ticket, stands)
  const state = stands.closedReason === null ? stands.state : `closed: ${stands.closedReason}`
  return [
    fact('state', `${state}, for ${ago(stands.since, now)}`),
    ...stands.holds.map(({ scope, by, reason, since }) =>
      fact('held', `${scopeName(scope)} is paused by ${by} for ${ago(since, now)}${reason === '' ? '' : `: ${reason}`}`, 'warning'),
    ),
    ...stands.alarms.map(({ kind, body, since }) => fact('alarm', `${kind}, for ${ago(since, now)}: ${body}`, 'bad')),
    ...(stands.unread === 0 ? [] : [fact('inbox', `${counted(stands.unread, 'message')} wait${stands.unread === 1 ? 's' : ''}`)]),
    ...(waits === null ? [] : [fact('waits for', waits)]),
    ...stands.pullRequests.map(({ url, state, draft }) =>
      fact('pull request', `${url} (${draft && state === 'open' ? 'draft' : state})`, 'link'),
    ),
  ]
}

const fact = (name: string, text: string, tone: Tone = 'plain'): Cell[] => [
  { text: name, tone: 'faint' },
  { text, tone },
]

function cellsOf(entry: Entry): [clock: Cell, what: Cell, rest: Cell] {
  const { what, tone = 'plain', rest, restTone = 'plain' } = partsOf(entry)
  return [
    { text: clockOf(entry.at), tone: 'faint' },
    { text: what, tone },
    { text: rest.filter((part) => part !== '').join(' · '), tone: restTone },
  ]
}

interface Parts {
  what: string
  tone?: Tone
  rest: string[]
  restTone?: Tone
}

const OUTCOME_TONES = { done: 'plain', refused: 'warning', failed: 'warning', interrupted: 'warning' } as const

function partsOf(entry: Entry): Parts {
  switch (entry.kind) {
    case 'asked':
      return {
        what: 'asked',
        tone: 'good',
        rest: [`by ${entry.message.author} in ${placeOf(entry.message)}`, entry.message.event, entry.message.url],
      }
    case 'candidate': {
      const round = entry.round > 1 ? [`round ${entry.round}`] : []
      return { what: `candidate C-${entry.candidate}`, rest: [entry.explicit ? 'asked for' : 'inferred', ...round] }
    }
    case 'decided':
      return { what: entry.decision, rest: [`C-${entry.candidate} by ${entry.by ?? 'nobody named'}`, entry.reason ?? ''] }
    case 'started':
      return {
        what: 'Ticket',
        tone: 'good',
        rest: [entry.title, `for ${entry.requester ?? 'nobody named'}`, `may: ${entry.effects.join(', ')}`],
      }
    case 'session':
      return { what: 'new Session', rest: [entry.session] }
    case 'arrived': {
      const about = entry.message ? [`by ${entry.message.author}`, entry.message.event, entry.message.url] : [entry.text ?? '']
      const state = entry.dropped === null ? (entry.taken === null ? 'waits' : `read in ${entry.taken}`) : `dropped: ${entry.dropped}`
      return { what: `${entry.item}${entry.message ? ` ${entry.message.id}` : ''}`, rest: [...about, state] }
    }
    case 'unanswered': {
      const times = entry.times > 1 ? [`${entry.times} times until ${clockOf(entry.last)}`] : []
      return {
        what: `request ${entry.outcome}`,
        tone: 'warning',
        rest: [`${entry.session} step ${entry.step}`, ...times, entry.error ?? ''],
      }
    }
    case 'step': {
      const spent = entry.inputTokens === null ? [] : [`${number(entry.inputTokens)} tokens in, ${number(entry.outputTokens ?? 0)} out`]
      const rest = [
        `revision ${entry.revision ?? 'unknown'}`,
        entry.model ?? '',
        ...spent,
        ...(entry.outcome === 'tools' ? [] : [TURN[entry.outcome]]),
      ]
      return { what: `model step ${entry.step}`, tone: 'faint', rest, restTone: 'faint' }
    }
    case 'call': {
      const outcome = entry.outcome === 'done' ? [] : [entry.outcome ?? (entry.ended === null ? 'not ended' : 'ended')]
      const tone = entry.outcome === null ? 'faint' : OUTCOME_TONES[entry.outcome]
      return { what: `  ${entry.tool}`, tone, rest: [targetOf(entry.tool, entry.input), ...outcome, entry.fault ?? ''] }
    }
    case 'effect':
      return effectParts(entry)
    case 'report':
      return {
        what: `report: ${entry.status}`,
        tone: 'good',
        rest: [entry.summary ?? '[removed from the record]', entry.pullRequest ?? '', ...entry.evidence],
      }
    case 'command': {
      const about = entry.command === 'close' ? [] : [scopeName(entry.scope)]
      const heard = entry.heard === null ? ['not heard by the workflow yet'] : []
      return { what: entry.command, tone: 'warning', rest: [...about, `by ${entry.by} (${entry.via})`, entry.reason, ...heard] }
    }
    case 'alarm': {
      const over = entry.ended === null ? 'open' : `over at ${dayOf(entry.ended)} ${clockOf(entry.ended)}`
      return { what: `ALARM ${entry.alarm}`, tone: 'bad', rest: [entry.body, over], restTone: 'warning' }
    }
    case 'closed':
      return { what: 'closed', tone: 'good', rest: [entry.reason] }
    default:
      return entry satisfies never
  }
}

const TURN = { end: 'its turn ended', more: 'its turn ended; more waits', closed: 'too late: closed' } as const

/** The states in which an effect is not simply there. */
const UNSETTLED = {
  intent: 'not sent yet',
  sent: 'sent, not confirmed yet',
  uncertain: 'may have happened; it is looked up',
  failed: 'failed',
  dropped: 'not sent: people wrote during a pause',
} as const

function effectParts({ effect, key, payload, state, url, error }: Extract<Entry, { kind: 'effect' }>): Parts {
  const rest = [detailOf(effect, payload), url ?? '', ...(state === 'confirmed' ? [] : [UNSETTLED[state], error ?? ''])]
  // the key of a message is speaker/purpose/thing (core/message/purpose.ts)
  const what = effect === 'comment' ? `said: ${key.split('/')[1]}` : (DONE[effect] ?? effect)
  return { what, tone: state === 'confirmed' ? 'good' : 'warning', rest, restTone: state === 'confirmed' ? 'link' : 'plain' }
}

const DONE: Readonly<Record<string, string>> = {
  push: 'pushed',
  'pull_request.open': 'pull request opened',
  'pull_request.update': 'pull request updated',
  'pull_request.ready': 'pull request ready',
  'pull_request.draft': 'pull request draft',
  'pull_request.close': 'pull request closed',
}

function detailOf(effect: string, { branch, sha, title }: Record<string, unknown>): string {
  if (effect === 'push') return `${branch} at ${String(sha).slice(0, 10)}`
  return typeof title === 'string' ? title : ''
}

const placeOf = ({ place }: ShownTrigger): string => `${place.repository ?? place.source}${place.number === null ? '' : `#${place.number}`}`

/** The same in every locale. */
const number = (value: number): string => value.toLocaleString('en-US')
