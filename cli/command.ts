/**
 * `switchyard pause | resume | close | retry`: a person's command is a row first, which holds at once (spec I3, O7); then it is said
 * whether the workflow has heard it, which the dispatcher sees to.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ALL } from '../core/ticket/scope.ts'
import { type Database, transaction } from '../ledger/database.ts'
import { type CommandKind, recordCommand } from '../ledger/pauses.ts'
import { type Hold, holdsOver } from '../ledger/story.ts'
import { withLedger } from './ledger.ts'
import { parseScope, scopeName, scopeWord } from './scope.ts'
import { complain, type ExitCode, say } from './terminal.ts'
import { whoAsks } from './who.ts'

export interface CommandOptions {
  reason: string
  as?: string
}

/** How long it is looked whether the workflow has heard. */
const LISTEN_MS = 3_000
const LOOK_MS = 100

export async function command(kind: CommandKind, written: string, { reason, as }: CommandOptions): Promise<ExitCode> {
  const parsed = parseScope(written)
  if ('refused' in parsed) {
    complain(parsed.refused)
    return 2
  }
  const { scope } = parsed
  if (kind === 'retry' && scope === ALL) {
    complain('only one thing at a time can be tried again: a Ticket (T-7) or main, since each stands still for a reason of its own')
    return 2
  }
  return withLedger(async (db) => {
    const actor = as ?? whoAsks()
    const recorded = await transaction(db, (tx) => recordCommand(tx, { kind, scope, actor, transport: 'cli', reason }))
    if ('refused' in recorded) {
      complain(recorded.refused)
      return 1
    }
    const holds = await holdsOver(db, scope)
    const heard = recorded.already === null ? await isHeard(db, recorded.id) : null
    say(outcome({ kind, scope, already: recorded.already, heard, holds }))
    return 0
  })
}

export interface Outcome {
  kind: CommandKind
  scope: string
  /** Who did it before; null: this command did it. */
  already: string | null
  /** Null: there was nothing to hear. */
  heard: boolean | null
  holds: Pick<Hold, 'scope' | 'by' | 'reason'>[]
}

/** What holds now, in at most three sentences. */
export function outcome({ kind, scope, already, heard, holds }: Outcome): string {
  const name = scopeName(scope)
  const above = holds.filter((hold) => hold.scope !== scope)
  const sentences = [
    already === null ? `${name} ${DONE[kind]}.` : `${name} ${kind === 'pause' ? 'is paused already' : 'is not held'}: ${already}.`,
    ...(heard === null ? [] : [hearing(kind, heard)]),
    ...(kind === 'resume'
      ? above.map((hold) => `${stillHeld(hold)}, so ${name} stays held until switchyard resume ${scopeWord(hold.scope)}.`)
      : []),
    ...(kind === 'retry' ? holds.map((hold) => `${stillHeld(hold)}: it tries after switchyard resume ${scopeWord(hold.scope)}.`) : []),
  ]
  const text = sentences.join(' ')
  return text[0]!.toUpperCase() + text.slice(1)
}

const DONE: Readonly<Record<CommandKind, string>> = {
  pause: 'is paused',
  resume: 'is resumed',
  close: 'is closed',
  retry: 'is asked to try again',
}

function hearing(kind: CommandKind, heard: boolean): string {
  if (kind === 'retry') return heard ? 'It is on its way.' : 'The workflow will hear it when Temporal is reachable.'
  return heard ? 'This holds; the workflow has heard it.' : 'This holds; the workflow will hear it when Temporal is reachable.'
}

const stillHeld = ({ scope, by, reason }: Outcome['holds'][number]): string =>
  `But ${scopeName(scope)} is paused by ${by}${reason === '' ? '' : ` (${reason})`}`

async function isHeard(db: Database, id: number): Promise<boolean> {
  for (const until = Date.now() + LISTEN_MS; ; await sleep(LOOK_MS)) {
    const { deliveredAt } = await db.selectFrom('command').select('deliveredAt').where('id', '=', id).executeTakeFirstOrThrow()
    if (deliveredAt !== null) return true
    if (Date.now() >= until) return false
  }
}
