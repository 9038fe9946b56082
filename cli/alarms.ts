/** `switchyard alarms`: what cannot go on by itself (spec O1), since when, and with `--all` also what is over. */
import { type Alarm, alarms as readAlarms } from '../ledger/story.ts'
import { withLedger } from './ledger.ts'
import { ago, aligned, clockOf, dayOf } from './lines.ts'
import { painted, type Style } from './live/style.ts'
import { type ExitCode, outputStyle, say, sayJson } from './terminal.ts'

export function alarms({ all = false, json = false }: { all?: boolean; json?: boolean }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const found = await readAlarms(db, { all })
    if (json) sayJson({ alarms: found })
    else say(renderAlarms(found, { all, style: outputStyle(), now: new Date() }))
    return 0
  })
}

export function renderAlarms(found: readonly Alarm[], { all, style, now }: { all: boolean; style: Style; now: Date }): string {
  if (found.length === 0) return all ? 'There was no alarm yet.' : 'No alarm is open. Those that are over: switchyard alarms --all'
  return found
    .flatMap(({ kind, subject, body, since, ended }) => [
      painted(`${kind}: ${subject}`, ended === null ? 'bad' : 'plain', style),
      ...aligned(
        [
          [{ text: 'since', tone: 'faint' }, { text: `${whenOf(since)} (${ago(since, now)} ago)` }],
          ...(ended === null ? [] : [[{ text: 'ended', tone: 'faint' as const }, { text: whenOf(ended) }]]),
          [{ text: 'what', tone: 'faint' }, { text: body }],
        ],
        style,
      ),
    ])
    .join('\n')
}

const whenOf = (at: Date): string => `${dayOf(at)} ${clockOf(at)}`
