/** Everything that a replay needs of a Session, in one snapshot that can write nothing (spec D9). */
import { sql } from 'kysely'
import type { RepositoryText } from '../core/prompt/section.ts'
import { type Database, type Tx, transaction } from './database.ts'
import { type PastRequest, readPast } from './past-requests.ts'
import type { Answered } from './recordings.ts'
import type { Configuration } from './revisions.ts'
import { readView, type StepView } from './step-view.ts'
import { readText } from './texts.ts'

export interface RecordedSession {
  /** With the configuration and the log as they are now. */
  view: StepView
  agentsMd: RepositoryText | null
  steps: RecordedStep[]
}

export interface RecordedStep {
  step: number
  /** Its number among the turns of the Session, from 1. */
  turn: number
  request: PastRequest
  /** `removed`: a purge took its words; null: recording was off. */
  recording: Answered | 'removed' | null
  /** Why a call of it was refused then, by call. */
  faults: ReadonlyMap<string, string>
}

export function recordedSession(
  db: Database,
  session: string,
  readConfiguration: (tx: Tx) => Promise<Configuration>,
): Promise<RecordedSession> {
  return transaction(
    db,
    async (tx) => {
      const view = await readView(tx, session, readConfiguration)
      return { view, agentsMd: await agentsMdOf(tx, view), steps: await stepsOf(tx, session) }
    },
    'repeatable read',
    'read only',
  )
}

async function agentsMdOf(tx: Tx, { agentsMd, baseCommit, ticket }: StepView): Promise<RepositoryText | null> {
  if (agentsMd === null || baseCommit === null || !ticket?.repository) return null
  return { repository: ticket.repository.fullName, commit: baseCommit, text: await readText(tx, agentsMd) }
}

async function stepsOf(tx: Tx, session: string): Promise<RecordedStep[]> {
  const rows = await tx
    .selectFrom('step')
    .leftJoin('recording', 'recording.request', 'step.request')
    .select(['step.step', 'step.outcome', 'step.request', 'recording.status', 'recording.contentType', 'recording.body'])
    .where('step.session', '=', session)
    .where('step.request', 'is not', null)
    .orderBy('step.step')
    .execute()
  const calls = await tx
    .selectFrom('toolCall')
    .select(['step', 'call', 'fault'])
    .where('session', '=', session)
    .where('fault', 'is not', null)
    .execute()
  const past = new Map((await readPast(tx, sql`session = ${session}`)).map((request) => [request.request, request]))
  return rows.map(({ step, request, status, contentType, body }, index) => ({
    step,
    turn: 1 + rows.slice(0, index).filter(({ outcome }) => outcome !== 'tools').length,
    request: past.get(request!)!,
    recording: status === null ? null : body === null ? 'removed' : { status, contentType: contentType!, body },
    faults: new Map(calls.filter((call) => call.step === step).map(({ call, fault }) => [call, fault!])),
  }))
}
