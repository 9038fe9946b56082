/** What people and programs do to issues and their comments, and what GitHub tells of it. REST, GraphQL and the operator all act through here. */
import { refuse } from '../http.ts'
import { userOrNull } from '../shapes/accounts.ts'
import { labelShape } from '../shapes/issues.ts'
import { type Comment, type Issue, type Label, nextId, now, type Reaction, type Repository, sameLogin } from '../state.ts'
import type { Raise, World } from '../world.ts'
import { commentEvent, subjectEvent } from './events.ts'

/** Who does it: the account that signs, and the App through which it did. */
export interface By {
  accountId: number
  appId: number | null
}

export function newIssue(
  world: World,
  repository: Repository,
  by: By,
  given: { title: string; body: string | null },
  pullId: number | null,
): Issue {
  const at = now()
  const issue: Issue = {
    id: nextId(world.state, 'issue'),
    repositoryId: repository.id,
    number: repository.nextNumber++,
    pullId,
    title: given.title,
    body: given.body,
    userId: by.accountId,
    appId: by.appId,
    state: 'open',
    stateReason: null,
    locked: false,
    labelIds: [],
    assigneeIds: [],
    closedAt: null,
    closedById: null,
    createdAt: at,
    updatedAt: at,
  }
  world.state.issues.push(issue)
  return issue
}

export function openIssue(
  world: World,
  repository: Repository,
  by: By,
  given: { title: string; body: string | null; labels?: string[]; assigneeIds?: number[] },
): Issue {
  return world.change((raise) => {
    const issue = newIssue(world, repository, by, given, null)
    issue.labelIds = (given.labels ?? []).map((name) => labelNamed(world, repository, name).id)
    issue.assigneeIds = given.assigneeIds ?? []
    raise(subjectEvent(world, issue, 'opened', by.accountId))
    for (const id of issue.labelIds) raiseLabel(world, raise, issue, id, 'labeled', by)
    for (const id of issue.assigneeIds) raise(subjectEvent(world, issue, 'assigned', by.accountId, { assignee: userOrNull(world, id) }))
    return issue
  })
}

export interface IssueEdit {
  title?: string
  body?: string | null
  state?: 'open' | 'closed'
  stateReason?: 'completed' | 'not_planned'
  labels?: string[]
  assigneeIds?: number[]
}

export function editIssue(world: World, repository: Repository, issue: Issue, by: By, edit: IssueEdit): void {
  world.change((raise) => {
    editText(world, raise, issue, by, edit)
    if (edit.labels) setLabels(world, raise, repository, issue, by, edit.labels)
    if (edit.assigneeIds) setAssignees(world, raise, issue, by, edit.assigneeIds)
    if (edit.state && edit.state !== issue.state) setIssueState(world, raise, issue, by, edit.state, edit.stateReason)
  })
}

export function editText(world: World, raise: Raise, issue: Issue, by: By, edit: { title?: string; body?: string | null }): void {
  const changes = {
    ...(edit.title !== undefined && edit.title !== issue.title ? { title: { from: issue.title } } : {}),
    ...(edit.body !== undefined && edit.body !== issue.body ? { body: { from: issue.body ?? '' } } : {}),
  }
  if (Object.keys(changes).length === 0) return
  Object.assign(issue, {
    title: edit.title ?? issue.title,
    body: edit.body === undefined ? issue.body : edit.body,
    updatedAt: now(),
  })
  raise(subjectEvent(world, issue, 'edited', by.accountId, { changes }))
}

export function setIssueState(
  world: World,
  raise: Raise,
  issue: Issue,
  by: By,
  state: 'open' | 'closed',
  reason: 'completed' | 'not_planned' = 'completed',
): void {
  const at = now()
  const closed = state === 'closed'
  Object.assign(issue, {
    state,
    stateReason: issue.pullId !== null ? null : closed ? reason : 'reopened',
    closedAt: closed ? at : null,
    closedById: closed ? by.accountId : null,
    updatedAt: at,
  })
  raise(subjectEvent(world, issue, closed ? 'closed' : 'reopened', by.accountId))
}

/** A label that the repository lacks is made, as on GitHub. */
function labelNamed(world: World, repository: Repository, name: string): Label {
  const known = world.state.labels.find((label) => label.repositoryId === repository.id && sameLogin(label.name, name))
  if (known) return known
  const label: Label = { id: nextId(world.state, 'label'), repositoryId: repository.id, name, color: 'ededed', description: null }
  world.state.labels.push(label)
  return label
}

export function addLabels(world: World, repository: Repository, issue: Issue, by: By, names: string[]): void {
  world.change((raise) => {
    for (const label of names.map((name) => labelNamed(world, repository, name))) {
      if (issue.labelIds.includes(label.id)) continue
      issue.labelIds.push(label.id)
      touch(issue)
      raiseLabel(world, raise, issue, label.id, 'labeled', by)
    }
  })
}

