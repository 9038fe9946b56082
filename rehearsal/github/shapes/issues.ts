/** How GitHub shows issues, comments, labels and reactions. */
import {
  association,
  byId,
  type Comment,
  type Issue,
  issueOf,
  type Label,
  nodeId,
  type Reaction,
  type Repository,
  type State,
} from '../state.ts'
import { appOrNull, repositoryApi, repositoryPage, userOrNull, type View } from './accounts.ts'

type Shape = Record<string, unknown>

export function issueShape(view: View, issue: Issue): Shape {
  const { state } = view
  const repository = byId(state.repositories, issue.repositoryId, 'repository')
  const api = `${repositoryApi(view, repository)}/issues/${issue.number}`
  const pull = issue.pullId === null ? null : byId(state.pulls, issue.pullId, 'pull request')
  const page = issuePage(view, repository, issue)
  const pullApi = `${repositoryApi(view, repository)}/pulls/${issue.number}`
  return {
    url: api,
    repository_url: repositoryApi(view, repository),
    labels_url: `${api}/labels{/name}`,
    comments_url: `${api}/comments`,
    events_url: `${api}/events`,
    timeline_url: `${api}/timeline`,
    html_url: page,
    id: issue.id,
    node_id: nodeId('issue', issue.id),
    number: issue.number,
    title: issue.title,
    user: userOrNull(view, issue.userId),
    labels: issue.labelIds.map((id) => labelShape(view, byId(state.labels, id, 'label'))),
    state: issue.state,
    state_reason: issue.stateReason,
    locked: issue.locked,
    active_lock_reason: null,
    assignee: userOrNull(view, issue.assigneeIds[0] ?? null),
    assignees: issue.assigneeIds.map((id) => userOrNull(view, id)),
    milestone: null,
    comments: state.comments.filter((comment) => comment.issueId === issue.id).length,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: issue.closedAt,
    author_association: association(state, repository, issue.userId),
    body: issue.body,
    reactions: reactionRollup(state, { kind: 'issue', id: issue.id }, api),
    performed_via_github_app: appOrNull(view, issue.appId),
    ...(pull
      ? {
          draft: pull.draft,
          pull_request: {
            url: pullApi,
            html_url: page,
            diff_url: `${page}.diff`,
            patch_url: `${page}.patch`,
            merged_at: pull.merged?.at ?? null,
          },
        }
      : {}),
  }
}

/** A single issue also says who closed it. */
export function fullIssue(view: View, issue: Issue): Shape {
  return { ...issueShape(view, issue), closed_by: userOrNull(view, issue.closedById) }
}

export function issuePage(view: View, repository: Repository, issue: Issue): string {
  return `${repositoryPage(view, repository)}/${issue.pullId === null ? 'issues' : 'pull'}/${issue.number}`
}

export function labelShape(view: View, label: Label): Shape {
  const repository = byId(view.state.repositories, label.repositoryId, 'repository')
  return {
    id: label.id,
    node_id: nodeId('label', label.id),
    url: `${repositoryApi(view, repository)}/labels/${encodeURIComponent(label.name)}`,
    name: label.name,
    color: label.color,
    default: false,
    description: label.description,
  }
}

export function commentShape(view: View, comment: Comment): Shape {
  const repository = byId(view.state.repositories, comment.repositoryId, 'repository')
  const issue = byId(view.state.issues, comment.issueId, 'issue')
  const api = `${repositoryApi(view, repository)}/issues/comments/${comment.id}`
  return {
    url: api,
    html_url: `${issuePage(view, repository, issue)}#issuecomment-${comment.id}`,
    issue_url: `${repositoryApi(view, repository)}/issues/${issue.number}`,
    id: comment.id,
    node_id: nodeId('comment', comment.id),
    user: userOrNull(view, comment.userId),
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    author_association: association(view.state, repository, comment.userId),
    body: comment.body,
    reactions: reactionRollup(view.state, { kind: 'comment', id: comment.id }, api),
    performed_via_github_app: appOrNull(view, comment.appId),
  }
}

export const REACTIONS = ['+1', '-1', 'laugh', 'hooray', 'confused', 'heart', 'rocket', 'eyes'] as const

export function reactionRollup(state: State, subject: Reaction['subject'], api: string): Shape {
  const given = state.reactions.filter((reaction) => reaction.subject.kind === subject.kind && reaction.subject.id === subject.id)
  const counts = REACTIONS.map((content) => [content, given.filter((reaction) => reaction.content === content).length] as const)
  return { url: `${api}/reactions`, total_count: given.length, ...Object.fromEntries(counts) }
}

export function reactionShape(view: View, reaction: Reaction): Shape {
  return {
    id: reaction.id,
    node_id: nodeId('reaction', reaction.id),
    user: userOrNull(view, reaction.userId),
    content: reaction.content,
    created_at: reaction.createdAt,
  }
}

/** The numbers that a text closes when its pull request is merged, e.g. `Fixes #12`. */
export function closingReferences(state: State, repository: Repository, text: string | null): Issue[] {
  const matches = (text ?? '').matchAll(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b/gi)
  const numbers = new Set([...matches].map((match) => Number(match[1])))
  return [...numbers]
    .map((number) => issueOf(state, repository, number))
    .filter((issue) => issue !== undefined && issue.pullId === null) as Issue[]
}
