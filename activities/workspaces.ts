/** A Ticket's workspace on this host: the mirror it came from, its checkout, the sandbox its commands run in. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { GithubClient } from '../channels/github/client.ts'
import { rootAgentsMd } from './workspace/agents-md.ts'
import { collectCommits } from './workspace/bundle.ts'
import { type Checkout, openCheckout } from './workspace/checkout.ts'
import { ticketFolder } from './workspace/layout.ts'
import { branchCommit, fetchMirror, hasCommit, inMirror, isAncestor, type Pushed, pushFromMirror } from './workspace/mirror.ts'
import type { Sandbox } from './workspace/sandbox.ts'

/** `externalId` is GitHub's numeric id. */
export interface RepositoryAt {
  externalId: string
  fullName: string
  defaultBranch: string
}

export interface CheckoutOf {
  ticket: number
  repository: RepositoryAt
  base: string
  /** The newest commit that the Ticket pushed. */
  pushed?: string | undefined
  signal: AbortSignal
}

export type Workspaces = ReturnType<typeof createWorkspaces>

export function createWorkspaces(given: {
  home: string
  sandbox: Sandbox
  github: GithubClient | null
  /** Who commits: the team's `commitAuthor`, else the agent account's no-reply address (spec A1). */
  author: () => Promise<{ name: string; email: string }>
}) {
  const { home, sandbox } = given
  const remote = (fullName: string) => {
    if (!given.github) throw new Error('GitHub is off: no repository can be reached')
    return given.github.gitAuth(fullName)
  }
  const fetch = async ({ externalId, fullName }: RepositoryAt, signal: AbortSignal) =>
    fetchMirror({ home, repository: { id: externalId }, git: await remote(fullName), signal })

  return {
    sandbox,

    folder: (ticket: number, fullName: string): string => join(ticketFolder(home, ticket), fullName.split('/')[1]!),

    /** Where a new Session starts: the end of the default branch now, and its AGENTS.md. Null: the repository is empty. */
    async ground(repository: RepositoryAt, signal: AbortSignal): Promise<{ commit: string; agentsMd: string | null } | null> {
      const mirror = await fetch(repository, signal)
      const commit = await branchCommit(mirror, repository.defaultBranch, signal)
      if (commit === null) return null
      return { commit, agentsMd: (await rootAgentsMd(mirror, commit, signal))?.text ?? null }
    },

    /** The checkout as it stands; made at the Session's base commit if there is none yet on this host. */
    async open({ ticket, repository, base, pushed, signal }: CheckoutOf): Promise<Checkout> {
      const mirror = { home, repository: { id: repository.externalId }, signal }
      const holds = (commit: string) => inMirror(mirror, `look for ${commit}`, (folder) => hasCommit(folder, commit, signal))
      // another host may have started the Session, or pushed: what is first needed here is fetched here
      const isNew = !existsSync(this.folder(ticket, repository.fullName))
      if (!(await holds(base)) || (isNew && pushed !== undefined && !(await holds(pushed)))) await fetch(repository, signal)
      return openCheckout({
        home,
        ticket,
        repository: { id: repository.externalId, fullName: repository.fullName },
        baseBranch: repository.defaultBranch,
        baseSha: base,
        headSha: pushed,
        author: await given.author(),
        signal,
      })
    },

    /** HEAD's commits since `base`, brought into the mirror. */
    collect: ({ ticket, repository, base, signal }: CheckoutOf, folder: string) =>
      collectCommits({ home, repository: { id: repository.externalId }, sandbox, folder, ticket, base, signal }),

    /** Whether what GitHub has at `present` was built on `commit`, or is it. */
    async holds(repository: RepositoryAt, commit: string, present: string, signal: AbortSignal): Promise<boolean> {
      return present === commit || isAncestor(await fetch(repository, signal), commit, present, signal)
    },

    async push({
      repository,
      branch,
      sha,
      signal,
    }: {
      repository: RepositoryAt
      branch: string
      sha: string
      signal: AbortSignal
    }): Promise<Pushed> {
      return pushFromMirror({
        home,
        repository: { id: repository.externalId },
        git: await remote(repository.fullName),
        branch,
        sha,
        signal,
      })
    },
  }
}
