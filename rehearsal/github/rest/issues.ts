/** Issues, their comments, labels, assignees, locks and reactions. */
import {
  addComment,
  addLabels,
  type By,
  deleteComment,
  editComment,
  editIssue,
  lockIssue,
  openIssue,
  react,
  refuseLocked,
  removeLabel,
  removeReaction,
} from '../acts/issues.ts'
import { allow, authorOf, hasRole, may, READ, repositoryFor, viaApp, WRITE } from '../auth.ts'
import {
  type Call,
  found,
  invalid,
  numberParam,
  ok,
  oneOf,
  optionalText,
  optionalTexts,
  page,
  type Route,
  refuse,
  requiredText,
  since,
  sorted,
} from '../http.ts'
import { commentShape, fullIssue, issueShape, labelShape, REACTIONS, reactionShape } from '../shapes/issues.ts'
import { accountOf, type Comment, type Issue, issueOf, type Reaction, type Repository, roleIn, sameLogin } from '../state.ts'

export const issueRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues',
    handle(call) {
      const { world, query } = call
      const repository = repositoryFor(call, READ.issues)
      const state = oneOf(query.get('state') ?? 'open', ['open', 'closed', 'all'], 'Issue', 'state')
      const labels = query.get('labels')?.split(',').filter(Boolean) ?? []
      const rows = world.state.issues
        .filter((issue) => issue.repositoryId === repository.id && (state === 'all' || issue.state === state))
        .filter((issue) => labels.every((name) => labelsOf(call, issue).some((label) => sameLogin(label.name, name))))
      return page(call, sorted(call, since(call, rows), 'desc'), (issue) => issueShape(world, issue))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues',
    handle(call) {
      const repository = repositoryFor(call, WRITE.discussion)
      const title = requiredText(call.body, 'Issue', 'title')
      const body = optionalText(call.body, 'Issue', 'body') ?? null
      // from one who may not triage they are dropped without a word, as on GitHub
      const triage = may(call.actor, repository, WRITE.triage)
      const labels = triage ? optionalTexts(call.body, 'Issue', 'labels') : undefined
      const assignees = triage ? assigneesIn(call, repository) : undefined
      const issue = openIssue(call.world, repository, by(call), {
        title,
        body,
        ...(labels ? { labels } : {}),
        ...(assignees ? { assigneeIds: assignees } : {}),
      })
      return ok(fullIssue(call.world, issue), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{issue_number}',
    handle: (call) => ok(fullIssue(call.world, issueIn(call, repositoryFor(call, READ.issues)))),
  },
  {
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/issues/{issue_number}',
    handle(call) {
      const repository = repositoryFor(call, WRITE.discussion)
      const issue = issueIn(call, repository)
      allowEdit(call, repository, issue.userId)
      const { body } = call
      if (issue.pullId !== null && body.state !== undefined) refuse(422, 'The state of a pull request is changed under /pulls')
      const title = body.title === undefined ? undefined : requiredText(body, 'Issue', 'title')
      const text = optionalText(body, 'Issue', 'body')
      const labels = optionalTexts(body, 'Issue', 'labels')
      const assigneeIds = assigneesIn(call, repository)
      editIssue(call.world, repository, issue, by(call), {
        ...(title === undefined ? {} : { title }),
        ...(text === undefined ? {} : { body: text }),
        ...(body.state === undefined ? {} : { state: oneOf(body.state, ['open', 'closed'], 'Issue', 'state') }),
        ...(body.state_reason === 'not_planned' ? { stateReason: 'not_planned' as const } : {}),
        ...(labels ? { labels } : {}),
        ...(assigneeIds ? { assigneeIds } : {}),
      })
      return ok(fullIssue(call.world, issue))
    },
  },
  {
    method: 'PUT',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/lock',
    handle(call) {
      lockIssue(call.world, issueIn(call, repositoryFor(call, WRITE.triage)), by(call), true)
      return { status: 204 }
    },
  },
  {
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/lock',
    handle(call) {
      lockIssue(call.world, issueIn(call, repositoryFor(call, WRITE.triage)), by(call), false)
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/assignees',
    handle(call) {
      const repository = repositoryFor(call, WRITE.triage)
      const issue = issueIn(call, repository)
      const assigneeIds = [...new Set([...issue.assigneeIds, ...(assigneesIn(call, repository) ?? [])])]
      editIssue(call.world, repository, issue, by(call), { assigneeIds })
      return ok(issueShape(call.world, issue), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/labels',
    handle(call) {
      const issue = issueIn(call, repositoryFor(call, READ.issues))
      return page(call, labelsOf(call, issue), (label) => labelShape(call.world, label))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/labels',
    handle(call) {
      const repository = repositoryFor(call, WRITE.triage)
      const issue = issueIn(call, repository)
      addLabels(
        call.world,
        repository,
        issue,
        by(call),
        optionalTexts(call.body, 'Label', 'labels') ?? invalid('Label', 'labels', 'missing_field'),
      )
      return ok(labelsOf(call, issue).map((label) => labelShape(call.world, label)))
    },
  },
  {
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}',
    handle(call) {
      const issue = issueIn(call, repositoryFor(call, WRITE.triage))
      const label = labelsOf(call, issue).find((candidate) => sameLogin(candidate.name, call.params.name!))
      if (!label) return refuse(404, 'Label does not exist')
      removeLabel(call.world, issue, by(call), label)
      return ok(labelsOf(call, issue).map((rest) => labelShape(call.world, rest)))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/comments',
    handle(call) {
      const repository = repositoryFor(call, READ.issues)
      const rows = call.world.state.comments.filter((comment) => comment.repositoryId === repository.id)
      return page(call, sorted(call, since(call, rows), 'asc'), (comment) => commentShape(call.world, comment))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/comments',
    handle(call) {
      const issue = issueIn(call, repositoryFor(call, READ.issues))
      const rows = call.world.state.comments.filter((comment) => comment.issueId === issue.id)
      return page(call, since(call, rows), (comment) => commentShape(call.world, comment))
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/comments',
    handle(call) {
      const repository = repositoryFor(call, WRITE.discussion)
      const issue = issueIn(call, repository)
      refuseLocked(issue, hasRole(call.actor, repository, 'write'))
      return ok(commentShape(call.world, addComment(call.world, issue, by(call), requiredText(call.body, 'IssueComment', 'body'))), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/comments/{comment_id}',
    handle: (call) => ok(commentShape(call.world, commentIn(call, repositoryFor(call, READ.issues)))),
  },
  {
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/issues/comments/{comment_id}',
    handle(call) {
      const repository = repositoryFor(call, WRITE.discussion)
      const comment = commentIn(call, repository)
      allowEdit(call, repository, comment.userId)
      editComment(call.world, comment, by(call), requiredText(call.body, 'IssueComment', 'body'))
      return ok(commentShape(call.world, comment))
    },
  },
  {
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/comments/{comment_id}',
    handle(call) {
      const repository = repositoryFor(call, WRITE.discussion)
      const comment = commentIn(call, repository)
      allowEdit(call, repository, comment.userId)
      deleteComment(call.world, comment, by(call))
      return { status: 204 }
    },
  },
  ...reactionRoutes('/repos/{owner}/{repo}/issues/{issue_number}', (call, repository) => ({
    kind: 'issue',
    id: issueIn(call, repository).id,
  })),
  ...reactionRoutes('/repos/{owner}/{repo}/issues/comments/{comment_id}', (call, repository) => ({
    kind: 'comment',
    id: commentIn(call, repository).id,
  })),
]

/** The three routes of reactions, under whatever can be reacted to. */
export function reactionRoutes(path: string, subjectIn: (call: Call, repository: Repository) => Reaction['subject']): Route[] {
  const given = (call: Call, subject: Reaction['subject']) =>
    call.world.state.reactions.filter((row) => row.subject.kind === subject.kind && row.subject.id === subject.id)
  return [
    {
      method: 'GET',
      path: `${path}/reactions`,
      handle(call) {
        const content = call.query.get('content')
        const rows = given(call, subjectIn(call, repositoryFor(call, READ.issues))).filter(
          (row) => content === null || row.content === content,
        )
        return page(call, rows, (reaction) => reactionShape(call.world, reaction))
      },
    },
    {
      method: 'POST',
      path: `${path}/reactions`,
      handle(call) {
        const repository = repositoryFor(call, WRITE.discussion)
        const content = oneOf(call.body.content, REACTIONS, 'Reaction', 'content')
        const { reaction, fresh } = react(call.world, subjectIn(call, repository), by(call), content)
        return ok(reactionShape(call.world, reaction), fresh ? 201 : 200)
      },
    },
    {
      method: 'DELETE',
      path: `${path}/reactions/{reaction_id}`,
      handle(call) {
        const repository = repositoryFor(call, WRITE.discussion)
        const id = numberParam(call, 'reaction_id')
        const reaction = found(given(call, subjectIn(call, repository)).find((row) => row.id === id))
        allowEdit(call, repository, reaction.userId)
        removeReaction(call.world, reaction)
        return { status: 204 }
      },
    },
  ]
}

export function by({ actor }: Call): By {
  return { accountId: authorOf(actor).id, appId: viaApp(actor) }
}

/** What one wrote oneself one may change; what others wrote, only with the right to triage. */
export function allowEdit(call: Call, repository: Repository, ownerId: number): void {
  if (authorOf(call.actor).id !== ownerId) allow(call.actor, repository, WRITE.triage)
}

function issueIn(call: Call, repository: Repository): Issue {
  return found(issueOf(call.world.state, repository, numberParam(call, 'issue_number')))
}

function commentIn(call: Call, repository: Repository): Comment {
  const id = numberParam(call, 'comment_id')
  return found(call.world.state.comments.find((comment) => comment.id === id && comment.repositoryId === repository.id))
}

function labelsOf({ world }: Call, issue: Issue) {
  return issue.labelIds.map((id) => found(world.state.labels.find((label) => label.id === id)))
}

export function assigneesIn(call: Call, repository: Repository): number[] | undefined {
  return optionalTexts(call.body, 'Issue', 'assignees')?.map((login) => {
    const account = accountOf(call.world.state, login)
    return account && roleIn(repository, account.id) ? account.id : invalid('Issue', 'assignees', 'invalid', `${login} cannot be assigned`)
  })
}
