/** The deliveries that acts raise: which event carries what beside action, repository and sender. */
import type { Event } from '../hooks.ts'
import { repositoryShape, userOrNull } from '../shapes/accounts.ts'
import { webhookCheckRun } from '../shapes/checks.ts'
import { commentShape, issueShape } from '../shapes/issues.ts'
import { fullPull, reviewCommentShape, simplePull, threadShape, webhookReview } from '../shapes/pulls.ts'
import {
  byId,
  type CheckRun,
  type Comment,
  type Issue,
  type Pull,
  type Repository,
  type Review,
  type ReviewComment,
  type ReviewThread,
} from '../state.ts'
import type { World } from '../world.ts'

type Fields = Record<string, unknown>

function event(world: World, name: string, action: string | null, repository: Repository, senderId: number, fields: Fields): Event {
  const payload = { ...fields, repository: repositoryShape(world, repository), sender: userOrNull(world, senderId) }
  return { name, action, repository, payload }
}

function home(world: World, row: { repositoryId: number }): Repository {
  return byId(world.state.repositories, row.repositoryId, 'repository')
}

function issueEvent(world: World, issue: Issue, action: string, senderId: number, more: Fields = {}): Event {
  return event(world, 'issues', action, home(world, issue), senderId, { issue: issueShape(world, issue), ...more })
}

export function pullEvent(world: World, pull: Pull, action: string, senderId: number, more: Fields = {}): Event {
  return event(world, 'pull_request', action, home(world, pull), senderId, {
    number: pull.number,
    pull_request: fullPull(world, pull),
    ...more,
  })
}

/** What happens to an issue that is a pull request's other half is told as the pull request's. */
export function subjectEvent(world: World, issue: Issue, action: string, senderId: number, more: Fields = {}): Event {
  if (issue.pullId === null) return issueEvent(world, issue, action, senderId, more)
  return pullEvent(world, byId(world.state.pulls, issue.pullId, 'pull request'), action, senderId, more)
}

export function commentEvent(world: World, comment: Comment, action: string, senderId: number, more: Fields = {}): Event {
  const issue = byId(world.state.issues, comment.issueId, 'issue')
  const fields = { issue: issueShape(world, issue), comment: commentShape(world, comment), ...more }
  return event(world, 'issue_comment', action, home(world, comment), senderId, fields)
}

export function reviewEvent(world: World, review: Review, action: string, senderId: number): Event {
  const pull = byId(world.state.pulls, review.pullId, 'pull request')
  const fields = { review: webhookReview(world, review), pull_request: simplePull(world, pull) }
  return event(world, 'pull_request_review', action, home(world, pull), senderId, fields)
}

export function reviewCommentEvent(world: World, comment: ReviewComment, action: string, senderId: number, more: Fields = {}): Event {
  const pull = byId(world.state.pulls, comment.pullId, 'pull request')
  const fields = { comment: reviewCommentShape(world, comment), pull_request: simplePull(world, pull), ...more }
  return event(world, 'pull_request_review_comment', action, home(world, pull), senderId, fields)
}

export function threadEvent(world: World, thread: ReviewThread, action: 'resolved' | 'unresolved', senderId: number): Event {
  const pull = byId(world.state.pulls, thread.pullId, 'pull request')
  const fields = { pull_request: simplePull(world, pull), thread: threadShape(world, thread) }
  return event(world, 'pull_request_review_thread', action, home(world, pull), senderId, fields)
}

export function checkRunEvent(world: World, run: CheckRun, action: 'created' | 'completed', senderId: number): Event {
  return event(world, 'check_run', action, home(world, run), senderId, { check_run: webhookCheckRun(world, run) })
}

export function plainEvent(
  world: World,
  name: string,
  action: string | null,
  repository: Repository,
  senderId: number,
  fields: Fields,
): Event {
  return event(world, name, action, repository, senderId, fields)
}
