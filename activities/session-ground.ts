/**
 * What an Executor Session stands on: the commit of the base branch at which it started, and that commit's AGENTS.md (spec C2,
 * N12). Read from GitHub once, before the Session's first request, and fixed for its life. What only people can mend blocks the
 * Session and raises an alarm (spec O1).
 */
import { ApplicationFailure } from '@temporalio/activity'
import { GithubError, redacted } from '../channels/github/failure.ts'
import type { RepositoryText } from '../core/prompt/section.ts'
import { raiseAlarm } from '../ledger/alarms.ts'
import type { StepView } from '../ledger/step-view.ts'
import { readText, storable, storeTexts } from '../ledger/texts.ts'
import type { Deps } from './deps.ts'
import type { Running } from './model-step.ts'
import { isOutage } from './outage.ts'
import { GitFailure } from './workspace/git.ts'

export interface SessionGround {
  agentsMd: RepositoryText | null
  /** The checkout's folder as commands in the sandbox see it; null: no repository, no workspace. */
  cwd: string | null
}

export async function standOnGround(deps: Deps, view: StepView, running: Running): Promise<SessionGround | { outcome: 'blocked' }> {
  const repository = view.ticket?.repository
  if (!view.ticket || !repository || !deps.github) return { agentsMd: null, cwd: null }
  const cwd = deps.workspaces.folder(view.ticket.id, repository.fullName)
  if (view.baseCommit !== null) {
    const text = view.agentsMd === null ? null : await readText(deps.db, view.agentsMd)
    return { agentsMd: text === null ? null : { repository: repository.fullName, commit: view.baseCommit, text }, cwd }
  }
  const ticket = { id: view.ticket.id, scope: view.scope, repository: repository.fullName }
  let ground: Awaited<ReturnType<typeof deps.workspaces.ground>>
  try {
    ground = await deps.workspaces.ground(repository, running.signal)
  } catch (error) {
    running.signal.throwIfAborted()
    return unreachable(deps, ticket, error, running)
  }
  if (!ground) return blocked(deps, ticket, `has no commit on ${repository.defaultBranch}: there is nothing to work on`)
  const agentsMd = ground.agentsMd === null ? null : storable(ground.agentsMd)
  const [sha] = agentsMd === null ? [null] : await storeTexts(deps.db, [agentsMd], deps.storedTexts)
  const stood = await deps.db
    .updateTable('session')
    .set({ baseCommit: ground.commit, agentsMd: sha ? Buffer.from(sha, 'hex') : null })
    .where('id', '=', view.session)
    .where('baseCommit', 'is', null)
    .executeTakeFirst()
  // another attempt was first, perhaps with another commit: the next look stands on what it wrote
  if (stood.numUpdatedRows === 0n)
    throw ApplicationFailure.retryable(`${view.session} was given its ground by another attempt`, 'GroundTaken')
  return { agentsMd: agentsMd === null ? null : { repository: repository.fullName, commit: ground.commit, text: agentsMd }, cwd }
}

interface GroundOf {
  id: number
  scope: string
  repository: string
}

/** With Temporal's growing pauses between attempts so many of them take about ten minutes: then people are told, once. */
const PATIENT_ATTEMPTS = 10

async function unreachable(deps: Deps, ground: GroundOf, error: unknown, { attempt }: Running): Promise<{ outcome: 'blocked' }> {
  if (isOutage(error)) {
    if (attempt >= PATIENT_ATTEMPTS)
      await raiseAlarm(
        deps.db,
        'provider',
        ground.scope,
        `${ground.repository} cannot be fetched for T-${ground.id}: ${wordsOf(error)}. It is tried again without end.`,
      )
    throw error
  }
  if (!(error instanceof GithubError || error instanceof GitFailure)) throw error
  deps.log.warn({ err: error, repository: ground.repository }, 'the repository cannot be fetched, and another try would not help')
  return blocked(deps, ground, `cannot be fetched: ${wordsOf(error)}`)
}

async function blocked(deps: Deps, { id, scope, repository }: GroundOf, fault: string): Promise<{ outcome: 'blocked' }> {
  await raiseAlarm(deps.db, 'error', scope, `${repository} ${fault}. Mend it, then: switchyard retry T-${id}`)
  return { outcome: 'blocked' }
}

const wordsOf = (error: unknown): string => redacted(error instanceof Error ? error.message : String(error)).slice(0, 400)
