/** How GitHub shows pull requests, reviews, review comments and threads. */
import {
  type Account,
  association,
  byId,
  type CheckRun,
  type Issue,
  nodeId,
  type Pull,
  type Repository,
  type Review,
  type ReviewComment,
  type ReviewThread,
  type State,
} from '../state.ts'
import { repositoryApi, repositoryPage, repositoryShape, userOrNull, type View } from './accounts.ts'
import { labelShape, reactionRollup } from './issues.ts'

type Shape = Record<string, unknown>

interface Around {
  issue: Issue
  repository: Repository
  owner: Account
  api: string
  page: string
}

function around(view: View, pull: Pull): Around {
  const repository = byId(view.state.repositories, pull.repositoryId, 'repository')
  return {
    issue: byId(view.state.issues, pull.issueId, 'issue'),
    repository,
    owner: byId(view.state.accounts, repository.ownerId, 'account'),
    api: `${repositoryApi(view, repository)}/pulls/${pull.number}`,
    page: pullPage(view, pull),
  }
}

export function pullPage(view: View, pull: Pull): string {
  return `${repositoryPage(view, byId(view.state.repositories, pull.repositoryId, 'repository'))}/pull/${pull.number}`
}

/** As a list and a review's delivery show it: without what must be counted. */
export function simplePull(view: View, pull: Pull): Shape {
  const { issue, repository, owner, api, page } = around(view, pull)
  const issueApi = `${repositoryApi(view, repository)}/issues/${pull.number}`
  const statuses = `${repositoryApi(view, repository)}/statuses/${pull.headSha}`
  const side = (ref: string, sha: string) => ({
    label: `${owner.login}:${ref}`,
    ref,
    sha,
    user: userOrNull(view, owner.id),
    repo: repositoryShape(view, repository),
  })
  const href = (address: string) => ({ href: address })
  return {
    url: api,
    id: pull.id,
    node_id: nodeId('pull', pull.id),
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    issue_url: issueApi,
    number: pull.number,
    state: issue.state,
    locked: issue.locked,
    title: issue.title,
    user: userOrNull(view, issue.userId),
    body: issue.body,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: issue.closedAt,
    merged_at: pull.merged?.at ?? null,
    merge_commit_sha: pull.merged?.sha ?? null,
    assignee: userOrNull(view, issue.assigneeIds[0] ?? null),
    assignees: issue.assigneeIds.map((id) => userOrNull(view, id)),
    requested_reviewers: pull.requestedReviewerIds.map((id) => userOrNull(view, id)),
    requested_teams: [],
    labels: issue.labelIds.map((id) => labelShape(view, byId(view.state.labels, id, 'label'))),
    milestone: null,
    draft: pull.draft,
    commits_url: `${api}/commits`,
    review_comments_url: `${api}/comments`,
    review_comment_url: `${repositoryApi(view, repository)}/pulls/comments{/number}`,
    comments_url: `${issueApi}/comments`,
    statuses_url: statuses,
    head: side(pull.headRef, pull.headSha),
    base: side(pull.baseRef, pull.baseSha),
    _links: {
      self: href(api),
      html: href(page),
      issue: href(issueApi),
      comments: href(`${issueApi}/comments`),
      review_comments: href(`${api}/comments`),
      review_comment: href(`${repositoryApi(view, repository)}/pulls/comments{/number}`),
      commits: href(`${api}/commits`),
      statuses: href(statuses),
    },
    author_association: association(view.state, repository, issue.userId),
    auto_merge: null,
    active_lock_reason: null,
  }
}

export function fullPull(view: View, pull: Pull): Shape {
  const { issue } = around(view, pull)
  const open = issue.state === 'open'
  return {
    ...simplePull(view, pull),
    merged: pull.merged !== null,
    mergeable: open ? !pull.diff.conflict : null,
    rebaseable: open ? false : null,
    mergeable_state: open ? mergeableState(view.state, pull) : 'unknown',
    merged_by: userOrNull(view, pull.merged?.byId ?? null),
    comments: view.state.comments.filter((comment) => comment.issueId === issue.id).length,
    review_comments: view.state.reviewComments.filter((comment) => comment.pullId === pull.id).length,
    maintainer_can_modify: false,
    commits: pull.diff.commits,
    additions: pull.diff.additions,
    deletions: pull.diff.deletions,
    changed_files: pull.diff.changedFiles,
  }
}

