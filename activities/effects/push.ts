/** A push: a state, compared with the present one first. The commits are in the host's mirror already. */
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
    const pushed = await at.deps.workspaces.push({ ...payload, signal: at.signal })
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
