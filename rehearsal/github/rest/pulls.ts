/** Pull requests: opened, listed, changed, merged; their files and commits. */
import { editPull, mergePull, openPull, requestReviewers } from '../acts/pulls.ts'
import { READ, repositoryFor, WRITE } from '../auth.ts'
import { changedFiles, listCommits } from '../git.ts'
import {
  type Call,
  found,
  invalid,
  notFound,
  numberParam,
  ok,
  oneOf,
  optionalText,
  optionalTexts,
  page,
  type Route,
  requiredText,
  sorted,
} from '../http.ts'
import { commitShape, fileShape } from '../shapes/git.ts'
import { fullPull, simplePull } from '../shapes/pulls.ts'
import { accountOf, byId, fullName, type Pull, pullOf, type Repository, roleIn } from '../state.ts'
import { allowEdit, assigneesIn, by } from './issues.ts'

export const pullRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls',
    handle(call) {
      const { world, query } = call
      const repository = repositoryFor(call, READ.pulls)
      const state = oneOf(query.get('state') ?? 'open', ['open', 'closed', 'all'], 'PullRequest', 'state')
      const [head, base] = [query.get('head'), query.get('base')]
      const owner = fullName(world.state, repository).split('/')[0]
      const rows = world.state.pulls
        .filter((pull) => pull.repositoryId === repository.id)
        .map((pull) => ({ pull, issue: byId(world.state.issues, pull.issueId, 'issue') }))
        .filter(({ issue }) => state === 'all' || issue.state === state)
        // a head without its owner is ignored, as on GitHub
        .filter(({ pull }) => !head?.includes(':') || head === `${owner}:${pull.headRef}`)
        .filter(({ pull }) => base === null || pull.baseRef === base)
        .map(({ pull, issue }) => ({ pull, id: issue.id, createdAt: issue.createdAt, updatedAt: issue.updatedAt }))
      return page(call, sorted(call, rows, 'desc'), ({ pull }) => simplePull(world, pull))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/pulls',
    async handle(call) {
      const { body } = call
      const repository = repositoryFor(call, WRITE.pulls)
      const pull = await openPull(call.world, repository, by(call), {
        title: requiredText(body, 'PullRequest', 'title'),
        head: requiredText(body, 'PullRequest', 'head'),
        base: requiredText(body, 'PullRequest', 'base'),
        body: optionalText(body, 'PullRequest', 'body') ?? null,
        draft: body.draft === true,
      })
      return ok(fullPull(call.world, pull), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}',
    handle: (call) => ok(fullPull(call.world, pullIn(call, repositoryFor(call, READ.pulls)))),
  },
  {
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}',
    async handle(call) {
      const { body } = call
      const repository = repositoryFor(call, WRITE.pulls)
      const pull = pullIn(call, repository)
      allowEdit(call, repository, byId(call.world.state.issues, pull.issueId, 'issue').userId)
      const assigneeIds = assigneesIn(call, repository)
      const text = optionalText(body, 'PullRequest', 'body')
      await editPull(call.world, repository, pull, by(call), {
        ...(body.title === undefined ? {} : { title: requiredText(body, 'PullRequest', 'title') }),
        ...(text === undefined ? {} : { body: text }),
        ...(body.state === undefined ? {} : { state: oneOf(body.state, ['open', 'closed'], 'PullRequest', 'state') }),
        ...(assigneeIds ? { assigneeIds } : {}),
      })
      return ok(fullPull(call.world, pull))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/files',
    async handle(call) {
      const repository = repositoryFor(call, READ.pulls)
      const pull = pullIn(call, repository)
      const files = await changedFiles(call.world.folderOf(repository), pull.diff.mergeBase, pull.headSha)
      return page(call, files, (file) => fileShape(call.world, repository, pull.headSha, file))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/commits',
    async handle(call) {
      const repository = repositoryFor(call, READ.pulls)
      const pull = pullIn(call, repository)
      const commits = await listCommits(call.world.folderOf(repository), `${pull.diff.mergeBase}..${pull.headSha}`)
      return page(call, commits.reverse(), (commit) => commitShape(call.world, repository, commit))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/merge',
    handle: (call) => (pullIn(call, repositoryFor(call, READ.pulls)).merged ? { status: 204 } : notFound()),
  },
  {
    method: 'PUT',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/merge',
    async handle(call) {
      const { body } = call
      const repository = repositoryFor(call, WRITE.contents)
      const sha = await mergePull(call.world, repository, pullIn(call, repository), by(call), {
        method: oneOf(body.merge_method ?? 'merge', ['merge', 'squash', 'rebase'], 'PullRequest', 'merge_method'),
        sha: optionalText(body, 'PullRequest', 'sha') ?? null,
        title: optionalText(body, 'PullRequest', 'commit_title') ?? null,
        message: optionalText(body, 'PullRequest', 'commit_message') ?? null,
      })
      return ok({ sha, merged: true, message: 'Pull Request successfully merged' })
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers',
    handle(call) {
      const { state } = call.world
      const repository = repositoryFor(call, WRITE.pulls)
      const pull = pullIn(call, repository)
      const ids = (optionalTexts(call.body, 'PullRequest', 'reviewers') ?? []).map((login) => {
        const account = accountOf(state, login)
        if (account && roleIn(repository, account.id)) return account.id
        return invalid('PullRequest', 'reviewers', 'invalid', `Reviews may only be requested from collaborators: ${login} is none`)
      })
      requestReviewers(call.world, pull, by(call), ids)
      return ok(simplePull(call.world, pull), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{commit_sha}/pulls',
    handle(call) {
      const repository = repositoryFor(call, READ.pulls)
      const sha = call.params.commit_sha
      const rows = call.world.state.pulls.filter(
        (pull) => pull.repositoryId === repository.id && (pull.headSha === sha || pull.merged?.sha === sha),
      )
      return page(call, rows, (pull) => simplePull(call.world, pull))
    },
  },
]

export function pullIn(call: Call, repository: Repository): Pull {
  return found(pullOf(call.world.state, repository, numberParam(call, 'pull_number')))
}
