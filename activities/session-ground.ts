/**
 * What an Executor Session stands on: the commit of the base branch at which it started, and that commit's AGENTS.md (spec C2,
 * N12). Read from GitHub once, before the Session's first request, and fixed for its life.
 */
import { ApplicationFailure } from '@temporalio/activity'
import type { RepositoryText } from '../core/prompt/section.ts'
import type { StepView } from '../ledger/step-view.ts'
import { readText, storable, storeTexts } from '../ledger/texts.ts'
import type { Deps } from './deps.ts'

export interface SessionGround {
  agentsMd: RepositoryText | null
  /** The checkout's folder as commands in the sandbox see it; null: no repository, no workspace. */
  cwd: string | null
}

export async function standOnGround(deps: Deps, view: StepView, signal: AbortSignal): Promise<SessionGround> {
  const repository = view.ticket?.repository
  if (!view.ticket || !repository || !deps.github) return { agentsMd: null, cwd: null }
  const cwd = deps.workspaces.folder(view.ticket.id, repository.fullName)
  if (view.baseCommit !== null) {
    const text = view.agentsMd === null ? null : await readText(deps.db, view.agentsMd)
    return { agentsMd: text === null ? null : { repository: repository.fullName, commit: view.baseCommit, text }, cwd }
  }
  const ground = await deps.workspaces.ground(repository, signal).catch((error: Error) => {
    signal.throwIfAborted()
    deps.log.warn({ err: error, repository: repository.fullName }, 'the repository cannot be fetched; it is tried again')
    throw ApplicationFailure.retryable(`${repository.fullName} cannot be fetched`, 'RepositoryOutage')
  })
  if (!ground) throw new Error(`${repository.fullName} has no commit on ${repository.defaultBranch}: there is nothing to work on`)
  const agentsMd = ground.agentsMd === null ? null : storable(ground.agentsMd)
  const [sha] = agentsMd === null ? [null] : await storeTexts(deps.db, [agentsMd], deps.storedTexts)
  await deps.db
    .updateTable('session')
    .set({ baseCommit: ground.commit, agentsMd: sha ? Buffer.from(sha, 'hex') : null })
    .where('id', '=', view.session)
    .where('baseCommit', 'is', null)
    .execute()
  return { agentsMd: agentsMd === null ? null : { repository: repository.fullName, commit: ground.commit, text: agentsMd }, cwd }
}
