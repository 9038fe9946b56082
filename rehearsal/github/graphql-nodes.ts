/** How GraphQL shows what the state holds. Fields that cost something are functions; a field that is missing here is not served. */
import { GraphQLError } from 'graphql'
import { readCommit } from './git.ts'
import { repositoryPage } from './shapes/accounts.ts'
import { issuePage } from './shapes/issues.ts'
import { latestRuns, mergeableState, pullPage } from './shapes/pulls.ts'
import {
  association,
  byId,
  type Comment,
  fullName,
  type Issue,
  issueOf,
  type Kind,
  nodeId,
  type Pull,
  pullOf,
  type Repository,
  type Review,
  type ReviewComment,
  type ReviewThread,
} from './state.ts'
import type { World } from './world.ts'

export type Fields = Record<string, unknown>

/** A bot's login comes without its `[bot]` here; a deleted account is null. */
export function actorNode(world: World, accountId: number | null, as: 'actor' | 'User' = 'actor'): Fields | null {
  const account = world.state.accounts.find((row) => row.id === accountId)
  if (!account) return null
  const bot = account.type === 'Bot'
  return {
    // `viewer` is declared as a User, whoever asks
    __typename: as === 'User' ? 'User' : account.type,
    id: nodeId('account', account.id),
    databaseId: account.id,
    login: bot && as === 'actor' ? account.login.replace(/\[bot\]$/, '') : account.login,
    name: account.name,
    url: `${world.url()}/${account.login}`,
  }
}

interface Paging {
  first?: number
  last?: number
  after?: string
  before?: string
}

function connection<T>(name: string, rows: readonly T[], render: (row: T) => Fields) {
  return ({ first, last, after, before }: Paging): Fields => {
    if (first == null && last == null) {
      throw new GraphQLError(`You must provide a \`first\` or \`last\` value to properly paginate the \`${name}\` connection.`, {
        extensions: { type: 'MISSING_PAGINATION_BOUNDARIES' },
      })
    }
    const size = Math.max(first ?? 0, last ?? 0)
    if (size > 100) {
      const message = `Requesting ${size} records on the \`${name}\` connection exceeds the \`${first == null ? 'last' : 'first'}\` limit of 100 records.`
      throw new GraphQLError(message, { extensions: { type: 'EXCESSIVE_PAGINATION' } })
    }
    const from = after ? position(after) + 1 : 0
    const to = before ? position(before) : rows.length
    const start = first == null ? Math.max(from, to - (last ?? 0)) : from
    const end = first == null ? to : Math.min(to, from + first)
    const shown = rows.slice(start, end)
    const cursor = (at: number) => Buffer.from(`at:${at}`).toString('base64')
    return {
      totalCount: rows.length,
      nodes: () => shown.map(render),
      edges: () => shown.map((row, at) => ({ cursor: cursor(start + at), node: render(row) })),
      pageInfo: {
        hasNextPage: end < rows.length,
        hasPreviousPage: start > 0,
        startCursor: shown.length > 0 ? cursor(start) : null,
        endCursor: shown.length > 0 ? cursor(end - 1) : null,
      },
    }
  }
}

function position(cursor: string): number {
  const at = /^at:(\d+)$/.exec(Buffer.from(cursor, 'base64').toString())?.[1]
  if (at === undefined)
    throw new GraphQLError(`\`${cursor}\` does not appear to be a valid cursor.`, { extensions: { type: 'INVALID_CURSOR_ARGUMENTS' } })
  return Number(at)
}

export function repositoryNode(world: World, repository: Repository): Fields {
  const { state } = world
  const head = repository.refs[`refs/heads/${repository.defaultBranch}`]
  const missing = (kind: string, number: number) =>
    new GraphQLError(`Could not resolve to ${kind} with the number of ${number}.`, { extensions: { type: 'NOT_FOUND' } })
  return {
    __typename: 'Repository',
    id: nodeId('repository', repository.id),
    databaseId: repository.id,
    name: repository.name,
    nameWithOwner: fullName(state, repository),
    isPrivate: repository.private,
    url: repositoryPage(world, repository),
    owner: () => actorNode(world, repository.ownerId),
    defaultBranchRef: head ? { name: repository.defaultBranch, target: { __typename: 'Commit', oid: head } } : null,
    autoMergeAllowed: false,
    pullRequest({ number }: { number: number }) {
      const pull = pullOf(state, repository, number)
      if (!pull) throw missing('a PullRequest', number)
      return pullNode(world, pull)
    },
    issue({ number }: { number: number }) {
      const issue = issueOf(state, repository, number)
      if (!issue || issue.pullId !== null) throw missing('an Issue', number)
      return issueNode(world, issue)
    },
  }
}