/** Without branch protection nothing blocks; a red or running check only makes it unstable. */
export function mergeableState(state: State, pull: Pull): 'dirty' | 'draft' | 'unstable' | 'clean' {
  if (pull.diff.conflict) return 'dirty'
  if (pull.draft) return 'draft'
  const runs = latestRuns(state, pull.repositoryId, pull.headSha)
  const unready = runs.some((run) => run.conclusion === null || !['success', 'neutral', 'skipped'].includes(run.conclusion))
  return unready ? 'unstable' : 'clean'
}

/** Of several runs with one name on one commit only the newest counts. */
export function latestRuns(state: State, repositoryId: number, sha: string): CheckRun[] {
  const all = state.checkRuns.filter((run) => run.repositoryId === repositoryId && run.headSha === sha)
  return all.filter((run) => !all.some((other) => other.name === run.name && other.id > run.id))
}

/** How checks name the pull requests that they concern. */
export function minimalPull(view: View, pull: Pull): Shape {
  const { repository, api } = around(view, pull)
  const repo = { id: repository.id, url: repositoryApi(view, repository), name: repository.name }
  return {
    url: api,
    id: pull.id,
    number: pull.number,
    head: { ref: pull.headRef, sha: pull.headSha, repo },
    base: { ref: pull.baseRef, sha: pull.baseSha, repo },
  }
}

export function reviewShape(view: View, review: Review): Shape {
  const pull = byId(view.state.pulls, review.pullId, 'pull request')
  const { repository, api, page } = around(view, pull)
  const html = `${page}#pullrequestreview-${review.id}`
  return {
    id: review.id,
    node_id: nodeId('review', review.id),
    user: userOrNull(view, review.userId),
    body: review.body ?? '',
    state: review.state,
    html_url: html,
    pull_request_url: api,
    author_association: association(view.state, repository, review.userId),
    _links: { html: { href: html }, pull_request: { href: api } },
    submitted_at: review.submittedAt,
    commit_id: review.commitId,
  }
}

/** A delivery writes the state small and an absent body as null, where REST writes it large and empty. */
export function webhookReview(view: View, review: Review): Shape {
  return { ...reviewShape(view, review), body: review.body, state: review.state.toLowerCase(), updated_at: review.submittedAt }
}

export function reviewCommentShape(view: View, comment: ReviewComment): Shape {
  const pull = byId(view.state.pulls, comment.pullId, 'pull request')
  const thread = byId(view.state.reviewThreads, comment.threadId, 'review thread')
  const { repository, api, page } = around(view, pull)
  const own = `${repositoryApi(view, repository)}/pulls/comments/${comment.id}`
  const html = `${page}#discussion_r${comment.id}`
  const outdated = comment.commitId !== pull.headSha
  return {
    url: own,
    pull_request_review_id: comment.reviewId,
    id: comment.id,
    node_id: nodeId('reviewComment', comment.id),
    diff_hunk: comment.diffHunk,
    path: thread.path,
    commit_id: comment.commitId,
    original_commit_id: comment.originalCommitId,
    user: userOrNull(view, comment.userId),
    body: comment.body,
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    html_url: html,
    pull_request_url: api,
    author_association: association(view.state, repository, comment.userId),
    _links: { self: { href: own }, html: { href: html }, pull_request: { href: api } },
    reactions: reactionRollup(view.state, { kind: 'reviewComment', id: comment.id }, own),
    start_line: null,
    original_start_line: null,
    start_side: null,
    line: outdated ? null : thread.line,
    original_line: thread.line,
    side: thread.side,
    original_position: 1,
    position: outdated ? null : 1,
    subject_type: 'line',
    ...(comment.inReplyToId === null ? {} : { in_reply_to_id: comment.inReplyToId }),
  }
}

export function threadShape(view: View, thread: ReviewThread): Shape {
  const comments = view.state.reviewComments.filter((comment) => comment.threadId === thread.id)
  return { node_id: nodeId('reviewThread', thread.id), comments: comments.map((comment) => reviewCommentShape(view, comment)) }
}
