/** One screen over everything: what is held, the Tickets, what waits, what cannot go on, what was ignored and why (spec I2, M5, O1). */
import { holdersOf, ticketScope } from '../../core/ticket/scope.ts'
import type { Overview, Some, TicketLine } from '../../ledger/story.ts'
import { ago, aligned, type Cell, counted } from '../lines.ts'
import { painted, type Style, type Tone } from '../live/style.ts'
import { scopeName, scopeWord } from '../scope.ts'

type Section = [title: string, rows: Cell[][], note?: string | null]

export function renderOverview(overview: Overview, style: Style, now: Date): string {
  const { held, main, tickets, closed, candidates, alarms, deliveries, ignored, unheard } = overview
  const ticketRows = (lines: readonly TicketLine[]) => lines.map((line) => ticketRow(line, held, now))
  const sections: Section[] = [
    [
      'Held',
      held.map(({ scope, by, reason, since }) => [
        { text: scopeName(scope), tone: 'warning' },
        { text: ago(since, now), tone: 'faint' },
        { text: [`by ${by}`, reason, `switchyard resume ${scopeWord(scope)}`].filter((part) => part !== '').join(' · ') },
      ]),
    ],
    ['Tickets', ticketRows(tickets)],
    [
      'The main Session',
      main.unread === 0 ? [] : [[{ text: `${counted(main.unread, 'item')} wait${main.unread === 1 ? 's' : ''} for its next step` }]],
    ],
    [
      'Candidates that wait',
      candidates.map(({ candidate, state, explicit, place, url, by, since }) => [
        { text: `C-${candidate}` },
        { text: state === 'stuck' ? 'stuck' : explicit ? 'asked for' : 'inferred', tone: state === 'stuck' ? 'bad' : 'plain' },
        { text: ago(since, now), tone: 'faint' },
        { text: `${place} by ${by} · ${url}` },
      ]),
    ],
    [
      'Alarms',
      alarms.map(({ kind, subject, body, since }) => [
        { text: kind, tone: 'bad' },
        { text: ago(since, now), tone: 'faint' },
        { text: `${subject}: ${body}` },
      ]),
    ],
    [
      'Commands that the workflows have not heard yet (they hold all the same)',
      unheard.map(({ command, scope, by, since, error }) => [
        { text: `${command} ${scopeWord(scope)}` },
        { text: ago(since, now), tone: 'faint' },
        { text: [`by ${by}`, error ?? ''].filter((part) => part !== '').join(' · ') },
      ]),
    ],
    [
      'Deliveries that are not decided',
      deliveries.shown.map(({ delivery, state, event, since, tries, reason }) => [
        { text: `${delivery}` },
        { text: state, tone: tries > 0 || state === 'failed' ? 'warning' : 'plain' },
        { text: ago(since, now), tone: 'faint' },
        {
          text: [event, ...(tries > 0 ? [`tried ${counted(tries, 'time')}`] : []), reason ?? ''].filter((part) => part !== '').join(' · '),
        },
      ]),
      more(deliveries),
    ],
    ['Closed lately', ticketRows(closed.shown), more(closed)],
    [
      'Ignored lately',
      ignored.shown.map(({ what, id, event, place, by, reason, at }) => [
        { text: `${what === 'candidate' ? 'C-' : `${what} `}${id}` },
        { text: ago(at, now), tone: 'faint' },
        { text: [event, place ?? '', by === null ? '' : `by ${by}`, reason].filter((part) => part !== '').join(' · ') },
      ]),
      more(ignored),
    ],
  ]
  const shown = sections.filter(([, rows]) => rows.length > 0)
  return [
    summary(overview),
    ...shown.flatMap(([title, rows, note]) => [
      '',
      painted(title, 'strong', style),
      ...aligned(rows, style),
      ...(note ? [`  ${note}`] : []),
    ]),
  ].join('\n')
}

function summary({ held, tickets, closed, alarms }: Overview): string {
  const parts = [
    `${counted(tickets.length, 'live Ticket')}, ${closed.count} closed`,
    held.length === 0 ? 'nothing is held' : `held: ${held.map(({ scope }) => scopeName(scope)).join(', ')}`,
    alarms.length === 0 ? 'no alarm' : counted(alarms.length, 'open alarm'),
  ]
  return parts.join(' · ')
}

const STATE_TONES: Readonly<Record<TicketLine['state'], Tone>> = {
  queued: 'plain',
  working: 'good',
  waiting: 'plain',
  blocked: 'bad',
  closed: 'faint',
}

function ticketRow({ ticket, state, closedReason, since, title, place, unread }: TicketLine, held: Overview['held'], now: Date): Cell[] {
  const paused = state !== 'closed' && held.some(({ scope }) => holdersOf(ticketScope(ticket)).includes(scope))
  const waiting = unread === 0 ? [] : [`${counted(unread, 'message')} wait${unread === 1 ? 's' : ''}`]
  return [
    { text: `T-${ticket}`, tone: 'strong' },
    { text: paused ? `${state}, paused` : (closedReason ?? state), tone: paused ? 'warning' : STATE_TONES[state] },
    { text: ago(since, now), tone: 'faint' },
    { text: place },
    { text: [title, ...waiting].join(' · ') },
  ]
}

/** What is not shown is counted. */
function more({ count, shown }: Some<unknown>): string | null {
  return count > shown.length ? `and ${counted(count - shown.length, 'other')}` : null
}