function subjectFields(world: World, issue: Issue): Fields {
  const repository = byId(world.state.repositories, issue.repositoryId, 'repository')
  const comments = world.state.comments.filter((comment) => comment.issueId === issue.id)
  return {
    number: issue.number,
    title: issue.title,
    body: issue.body ?? '',
    author: () => actorNode(world, issue.userId),
    authorAssociation: association(world.state, repository, issue.userId),
    createdAt: issue.createdAt,
    updatedAt: issue.updatedAt,
    closedAt: issue.closedAt,
    closed: issue.state === 'closed',
    locked: issue.locked,
    repository: () => repositoryNode(world, repository),
    comments: connection('comments', comments, (comment) => commentNode(world, comment)),
  }
}

function issueNode(world: World, issue: Issue): Fields {
  const repository = byId(world.state.repositories, issue.repositoryId, 'repository')
  return {
    ...subjectFields(world, issue),
    __typename: 'Issue',
    id: nodeId('issue', issue.id),
    databaseId: issue.id,
    fullDatabaseId: String(issue.id),
    state: issue.state.toUpperCase(),
    stateReason: issue.stateReason?.toUpperCase() ?? null,
    url: issuePage(world, repository, issue),
  }
}

function commentNode(world: World, comment: Comment): Fields {
  const repository = byId(world.state.repositories, comment.repositoryId, 'repository')
  const issue = byId(world.state.issues, comment.issueId, 'issue')
  return {
    __typename: 'IssueComment',
    id: nodeId('comment', comment.id),
    databaseId: comment.id,
    fullDatabaseId: String(comment.id),
    body: comment.body,
    author: () => actorNode(world, comment.userId),
    createdAt: comment.createdAt,
    updatedAt: comment.updatedAt,
    isMinimized: false,
    minimizedReason: null,
    url: `${issuePage(world, repository, issue)}#issuecomment-${comment.id}`,
  }
}

const MERGE_STATE = { dirty: 'DIRTY', draft: 'DRAFT', unstable: 'UNSTABLE', clean: 'CLEAN' } as const

export function pullNode(world: World, pull: Pull): Fields {
  const { state } = world
  const issue = byId(state.issues, pull.issueId, 'issue')
  const repository = byId(state.repositories, pull.repositoryId, 'repository')
  const open = issue.state === 'open'
  const threads = state.reviewThreads.filter((thread) => thread.pullId === pull.id)
  const reviews = state.reviews.filter((review) => review.pullId === pull.id)
  return {
    ...subjectFields(world, issue),
    __typename: 'PullRequest',
    id: nodeId('pull', pull.id),
    databaseId: pull.id,
    fullDatabaseId: String(pull.id),
    state: pull.merged ? 'MERGED' : issue.state.toUpperCase(),
    url: pullPage(world, pull),
    isDraft: pull.draft,
    merged: pull.merged !== null,
    mergedAt: pull.merged?.at ?? null,
    mergeable: open ? (pull.diff.conflict ? 'CONFLICTING' : 'MERGEABLE') : 'UNKNOWN',
    mergeStateStatus: open ? MERGE_STATE[mergeableState(state, pull)] : 'UNKNOWN',
    headRefName: pull.headRef,
    headRefOid: pull.headSha,
    baseRefName: pull.baseRef,
    baseRefOid: pull.baseSha,
    isCrossRepository: false,
    additions: pull.diff.additions,
    deletions: pull.diff.deletions,
    changedFiles: pull.diff.changedFiles,
    viewerCanEnableAutoMerge: false,
    autoMergeRequest: null,
    reviewDecision: null,
    reviewThreads: connection('reviewThreads', threads, (thread) => threadNode(world, thread)),
    reviews: connection('reviews', reviews, (review) => reviewNode(world, review)),
    commits: connection('commits', [pull.headSha], (sha) => ({
      __typename: 'PullRequestCommit',
      commit: () => commitNode(world, repository, sha),
    })),
  }
}

async function commitNode(world: World, repository: Repository, sha: string): Promise<Fields> {
  const commit = await readCommit(world.folderOf(repository), sha)
  const runs = latestRuns(world.state, repository.id, sha)
  const red = runs.some((run) => run.conclusion !== null && !['success', 'neutral', 'skipped'].includes(run.conclusion))
  const rollup = red ? 'FAILURE' : runs.some((run) => run.conclusion === null) ? 'PENDING' : 'SUCCESS'
  const url = `${repositoryPage(world, repository)}/commit/${sha}`
  return {
    __typename: 'Commit',
    oid: sha,
    message: commit.message,
    committedDate: commit.committer.date,
    url,
    statusCheckRollup: runs.length > 0 ? { state: rollup } : null,
  }
}

