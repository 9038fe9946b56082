/** A push: a state, compared with the present one first. The commits are in the host's mirror already. */
import { GitFailure } from '../workspace/git.ts'
import type { RepositoryAt } from '../workspaces.ts'
import type { EffectAt, EffectKind, Landed } from './effect-kind.ts'

export interface PushPayload {
  repository: RepositoryAt
  branch: string
  sha: string
}

const landedAt = ({ github }: EffectAt, { repository, branch, sha }: PushPayload): Landed => ({
  externalId: sha,
  url: `${github.client.endpoints.git}/${repository.fullName}/tree/${branch.split('/').map(encodeURIComponent).join('/')}`,
})

export const push: EffectKind = {
  async find(at: EffectAt): Promise<Landed | null> {
    const payload = at.row.payload as unknown as PushPayload
    const present = await at.github.client.getRef(payload.repository.fullName, payload.branch)
    return present === payload.sha ? landedAt(at, payload) : null
  },
  async send(at: EffectAt): Promise<Landed | { refused: string }> {
    const payload = at.row.payload as unknown as PushPayload
    const pushed = await at.deps.workspaces.push({ ...payload, signal: at.signal }).catch(throwTyped)
    return 'refused' in pushed ? pushed : landedAt(at, payload)
  },
  async landed({ deps, row }: EffectAt): Promise<void> {
    const { branch, sha } = row.payload as unknown as PushPayload
    await deps.db
      .updateTable('pullRequest')
      .set({ head: sha })
      .where('ticket', '=', row.ticket!)
      .where('branch', '=', branch)
      .where('state', '=', 'open')
      .execute()
  },
}

/** The mirror reports a push that broke off in git's words alone: whether it is an outage is judged by them. */
function throwTyped(error: unknown): never {
  throw error instanceof Error && error.message.startsWith('git push ') ? new GitFailure(error.message, error.message) : error
}