export function removeLabel(world: World, issue: Issue, by: By, label: Label): void {
  world.change((raise) => {
    issue.labelIds = issue.labelIds.filter((id) => id !== label.id)
    touch(issue)
    raiseLabel(world, raise, issue, label.id, 'unlabeled', by)
  })
}

function setLabels(world: World, raise: Raise, repository: Repository, issue: Issue, by: By, names: string[]): void {
  const wanted = names.map((name) => labelNamed(world, repository, name).id)
  const [gone, fresh] = [issue.labelIds.filter((id) => !wanted.includes(id)), wanted.filter((id) => !issue.labelIds.includes(id))]
  issue.labelIds = wanted
  touch(issue)
  for (const id of gone) raiseLabel(world, raise, issue, id, 'unlabeled', by)
  for (const id of fresh) raiseLabel(world, raise, issue, id, 'labeled', by)
}

function raiseLabel(world: World, raise: Raise, issue: Issue, labelId: number, action: 'labeled' | 'unlabeled', by: By): void {
  const label = world.state.labels.find((candidate) => candidate.id === labelId)
  raise(subjectEvent(world, issue, action, by.accountId, label ? { label: labelShape(world, label) } : {}))
}

export function setAssignees(world: World, raise: Raise, issue: Issue, by: By, wanted: number[]): void {
  const [gone, fresh] = [issue.assigneeIds.filter((id) => !wanted.includes(id)), wanted.filter((id) => !issue.assigneeIds.includes(id))]
  issue.assigneeIds = wanted
  touch(issue)
  for (const id of gone) raise(subjectEvent(world, issue, 'unassigned', by.accountId, { assignee: userOrNull(world, id) }))
  for (const id of fresh) raise(subjectEvent(world, issue, 'assigned', by.accountId, { assignee: userOrNull(world, id) }))
}

export function lockIssue(world: World, issue: Issue, by: By, locked: boolean): void {
  world.change((raise) => {
    issue.locked = locked
    touch(issue)
    raise(subjectEvent(world, issue, locked ? 'locked' : 'unlocked', by.accountId))
  })
}

export function touch(row: { updatedAt: string }): void {
  row.updatedAt = now()
}

/** A locked conversation is open to those who may push, and to nobody else. */
export function refuseLocked(issue: Issue, mayPush: boolean): void {
  if (issue.locked && !mayPush) refuse(403, 'Unable to create comment because issue is locked.')
}

export function addComment(world: World, issue: Issue, by: By, body: string): Comment {
  return world.change((raise) => {
    const at = now()
    const row = { id: nextId(world.state, 'comment'), repositoryId: issue.repositoryId, issueId: issue.id }
    const comment: Comment = { ...row, userId: by.accountId, appId: by.appId, body, createdAt: at, updatedAt: at }
    world.state.comments.push(comment)
    issue.updatedAt = at
    raise(commentEvent(world, comment, 'created', by.accountId))
    return comment
  })
}

export function editComment(world: World, comment: Comment, by: By, body: string): void {
  world.change((raise) => {
    const changes = body === comment.body ? {} : { body: { from: comment.body } }
    comment.body = body
    touch(comment)
    raise(commentEvent(world, comment, 'edited', by.accountId, { changes }))
  })
}

export function deleteComment(world: World, comment: Comment, by: By): void {
  world.change((raise) => {
    // shown as it was, because afterwards nothing of it can be rendered
    raise(commentEvent(world, comment, 'deleted', by.accountId))
    world.state.comments = world.state.comments.filter((row) => row.id !== comment.id)
    dropReactions(world, { kind: 'comment', id: comment.id })
  })
}

export function dropReactions(world: World, subject: Reaction['subject']): void {
  world.state.reactions = world.state.reactions.filter((row) => !(row.subject.kind === subject.kind && row.subject.id === subject.id))
}

/** Idempotent by nature: one account gives each reaction once. Reactions raise no delivery. */
export function react(
  world: World,
  subject: Reaction['subject'],
  by: By,
  content: Reaction['content'],
): { reaction: Reaction; fresh: boolean } {
  const existing = world.state.reactions.find(
    (row) => row.subject.kind === subject.kind && row.subject.id === subject.id && row.userId === by.accountId && row.content === content,
  )
  if (existing) return { reaction: existing, fresh: false }
  return world.change(() => {
    const reaction: Reaction = { id: nextId(world.state, 'reaction'), subject, userId: by.accountId, content, createdAt: now() }
    world.state.reactions.push(reaction)
    return { reaction, fresh: true }
  })
}

export function removeReaction(world: World, reaction: Reaction): void {
  world.change(() => {
    world.state.reactions = world.state.reactions.filter((row) => row.id !== reaction.id)
  })
}