function reviewNode(world: World, review: Review): Fields {
  const pull = byId(world.state.pulls, review.pullId, 'pull request')
  const comments = world.state.reviewComments.filter((comment) => comment.reviewId === review.id)
  return {
    __typename: 'PullRequestReview',
    id: nodeId('review', review.id),
    databaseId: review.id,
    fullDatabaseId: String(review.id),
    state: review.state,
    body: review.body ?? '',
    author: () => actorNode(world, review.userId),
    submittedAt: review.submittedAt,
    url: `${pullPage(world, pull)}#pullrequestreview-${review.id}`,
    comments: connection('comments', comments, (comment) => reviewCommentNode(world, comment)),
  }
}

export function threadNode(world: World, thread: ReviewThread): Fields {
  const pull = byId(world.state.pulls, thread.pullId, 'pull request')
  const comments = world.state.reviewComments.filter((comment) => comment.threadId === thread.id)
  const outdated = comments[0] !== undefined && comments[0].commitId !== pull.headSha
  return {
    __typename: 'PullRequestReviewThread',
    id: nodeId('reviewThread', thread.id),
    isResolved: thread.resolvedById !== null,
    isOutdated: outdated,
    isCollapsed: thread.resolvedById !== null,
    resolvedBy: () => actorNode(world, thread.resolvedById, 'User'),
    path: thread.path,
    line: outdated ? null : thread.line,
    originalLine: thread.line,
    diffSide: thread.side,
    viewerCanReply: true,
    viewerCanResolve: thread.resolvedById === null,
    viewerCanUnresolve: thread.resolvedById !== null,
    pullRequest: () => pullNode(world, pull),
    repository: () => repositoryNode(world, byId(world.state.repositories, pull.repositoryId, 'repository')),
    comments: connection('comments', comments, (comment) => reviewCommentNode(world, comment)),
  }
}

function reviewCommentNode(world: World, comment: ReviewComment): Fields {
  const pull = byId(world.state.pulls, comment.pullId, 'pull request')
  const thread = byId(world.state.reviewThreads, comment.threadId, 'review thread')
  const outdated = comment.commitId !== pull.headSha
  return {
    __typename: 'PullRequestReviewComment',
    id: nodeId('reviewComment', comment.id),
    databaseId: comment.id,
    fullDatabaseId: String(comment.id),
    body: comment.body,
    author: () => actorNode(world, comment.userId),
    createdAt: comment.createdAt,
    updatedAt: comment.updatedAt,
    path: thread.path,
    line: outdated ? null : thread.line,
    outdated,
    diffHunk: comment.diffHunk,
    isMinimized: false,
    minimizedReason: null,
    url: `${pullPage(world, pull)}#discussion_r${comment.id}`,
    replyTo: () =>
      comment.inReplyToId === null
        ? null
        : reviewCommentNode(world, byId(world.state.reviewComments, comment.inReplyToId, 'review comment')),
    pullRequest: () => pullNode(world, pull),
  }
}

/** Any node by its kind and number; null where there is none that the caller sees. */
export function node(world: World, at: { kind: Kind; id: number }, visible: (repository: Repository) => boolean): Fields | null {
  const { state } = world
  const find = <T extends { id: number }>(rows: readonly T[]) => rows.find((row) => row.id === at.id)
  const inside = <T>(row: T | undefined, repositoryId: (row: T) => number, render: (row: T) => Fields): Fields | null =>
    row && visible(byId(state.repositories, repositoryId(row), 'repository')) ? render(row) : null
  const ofPull = (row: { pullId: number }) => byId(state.pulls, row.pullId, 'pull request').repositoryId
  switch (at.kind) {
    case 'account':
      return actorNode(world, at.id)
    case 'repository':
      return inside(
        find(state.repositories),
        (row) => row.id,
        (row) => repositoryNode(world, row),
      )
    case 'issue':
      return inside(
        find(state.issues),
        (row) => row.repositoryId,
        (row) => issueNode(world, row),
      )
    case 'pull':
      return inside(
        find(state.pulls),
        (row) => row.repositoryId,
        (row) => pullNode(world, row),
      )
    case 'comment':
      return inside(
        find(state.comments),
        (row) => row.repositoryId,
        (row) => commentNode(world, row),
      )
    case 'review':
      return inside(find(state.reviews), ofPull, (row) => reviewNode(world, row))
    case 'reviewThread':
      return inside(find(state.reviewThreads), ofPull, (row) => threadNode(world, row))
    case 'reviewComment':
      return inside(find(state.reviewComments), ofPull, (row) => reviewCommentNode(world, row))
    default:
      return null
  }
}
