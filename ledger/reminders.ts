/**
 * What follows a turn of the main Session that left candidates undecided though it was shown them (spec E7): a reminder, twice;
 * then they are stuck, with an alarm, and wait for people.
 */
import { sql } from 'kysely'
import { MAIN } from '../core/ticket/scope.ts'
import { raiseAlarm } from './alarms.ts'
import type { Tx } from './database.ts'
import { deliver } from './inbox.ts'

const MOST_REMINDERS = 2

export async function remindOfCandidates(tx: Tx): Promise<void> {
  // a candidate that came back is shown, and so reminded of, anew
  const { rows } = await sql<{ id: number; reminders: number }>`
    select candidate.id, (
      select count(*) from inbox r where r.kind = 'reminder' and r.candidate = candidate.id and r.created_at >= shown.created_at
    ) as reminders
    from candidate
    join lateral (
      select created_at, session from inbox where inbox.kind = 'candidate' and inbox.candidate = candidate.id order by id desc limit 1
    ) shown on shown.session is not null
    where candidate.state = 'waiting'
    order by candidate.id`.execute(tx)
  for (const { id, reminders } of rows) {
    if (Number(reminders) < MOST_REMINDERS) {
      const body = `C-${id} still waits for your decision. Decide it with orchestrator_route, or say in its reason why it is ignored.`
      await deliver(tx, [{ address: MAIN, kind: 'reminder', candidate: id, body }])
      continue
    }
    await tx.updateTable('candidate').set({ state: 'stuck' }).where('id', '=', id).where('state', '=', 'waiting').execute()
    await raiseAlarm(
      tx,
      'stuck',
      `C-${id}`,
      `the main Session has not decided C-${id} after ${MOST_REMINDERS} reminders: switchyard status shows what it is about`,
    )
  }
}
