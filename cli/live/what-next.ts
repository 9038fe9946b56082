/** What to look at once the story is told: the result first, then where it can be followed further. */
import { harmless, padded, painted, type Style, type Tone } from './style.ts'

export interface Next {
  pullRequestUrl: string | null
  issueUrl: string | null
  temporalUi: string | null
  panel: string | null
  /** e.g. `T-1`. */
  ticket: string | null
  /** The Executor's Session, for its log. */
  session: string | null
  /** How the command line is called here, e.g. `npx switchyard`. */
  command: string
  /** Everything stays up to be explored until Ctrl-C. */
  staysUp: boolean
}

export function whatNext(next: Next, style: Style): string {
  const rows: [name: string, value: string | null, tone: Tone][] = [
    ['pull request', next.pullRequestUrl, 'link'],
    ['issue', next.issueUrl, 'link'],
    ['panel', next.panel, 'link'],
    ['Temporal UI', next.temporalUi, 'link'],
    ['the Ticket', next.ticket && `${next.command} status ${next.ticket}`, 'plain'],
    ['every word', next.session && `${next.command} log ${next.session}`, 'plain'],
    ['to end', next.staysUp ? 'Ctrl-C; the next start goes on from here' : null, 'plain'],
  ]
  const shown = rows.flatMap(([name, value, tone]) => (value === null ? [] : [{ name, value: harmless(value), tone }]))
  if (shown.length === 0) return ''
  const width = Math.max(...shown.map(({ name }) => name.length))
  return [
    painted('What to look at next', 'strong', style),
    ...shown.map(({ name, value, tone }) => `  ${painted(padded(name, width), 'faint', style)}  ${painted(value, tone, style)}`),
  ].join('\n')
}
