/** Reviews, and the comments on a pull request's lines. */
import {
  commentOnLine,
  deleteReviewComment,
  editReviewComment,
  type NewReview,
  type NewThread,
  replyInThread,
  submitReview,
} from '../acts/reviews.ts'
import { READ, repositoryFor, WRITE } from '../auth.ts'
import {
  type Call,
  found,
  invalid,
  notFound,
  numberParam,
  ok,
  oneOf,
  optionalText,
  page,
  type Route,
  refuse,
  requiredText,
  since,
  sorted,
} from '../http.ts'
import { reviewCommentShape, reviewShape } from '../shapes/pulls.ts'
import { byId, type Pull, type Repository, type Review, type ReviewComment } from '../state.ts'
import { allowEdit, by, reactionRoutes } from './issues.ts'
import { pullIn } from './pulls.ts'

const STATES: Record<string, NewReview['state']> = { APPROVE: 'APPROVED', REQUEST_CHANGES: 'CHANGES_REQUESTED', COMMENT: 'COMMENTED' }

export const reviewRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    handle(call) {
      const pull = pullIn(call, repositoryFor(call, READ.pulls))
      const rows = call.world.state.reviews.filter((review) => review.pullId === pull.id)
      return page(call, rows, (review) => reviewShape(call.world, review))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    async handle(call) {
      const { body } = call
      const repository = repositoryFor(call, WRITE.pulls)
      const pull = pullIn(call, repository)
      // GitHub would keep a review without an event as pending, seen by its author alone; nobody here has a use for one.
      const state = STATES[oneOf(body.event, ['APPROVE', 'REQUEST_CHANGES', 'COMMENT'], 'PullRequestReview', 'event')]!
      const comments = Array.isArray(body.comments) ? body.comments.map((comment) => newThread(comment as Record<string, unknown>)) : []
      const review = await submitReview(call.world, repository, pull, by(call), {
        state,
        body: optionalText(body, 'PullRequestReview', 'body') ?? null,
        commitId: optionalText(body, 'PullRequestReview', 'commit_id') ?? null,
        comments,
      })
      return ok(reviewShape(call.world, review))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}',
    handle(call) {
      const pull = pullIn(call, repositoryFor(call, READ.pulls))
      return ok(reviewShape(call.world, reviewIn(call, pull)))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments',
    handle(call) {
      const review = reviewIn(call, pullIn(call, repositoryFor(call, READ.pulls)))
      const rows = call.world.state.reviewComments.filter((comment) => comment.reviewId === review.id)
      return page(call, rows, (comment) => legacyComment(reviewCommentShape(call.world, comment)))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/comments',
    handle(call) {
      const repository = repositoryFor(call, READ.pulls)
      const rows = call.world.state.reviewComments.filter(
        (comment) => byId(call.world.state.pulls, comment.pullId, 'pull request').repositoryId === repository.id,
      )
      return page(call, sorted(call, since(call, rows), 'asc'), (comment) => reviewCommentShape(call.world, comment))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/comments',
    handle(call) {
      const pull = pullIn(call, repositoryFor(call, READ.pulls))
      const rows = call.world.state.reviewComments.filter((comment) => comment.pullId === pull.id)
      return page(call, sorted(call, since(call, rows), 'asc'), (comment) => reviewCommentShape(call.world, comment))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/comments',
    async handle(call) {
      const repository = repositoryFor(call, WRITE.pulls)
      const pull = pullIn(call, repository)
      const { in_reply_to } = call.body
      const comment =
        typeof in_reply_to === 'number'
          ? reply(call, pull, in_reply_to)
          : await commentOnLine(call.world, repository, pull, by(call), newThread(call.body))
      return ok(reviewCommentShape(call.world, comment), 201)
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies',
    handle(call) {
      const pull = pullIn(call, repositoryFor(call, WRITE.pulls))
      return ok(reviewCommentShape(call.world, reply(call, pull, numberParam(call, 'comment_id'))), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/comments/{comment_id}',
    handle: (call) => ok(reviewCommentShape(call.world, reviewCommentIn(call, repositoryFor(call, READ.pulls)))),
  },
  {
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/pulls/comments/{comment_id}',
    handle(call) {
      const repository = repositoryFor(call, WRITE.pulls)
      const comment = reviewCommentIn(call, repository)
      allowEdit(call, repository, comment.userId)
      editReviewComment(call.world, comment, by(call), requiredText(call.body, 'PullRequestReviewComment', 'body'))
      return ok(reviewCommentShape(call.world, comment))
    },
  },
  {
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/pulls/comments/{comment_id}',
    handle(call) {
      const repository = repositoryFor(call, WRITE.pulls)
      const comment = reviewCommentIn(call, repository)
      allowEdit(call, repository, comment.userId)
      deleteReviewComment(call.world, comment, by(call))
      return { status: 204 }
    },
  },
  ...reactionRoutes('/repos/{owner}/{repo}/pulls/comments/{comment_id}', (call, repository) => ({
    kind: 'reviewComment',
    id: reviewCommentIn(call, repository).id,
  })),
]

function newThread(body: Record<string, unknown>): NewThread {
  const { line } = body
  if (typeof line !== 'number')
    return invalid('PullRequestReviewComment', 'line', 'missing_field', 'line must be a number (a position in the diff is not served)')
  return {
    path: requiredText(body, 'PullRequestReviewComment', 'path'),
    line,
    side: oneOf(body.side ?? 'RIGHT', ['LEFT', 'RIGHT'], 'PullRequestReviewComment', 'side'),
    body: requiredText(body, 'PullRequestReviewComment', 'body'),
  }
}

function reply(call: Call, pull: Pull, to: number): ReviewComment {
  const parent = found(call.world.state.reviewComments.find((comment) => comment.id === to && comment.pullId === pull.id))
  if (parent.inReplyToId !== null)
    refuse(422, 'Validation Failed', [{ resource: 'PullRequestReviewComment', field: 'in_reply_to', code: 'invalid' }])
  const thread = byId(call.world.state.reviewThreads, parent.threadId, 'review thread')
  return replyInThread(call.world, thread, by(call), requiredText(call.body, 'PullRequestReviewComment', 'body'))
}

function reviewIn(call: Call, pull: Pull): Review {
  const id = numberParam(call, 'review_id')
  return found(call.world.state.reviews.find((review) => review.id === id && review.pullId === pull.id))
}

function reviewCommentIn(call: Call, repository: Repository): ReviewComment {
  const id = numberParam(call, 'comment_id')
  const comment = found(call.world.state.reviewComments.find((row) => row.id === id))
  return byId(call.world.state.pulls, comment.pullId, 'pull request').repositoryId === repository.id ? comment : notFound()
}

/** The comments of one review come in an older shape, without the kind of their subject. */
function legacyComment({ subject_type: _kind, ...shape }: Record<string, unknown>): Record<string, unknown> {
  return shape
}
