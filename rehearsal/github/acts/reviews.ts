/**
 * Reviews of a pull request. Every comment on a line belongs to a thread and to a review: a comment or reply that stands alone
 * gets a review of its own, without a body, which GitHub tells as a second delivery.
 */
import { changedFiles } from '../git.ts'
import { refuse } from '../http.ts'
import { byId, nextId, now, type Pull, type Repository, type Review, type ReviewComment, type ReviewThread } from '../state.ts'
import type { Raise, World } from '../world.ts'
import { reviewCommentEvent, reviewEvent, threadEvent } from './events.ts'
import { type By, dropReactions, touch } from './issues.ts'

export interface NewThread {
  path: string
  line: number
  side: 'LEFT' | 'RIGHT'
  body: string
}

export interface NewReview {
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED'
  body: string | null
  commitId: string | null
  comments: NewThread[]
}

export async function submitReview(world: World, repository: Repository, pull: Pull, by: By, given: NewReview): Promise<Review> {
  const issue = byId(world.state.issues, pull.issueId, 'issue')
  if (given.state !== 'COMMENTED' && issue.userId === by.accountId) {
    const deed = given.state === 'APPROVED' ? 'approve' : 'request changes on'
    refuse(422, 'Unprocessable Entity', [
      { resource: 'PullRequestReview', code: 'custom', message: `Can not ${deed} your own pull request` },
    ])
  }
  if (given.state !== 'APPROVED' && !given.body && given.comments.length === 0) {
    refuse(422, 'Unprocessable Entity', [
      { resource: 'PullRequestReview', field: 'body', code: 'missing_field', message: 'Body cannot be blank' },
    ])
  }
  const hunks = await Promise.all(given.comments.map((comment) => hunkOf(world, repository, pull, comment)))
  return world.change((raise) => {
    const review = addReview(world, raise, pull, by, given.state, given.body, given.commitId)
    pull.requestedReviewerIds = pull.requestedReviewerIds.filter((id) => id !== by.accountId)
    given.comments.forEach((comment, at) => {
      startThread(world, raise, pull, by, review, comment, hunks[at]!)
    })
    return review
  })
}

function addReview(
  world: World,
  raise: Raise,
  pull: Pull,
  by: By,
  state: Review['state'],
  body: string | null,
  commitId: string | null,
): Review {
  const id = nextId(world.state, 'review')
  const review: Review = { id, pullId: pull.id, userId: by.accountId, body, state, commitId: commitId ?? pull.headSha, submittedAt: now() }
  world.state.reviews.push(review)
  touch(byId(world.state.issues, pull.issueId, 'issue'))
  raise(reviewEvent(world, review, 'submitted', by.accountId))
  return review
}

function startThread(world: World, raise: Raise, pull: Pull, by: By, review: Review, given: NewThread, hunk: string): ReviewComment {
  const { path, line, side } = given
  const thread: ReviewThread = { id: nextId(world.state, 'reviewThread'), pullId: pull.id, path, line, side, resolvedById: null }
  world.state.reviewThreads.push(thread)
  return addToThread(world, raise, thread, by, {
    reviewId: review.id,
    inReplyToId: null,
    body: given.body,
    diffHunk: hunk,
    commitId: pull.headSha,
  })
}

function addToThread(
  world: World,
  raise: Raise,
  thread: ReviewThread,
  by: By,
  given: Pick<ReviewComment, 'reviewId' | 'inReplyToId' | 'body' | 'diffHunk' | 'commitId'>,
): ReviewComment {
  const at = now()
  const id = nextId(world.state, 'reviewComment')
  const comment: ReviewComment = {
    id,
    pullId: thread.pullId,
    threadId: thread.id,
    userId: by.accountId,
    originalCommitId: given.commitId,
    createdAt: at,
    updatedAt: at,
    ...given,
  }
  world.state.reviewComments.push(comment)
  raise(reviewCommentEvent(world, comment, 'created', by.accountId))
  return comment
}

export async function commentOnLine(world: World, repository: Repository, pull: Pull, by: By, given: NewThread): Promise<ReviewComment> {
  const hunk = await hunkOf(world, repository, pull, given)
  return world.change((raise) => {
    const review = addReview(world, raise, pull, by, 'COMMENTED', null, null)
    return startThread(world, raise, pull, by, review, given, hunk)
  })
}

export function replyInThread(world: World, thread: ReviewThread, by: By, body: string): ReviewComment {
  const pull = byId(world.state.pulls, thread.pullId, 'pull request')
  const root = world.state.reviewComments.find((comment) => comment.threadId === thread.id && comment.inReplyToId === null)
  if (!root) return refuse(422, 'Validation Failed', [{ resource: 'PullRequestReviewComment', field: 'in_reply_to', code: 'invalid' }])
  return world.change((raise) => {
    const review = addReview(world, raise, pull, by, 'COMMENTED', null, null)
    const { diffHunk, commitId } = root
    return addToThread(world, raise, thread, by, { reviewId: review.id, inReplyToId: root.id, body, diffHunk, commitId })
  })
}

export function editReviewComment(world: World, comment: ReviewComment, by: By, body: string): void {
  world.change((raise) => {
    const changes = body === comment.body ? {} : { body: { from: comment.body } }
    comment.body = body
    touch(comment)
    raise(reviewCommentEvent(world, comment, 'edited', by.accountId, { changes }))
  })
}

export function deleteReviewComment(world: World, comment: ReviewComment, by: By): void {
  world.change((raise) => {
    raise(reviewCommentEvent(world, comment, 'deleted', by.accountId))
    world.state.reviewComments = world.state.reviewComments.filter((row) => row.id !== comment.id)
    dropReactions(world, { kind: 'reviewComment', id: comment.id })
  })
}

export function resolveThread(world: World, thread: ReviewThread, by: By, resolved: boolean): void {
  if ((thread.resolvedById !== null) === resolved) return
  world.change((raise) => {
    thread.resolvedById = resolved ? by.accountId : null
    raise(threadEvent(world, thread, resolved ? 'resolved' : 'unresolved', by.accountId))
  })
}

/** The part of the diff that a comment stands under; a line that the diff does not show cannot be commented. */
async function hunkOf(world: World, repository: Repository, pull: Pull, given: NewThread): Promise<string> {
  const files = await changedFiles(world.folderOf(repository), pull.diff.mergeBase, pull.headSha)
  const file = files.find((candidate) => candidate.filename === given.path)
  const hunk = file ? hunkWith(file.patch, given.line, given.side) : null
  const field = file ? 'pull_request_review_thread.line' : 'pull_request_review_thread.path'
  const message = `${field} must be part of the diff`
  return hunk ?? refuse(422, 'Validation Failed', [{ resource: 'PullRequestReviewComment', field, code: 'custom', message }])
}

function hunkWith(patch: string, line: number, side: 'LEFT' | 'RIGHT'): string | null {
  let shown: string[] = []
  let [left, right] = [0, 0]
  for (const text of patch.split('\n')) {
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text)
    if (start) {
      shown = [text]
      left = Number(start[1])
      right = Number(start[2])
      continue
    }
    shown.push(text)
    const at = side === 'LEFT' ? left : right
    if (at === line && !text.startsWith(side === 'LEFT' ? '+' : '-')) return shown.join('\n')
    if (!text.startsWith('+')) left++
    if (!text.startsWith('-')) right++
  }
  return null
}
