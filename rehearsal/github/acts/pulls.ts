/** What is done to pull requests: opened, changed, made ready or draft, closed, merged. */
import { diffOf, mergeCommit, moveRef, setRef } from '../git.ts'
import { refuse } from '../http.ts'
import { userOrNull } from '../shapes/accounts.ts'
import { closingReferences } from '../shapes/issues.ts'
import { byId, fullName, nextId, now, type Pull, type Repository } from '../state.ts'
import type { World } from '../world.ts'
import { pullEvent } from './events.ts'
import { type By, editText, newIssue, setAssignees, setIssueState, touch } from './issues.ts'
import { settleRefs } from './pushes.ts'

export interface NewPull {
  title: string
  body: string | null
  /** A branch's name, or `owner:branch`. */
  head: string
  base: string
  draft: boolean
}

export function openPull(world: World, repository: Repository, by: By, given: NewPull): Promise<Pull> {
  return world.alone(repository, async () => {
    const { state } = world
    const owner = byId(state.accounts, repository.ownerId, 'account')
    const headRef = branchOf(given.head, owner.login)
    const headSha = headRef === null ? undefined : repository.refs[`refs/heads/${headRef}`]
    if (headRef === null || !headSha) refuse(422, 'Validation Failed', [{ resource: 'PullRequest', field: 'head', code: 'invalid' }])
    const baseSha = repository.refs[`refs/heads/${given.base}`]
    if (!baseSha) refuse(422, 'Validation Failed', [{ resource: 'PullRequest', field: 'base', code: 'invalid' }])
    const open = openFrom(world, repository, headRef, given.base)
    if (open) refuse(422, 'Validation Failed', [custom(`A pull request already exists for ${owner.login}:${headRef}.`)])
    const diff = await diffOf(world.folderOf(repository), baseSha, headSha)
    if (diff.commits === 0) refuse(422, 'Validation Failed', [custom(`No commits between ${given.base} and ${headRef}`)])

    const number = repository.nextNumber
    // before the state knows it: a left-over ref is overwritten by the next one to get this number, a missing one never heals
    await setRef(world.folderOf(repository), `refs/pull/${number}/head`, headSha)
    return world.change((raise) => {
      const id = nextId(state, 'pull')
      const issue = newIssue(world, repository, by, given, id)
      const pull: Pull = {
        id,
        issueId: issue.id,
        repositoryId: repository.id,
        number: issue.number,
        headRef,
        headSha,
        baseRef: given.base,
        baseSha,
        draft: given.draft,
        requestedReviewerIds: [],
        merged: null,
        diff,
      }
      state.pulls.push(pull)
      raise(pullEvent(world, pull, 'opened', by.accountId))
      return pull
    })
  })
}

function custom(message: string) {
  return { resource: 'PullRequest', code: 'custom', message } as const
}

/** Forks are not part of the rehearsal: a head of another owner does not exist. */
function branchOf(head: string, owner: string): string | null {
  const colon = head.indexOf(':')
  if (colon < 0) return head
  return head.slice(0, colon).toLowerCase() === owner.toLowerCase() ? head.slice(colon + 1) : null
}

function openFrom(world: World, repository: Repository, headRef: string, baseRef: string): Pull | undefined {
  return world.state.pulls.find(
    (pull) =>
      pull.repositoryId === repository.id &&
      pull.headRef === headRef &&
      pull.baseRef === baseRef &&
      byId(world.state.issues, pull.issueId, 'issue').state === 'open',
  )
}

export interface PullEdit {
  title?: string
  body?: string | null
  state?: 'open' | 'closed'
  assigneeIds?: number[]
}

