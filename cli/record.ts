/** `switchyard record on | off | status`: whether answers of the model are recorded (spec D9). A switch is a row with who and why (O7). */
import { transaction } from '../ledger/database.ts'
import { type RecordingState, recordingState, switchRecording } from '../ledger/recordings.ts'
import type { CommandOptions } from './command.ts'
import { withLedger } from './ledger.ts'
import { clockOf, dayOf } from './lines.ts'
import { type ExitCode, say } from './terminal.ts'
import { whoAsks } from './who.ts'

export function record(what: 'on' | 'off' | 'status', { reason, as }: CommandOptions): Promise<ExitCode> {
  return withLedger(async (db) => {
    if (what === 'status') {
      say(stateText(await recordingState(db)))
      return 0
    }
    const actor = as ?? whoAsks()
    const { already } = await transaction(db, (tx) => switchRecording(tx, { on: what === 'on', actor, transport: 'cli', reason }))
    say(already ? `Nothing to do. ${stateText(already)}` : DONE[what])
    return 0
  })
}

const DONE = {
  on: 'Recording is on: from the next request on, every answer is stored as it comes from the provider. Again off: switchyard record off',
  off: 'Recording is off. What was recorded stays and can be replayed: switchyard replay <session>',
}

function stateText(state: RecordingState | null): string {
  if (!state) return 'Recording is off; nobody has switched it on yet.'
  const { on, by, since, reason } = state
  return `Recording is ${on ? 'on' : 'off'} since ${dayOf(since)} ${clockOf(since)}, by ${by}${reason === '' ? '' : ` (${reason})`}.`
}
