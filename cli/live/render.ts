/**
 * One event as one aligned line of the terminal: time since the start, who, what, and the rest, which goes on below itself where
 * the terminal is too narrow. Nothing is cut.
 */
import type { CallOutcome, LiveEvent } from './event.ts'
import { harmless, padded, painted, type Style, type Tone, wrapped } from './style.ts'

interface Parts {
  who: string
  what: string
  tone: Tone
  rest: string
  restTone?: Tone
}

const COLUMNS = { elapsed: 8, who: 7, what: 24 }

const OUTCOME_TONE: Readonly<Record<CallOutcome, Tone>> = { done: 'plain', refused: 'warning', failed: 'warning', interrupted: 'warning' }

export function renderTicketEvents(event: LiveEvent, style: Style): string {
  const { who, what, tone, rest, restTone = 'plain' } = partsOf(event)
  const indent = COLUMNS.elapsed + COLUMNS.who + COLUMNS.what + 3
  const [first = '', ...more] = wrapped(harmless(rest), Math.max(20, style.width - indent))
  const head = [
    painted(elapsed(event.at - style.since).padStart(COLUMNS.elapsed), 'faint', style),
    painted(padded(harmless(who), COLUMNS.who), 'strong', style),
    painted(padded(harmless(what), COLUMNS.what), tone, style),
  ]
  const lines = [
    `${head.join(' ')} ${painted(first, restTone, style)}`,
    ...more.map((line) => ' '.repeat(indent) + painted(line, restTone, style)),
  ]
  return lines.map((line) => line.trimEnd()).join('\n')
}

function partsOf(event: LiveEvent): Parts {
  switch (event.kind) {
    case 'delivery':
      return { who: event.source, what: 'delivery received', tone: 'plain', rest: `${event.event} · ${event.id}` }
    case 'trigger': {
      const rest = [`${event.place} by ${event.author}`, event.event, `→ ${event.decision}`, ...(event.reason ? [event.reason] : [])]
      return { who: 'host', what: `message ${event.message}`, tone: 'plain', rest: rest.join(' · ') }
    }
    case 'routed': {
      const rest = [event.decision, ...(event.ticket ? [event.ticket] : []), ...(event.reason ? [event.reason] : [])]
      return { who: 'main', what: `routed ${event.candidate}`, tone: 'plain', rest: rest.join(' · ') }
    }
    case 'ticket':
      return { who: event.ticket, what: 'started', tone: 'good', rest: `${event.title} · ${event.executor}` }
    case 'model step': {
      const rest = `revision ${event.revision} · ${number(event.inputTokens)} tokens in, ${number(event.outputTokens)} out`
      return { who: event.who, what: `model step ${event.step}`, tone: 'faint', rest, restTone: 'faint' }
    }
    case 'tool call': {
      const rest = [event.target, ...(event.outcome === 'done' ? [] : [event.outcome]), ...(event.detail ? [event.detail] : [])]
      return { who: event.who, what: event.tool, tone: OUTCOME_TONE[event.outcome], rest: rest.filter((part) => part !== '').join(' · ') }
    }
    case 'comment':
      return { who: event.who, what: `said: ${event.purpose}`, tone: 'good', rest: event.url, restTone: 'link' }
    case 'push':
      return { who: event.who, what: 'pushed', tone: 'good', rest: `${event.branch} · ${event.sha.slice(0, 10)}` }
    case 'pull request':
      return { who: event.who, what: `pull request ${event.action}`, tone: 'good', rest: `${event.title} · ${event.url}` }
    case 'report':
      return { who: event.who, what: `report: ${event.status}`, tone: 'good', rest: event.summary }
    case 'turn ended':
      return { who: event.who, what: 'turn ended', tone: 'faint', rest: event.outcome, restTone: 'faint' }
    case 'closed':
      return { who: event.ticket, what: 'closed', tone: 'good', rest: event.reason }
    case 'alarm':
      return { who: event.who, what: 'ALARM', tone: 'bad', rest: event.what, restTone: 'warning' }
    case 'alarm over':
      return { who: event.who, what: 'alarm over', tone: 'good', rest: event.what }
  }
}

/** `0:07.3`, `12:07.3`, `1:02:07.3`. */
function elapsed(milliseconds: number): string {
  const tenths = Math.max(0, Math.floor(milliseconds / 100))
  const [hours, minutes, seconds] = [Math.floor(tenths / 36_000), Math.floor(tenths / 600) % 60, Math.floor(tenths / 10) % 60]
  const clock = hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
  return `${clock}.${tenths % 10}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** The same in every locale. */
function number(value: number): string {
  return value.toLocaleString('en-US')
}
