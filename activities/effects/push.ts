/** A push: a state, compared with the present one first. The commits are in the host's mirror already. */
import type { RepositoryAt } from '../workspaces.ts'
import type { EffectAt, EffectKind, Landed } from './effect-kind.ts'

export interface PushPayload {
  repository: RepositoryAt
  branch: string
  sha: string
}

/** `present` is where the branch stands: at our commit, or further on. */
const landedAt = ({ github }: EffectAt, { repository, branch }: PushPayload, present: string): Landed => ({
  externalId: present,
  url: `${github.client.endpoints.git}/${repository.fullName}/tree/${branch.split('/').map(encodeURIComponent).join('/')}`,
})

export const push: EffectKind = {
  async find(at: EffectAt): Promise<Landed | null> {
    const payload = at.row.payload as unknown as PushPayload
    const { repository, branch, sha } = payload
    const present = await at.github.client.getRef(repository.fullName, branch)
    // somebody may have pushed onto our commit before anybody looked: then it arrived too, and a repeated push would be refused
    const arrived = present !== null && (await at.deps.workspaces.holds(repository, sha, present, at.signal))
    return arrived ? landedAt(at, payload, present) : null
  },
  async send(at: EffectAt): Promise<Landed | { refused: string }> {
    const payload = at.row.payload as unknown as PushPayload
    const pushed = await at.deps.workspaces.push({ ...payload, signal: at.signal })
    return 'refused' in pushed ? pushed : landedAt(at, payload, payload.sha)
  },
  async landed({ deps, row }: EffectAt, { externalId: head }: Landed): Promise<void> {
    const { branch } = row.payload as unknown as PushPayload
    await deps.db
      .updateTable('pullRequest')
      .set({ head })
      .where('ticket', '=', row.ticket!)
      .where('branch', '=', branch)
      .where('state', '=', 'open')
      .execute()
  },
}
