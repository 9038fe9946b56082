/** A Ticket's pull request: opened once for its branch, then brought into states, each compared with the present one first. */
import type { PullRequestFacts } from '../../channels/github/client.ts'
import { GithubError } from '../../channels/github/failure.ts'
import { transaction } from '../../ledger/database.ts'
import type { EffectAt, EffectKind, Landed } from './effect-kind.ts'

export interface OpenPayload {
  repository: { id: number; externalId: string; fullName: string }
  branch: string
  base: string
  title: string
  draft: boolean
}
export interface StatePayload {
  repository: { fullName: string }
  number: number
  title?: string | null
}

const landedOf = ({ number, url }: PullRequestFacts): Landed => ({ externalId: String(number), url })

export const opening: EffectKind = {
  async find({ github, row }: EffectAt): Promise<Landed | null> {
    const { repository, branch } = row.payload as unknown as OpenPayload
    const found = await github.client.findPullRequest(repository.fullName, branch)
    return found?.state === 'open' ? landedOf(found) : null
  },
  async send(at: EffectAt): Promise<Landed> {
    const { repository, branch, base, title, draft } = at.row.payload as unknown as OpenPayload
    // one that exists for the branch is adopted, whoever opened it (F130)
    const found = await opening.find(at)
    if (found) return found
    try {
      return landedOf(
        await at.github.client.createPullRequest(repository.fullName, { head: branch, base, title, body: at.row.body ?? '', draft }),
      )
    } catch (error) {
      // "already exists": somebody was faster between the look and the request
      const faster = error instanceof GithubError && error.failure.kind === 'invalid' ? await opening.find(at) : null
      if (!faster) throw error
      return faster
    }
  },
  /** The pull request's row, its Thread, and the Ticket as the Thread's owner. */
  async landed({ deps, github, row }: EffectAt, { externalId }: Landed): Promise<void> {
    const { repository } = row.payload as unknown as OpenPayload
    const facts = await github.client.getPullRequest(repository.fullName, Number(externalId))
    const ticket = row.ticket!
    await transaction(deps.db, async (tx) => {
      const key = `github:${repository.externalId}#${facts.number}`
      const place = {
        key,
        source: 'github' as const,
        kind: 'pull_request' as const,
        repository: repository.id,
        number: facts.number,
        title: facts.title,
        url: facts.url,
      }
      await tx
        .insertInto('thread')
        .values(place)
        .onConflict((on) => on.column('key').doNothing())
        .execute()
      const thread = await tx.selectFrom('thread').select('id').where('key', '=', key).forUpdate().executeTakeFirstOrThrow()
      await tx
        .insertInto('pullRequest')
        .values({
          ticket,
          repository: repository.id,
          number: facts.number,
          externalId: String(facts.number),
          nodeId: facts.nodeId,
          url: facts.url,
          branch: facts.head.branch,
          base: facts.base.branch,
          head: facts.head.sha ?? '',
          draft: facts.draft,
          state: 'open',
        })
        .onConflict((on) => on.columns(['repository', 'number']).doNothing())
        .execute()
      await tx
        .insertInto('subscription')
        .values({ ticket, thread: thread.id, role: 'owner', endedAt: null })
        .onConflict((on) => on.columns(['ticket', 'thread']).doNothing())
        .execute()
    })
  },
}

/** A state of an open pull request: `is` says that it holds, `make` brings it about. */
function state(
  is: (facts: PullRequestFacts, at: EffectAt) => boolean,
  make: (facts: PullRequestFacts, at: EffectAt) => Promise<unknown>,
): EffectKind {
  const facts = ({ github, row }: EffectAt) => {
    const { repository, number } = row.payload as unknown as StatePayload
    return github.client.getPullRequest(repository.fullName, number)
  }
  return {
    async find(at) {
      const present = await facts(at)
      return is(present, at) ? landedOf(present) : null
    },
    async send(at) {
      const present = await facts(at)
      if (is(present, at)) return landedOf(present)
      if (present.state === 'closed')
        return { refused: `${present.url} is ${present.merged ? 'merged' : 'closed'}; nothing about it can be changed.` }
      await make(present, at)
      return landedOf(present)
    },
    async landed(at) {
      const { draft, state, merged, head } = await facts(at)
      await at.deps.db
        .updateTable('pullRequest')
        .set({ draft, state: merged ? 'merged' : state, ...(head.sha === null ? {} : { head: head.sha }) })
        .where('ticket', '=', at.row.ticket!)
        .where('number', '=', (at.row.payload as unknown as StatePayload).number)
        .execute()
    },
  }
}

const repositoryOf = ({ row }: EffectAt): string => (row.payload as unknown as StatePayload).repository.fullName

export const ready = state(
  ({ draft, state }) => state === 'open' && !draft,
  ({ nodeId }, at) => at.github.client.markReady(repositoryOf(at), nodeId),
)
export const draft = state(
  ({ draft, state }) => state === 'open' && draft,
  ({ nodeId }, at) => at.github.client.convertToDraft(repositoryOf(at), nodeId),
)
export const closing = state(
  ({ state }) => state === 'closed',
  ({ number }, at) => at.github.client.closePullRequest(repositoryOf(at), number),
)
export const update = state(
  ({ title, body }, { row }) => (row.body === null || row.body === body) && (!row.payload.title || row.payload.title === title),
  ({ number }, at) => {
    const { title } = at.row.payload as unknown as StatePayload
    return at.github.client.updatePullRequest(repositoryOf(at), number, {
      ...(title ? { title } : {}),
      ...(at.row.body === null ? {} : { body: at.row.body }),
    })
  },
)