export async function editPull(world: World, repository: Repository, pull: Pull, by: By, edit: PullEdit): Promise<void> {
  await world.alone(repository, async () => {
    const issue = byId(world.state.issues, pull.issueId, 'issue')
    const reopening = edit.state === 'open' && issue.state === 'closed'
    if (reopening) {
      const headSha = repository.refs[`refs/heads/${pull.headRef}`]
      if (pull.merged || !headSha) {
        const why = pull.merged ? 'The pull request cannot be reopened: it was merged.' : `The ${pull.headRef} branch has been deleted.`
        refuse(422, 'Validation Failed', [{ resource: 'PullRequest', field: 'state', code: 'custom', message: why }])
      }
      // While it was closed nobody followed its branches.
      const baseSha = repository.refs[`refs/heads/${pull.baseRef}`] ?? pull.baseSha
      Object.assign(pull, { headSha, baseSha, diff: await diffOf(world.folderOf(repository), baseSha, headSha) })
    }
    world.change((raise) => {
      editText(world, raise, issue, by, edit)
      if (edit.assigneeIds) setAssignees(world, raise, issue, by, edit.assigneeIds)
      if (edit.state && edit.state !== issue.state) setIssueState(world, raise, issue, by, edit.state)
    })
  })
}

export function setDraft(world: World, pull: Pull, by: By, draft: boolean): void {
  if (pull.draft === draft) return
  world.change((raise) => {
    pull.draft = draft
    touch(byId(world.state.issues, pull.issueId, 'issue'))
    raise(pullEvent(world, pull, draft ? 'converted_to_draft' : 'ready_for_review', by.accountId))
  })
}

export function requestReviewers(world: World, pull: Pull, by: By, reviewerIds: number[]): void {
  world.change((raise) => {
    for (const id of reviewerIds.filter((candidate) => !pull.requestedReviewerIds.includes(candidate))) {
      pull.requestedReviewerIds.push(id)
      raise(pullEvent(world, pull, 'review_requested', by.accountId, { requested_reviewer: userOrNull(world, id) }))
    }
  })
}

export interface Merge {
  method: 'merge' | 'squash' | 'rebase'
  sha: string | null
  title: string | null
  message: string | null
}

export function mergePull(world: World, repository: Repository, pull: Pull, by: By, given: Merge): Promise<string> {
  return world.alone(repository, async () => {
    const issue = byId(world.state.issues, pull.issueId, 'issue')
    if (given.method === 'rebase') refuse(405, 'Rebase merges are not allowed on this repository.')
    if (issue.state !== 'open' || pull.draft || pull.diff.conflict) refuse(405, 'Pull Request is not mergeable')
    if (given.sha !== null && given.sha !== pull.headSha) refuse(409, 'Head branch was modified. Review and try the merge again.')

    const folder = world.folderOf(repository)
    const account = byId(world.state.accounts, by.accountId, 'account')
    const squash = given.method === 'squash'
    const title =
      given.title ??
      (squash
        ? `${issue.title} (#${pull.number})`
        : `Merge pull request #${pull.number} from ${ownerOf(world, repository)}/${pull.headRef}`)
    const message = [title, given.message ?? (squash ? '' : issue.title)].filter(Boolean).join('\n\n')
    const signature = { name: account.name ?? account.login, email: account.email }
    const sha = await mergeCommit(folder, pull.baseSha, pull.headSha, { squash, message, by: signature })
    if (!sha) refuse(405, 'Pull Request is not mergeable')
    if (!(await moveRef(folder, `refs/heads/${pull.baseRef}`, sha, pull.baseSha))) {
      refuse(405, 'Base branch was modified. Review and try the merge again.')
    }
    world.change((raise) => {
      pull.merged = { at: now(), byId: by.accountId, sha }
      setIssueState(world, raise, issue, by, 'closed')
      for (const closing of closingReferences(world.state, repository, issue.body)) {
        if (closing.state === 'open' && pull.baseRef === repository.defaultBranch) setIssueState(world, raise, closing, by, 'closed')
      }
    })
    await settleRefs(world, repository, by.accountId)
    return sha
  })
}

function ownerOf(world: World, repository: Repository): string {
  return fullName(world.state, repository).split('/')[0]!
}
