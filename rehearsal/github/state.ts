/**
 * What the offline GitHub holds: one plain value that a file can carry. Rows refer to each other by numeric id, never by name,
 * because accounts and repositories can be renamed (facts: key everything by numeric id).
 */

export type AccountType = 'User' | 'Bot' | 'Organization'
export type Role = 'read' | 'triage' | 'write' | 'maintain' | 'admin'
export type Level = 'read' | 'write'
export type Conclusion = 'success' | 'failure' | 'neutral' | 'cancelled' | 'skipped' | 'timed_out' | 'action_required'
export type Association = 'OWNER' | 'MEMBER' | 'COLLABORATOR' | 'CONTRIBUTOR' | 'NONE'

export interface Account {
  id: number
  login: string
  type: AccountType
  name: string | null
  email: string
  createdAt: string
}

export interface App {
  id: number
  slug: string
  name: string
  clientId: string
  ownerId: number
  botId: number
  privateKey: string
  publicKey: string
  permissions: Record<string, Level>
  events: string[]
  createdAt: string
}

export interface Installation {
  id: number
  appId: number
  accountId: number
  repositories: 'all' | number[]
  createdAt: string
}

/** A personal token names nothing but its account; an installation's token is bounded in time, repositories and permissions. */
export interface Token {
  token: string
  accountId: number
  installation: { id: number; permissions: Record<string, Level>; repositories: 'all' | number[]; expiresAt: string } | null
}

export interface Repository {
  id: number
  ownerId: number
  name: string
  description: string | null
  private: boolean
  defaultBranch: string
  members: Record<string, Role>
  /** The branches and tags that deliveries were raised for; what git holds beyond it is a push still to be told. */
  refs: Record<string, string>
  lastPusherId: number
  nextNumber: number
  createdAt: string
  updatedAt: string
  pushedAt: string
}

export interface Label {
  id: number
  repositoryId: number
  name: string
  color: string
  description: string | null
}

/** The part that issues and pull requests share: on GitHub every pull request is an issue too, with its own id. */
export interface Issue {
  id: number
  repositoryId: number
  number: number
  pullId: number | null
  title: string
  body: string | null
  userId: number
  appId: number | null
  state: 'open' | 'closed'
  stateReason: 'completed' | 'not_planned' | 'reopened' | null
  locked: boolean
  labelIds: number[]
  assigneeIds: number[]
  closedAt: string | null
  closedById: number | null
  createdAt: string
  updatedAt: string
}

export interface Pull {
  id: number
  issueId: number
  repositoryId: number
  number: number
  headRef: string
  headSha: string
  baseRef: string
  baseSha: string
  draft: boolean
  requestedReviewerIds: number[]
  merged: { at: string; byId: number; sha: string } | null
  diff: Diff
}

/** Counted from git whenever the head or the base moves, so that a pull request can be shown without asking git. */
export interface Diff {
  mergeBase: string
  commits: number
  additions: number
  deletions: number
  changedFiles: number
  conflict: boolean
}

export interface Comment {
  id: number
  repositoryId: number
  issueId: number
  userId: number
  appId: number | null
  body: string
  createdAt: string
  updatedAt: string
}

export type ReactionContent = '+1' | '-1' | 'laugh' | 'confused' | 'heart' | 'hooray' | 'rocket' | 'eyes'
export interface Reaction {
  id: number
  subject: { kind: 'issue' | 'comment' | 'reviewComment'; id: number }
  userId: number
  content: ReactionContent
  createdAt: string
}

export interface Review {
  id: number
  pullId: number
  userId: number
  body: string | null
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED'
  commitId: string
  submittedAt: string
}

export interface ReviewThread {
  id: number
  pullId: number
  path: string
  line: number
  side: 'LEFT' | 'RIGHT'
  resolvedById: number | null
}

export interface ReviewComment {
  id: number
  pullId: number
  threadId: number
  reviewId: number
  inReplyToId: number | null
  userId: number
  body: string
  diffHunk: string
  commitId: string
  originalCommitId: string
  createdAt: string
  updatedAt: string
}

export interface CheckSuite {
  id: number
  repositoryId: number
  appId: number
  headSha: string
  headBranch: string | null
  before: string
  status: 'queued' | 'in_progress' | 'completed'
  conclusion: Conclusion | null
  createdAt: string
  updatedAt: string
}

export interface CheckRun {
  id: number
  repositoryId: number
  suiteId: number
  name: string
  headSha: string
  status: 'queued' | 'in_progress' | 'completed'
  conclusion: Conclusion | null
  externalId: string
  detailsUrl: string | null
  output: { title: string | null; summary: string | null; text: string | null }
  startedAt: string
  completedAt: string | null
}

export interface Status {
  id: number
  repositoryId: number
  sha: string
  state: 'error' | 'failure' | 'pending' | 'success'
  context: string
  description: string | null
  targetUrl: string | null
  creatorId: number
  createdAt: string
}

export interface Hook {
  id: number
  target: { type: 'integration' | 'repository'; id: number }
  url: string
  secret: string
  /** `*` listens to everything. */
  events: string[]
  active: boolean
}

/** The line of the deliveries log; headers, payload and answer lie in the delivery's own file. */
export interface Delivery {
  id: number
  guid: string
  hookId: number
  event: string
  action: string | null
  repositoryId: number | null
  installationId: number | null
  redelivery: boolean
  at: string
  /** `posting` was written before the socket was opened: after a crash nobody knows whether it arrived, and nobody sends it again. */
  progress: 'waiting' | 'posting' | 'done'
  duration: number
  statusCode: number
  status: string
}

export interface State {
  last: Record<string, number>
  accounts: Account[]
  apps: App[]
  installations: Installation[]
  tokens: Token[]
  repositories: Repository[]
  labels: Label[]
  issues: Issue[]
  pulls: Pull[]
  comments: Comment[]
  reactions: Reaction[]
  reviews: Review[]
  reviewThreads: ReviewThread[]
  reviewComments: ReviewComment[]
  checkSuites: CheckSuite[]
  checkRuns: CheckRun[]
  statuses: Status[]
  hooks: Hook[]
  deliveries: Delivery[]
}

export function emptyState(): State {
  return {
    last: {},
    accounts: [],
    apps: [],
    installations: [],
    tokens: [],
    repositories: [],
    labels: [],
    issues: [],
    pulls: [],
    comments: [],
    reactions: [],
    reviews: [],
    reviewThreads: [],
    reviewComments: [],
    checkSuites: [],
    checkRuns: [],
    statuses: [],
    hooks: [],
    deliveries: [],
  }
}

/** Where the numbers of a kind begin (as large as GitHub's, so that nothing that reads them may assume 32 bits) and its node id's prefix. */
const KINDS = {
  account: { first: 187_400_000, prefix: 'U' },
  app: { first: 1_340_000, prefix: 'A' },
  installation: { first: 72_500_000, prefix: 'MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u' },
  repository: { first: 1_021_300_000, prefix: 'R' },
  label: { first: 9_105_000_000, prefix: 'LA' },
  issue: { first: 3_614_200_000, prefix: 'I' },
  pull: { first: 2_951_400_000, prefix: 'PR' },
  comment: { first: 3_581_600_000, prefix: 'IC' },
  reaction: { first: 311_800_000, prefix: 'REA' },
  review: { first: 3_490_200_000, prefix: 'PRR' },
  reviewThread: { first: 1_204_700_000, prefix: 'PRRT' },
  reviewComment: { first: 2_560_900_000, prefix: 'PRRC' },
  checkSuite: { first: 50_120_000_000, prefix: 'CS' },
  checkRun: { first: 56_430_000_000, prefix: 'CR' },
  status: { first: 40_210_000_000, prefix: 'SC' },
  hook: { first: 583_000_000, prefix: 'HOOK' },
  delivery: { first: 151_300_000_000_000, prefix: 'DEL' },
} as const
export type Kind = keyof typeof KINDS

export function nextId(state: State, kind: Kind): number {
  const id = (state.last[kind] ?? KINDS[kind].first) + 1
  state.last[kind] = id
  return id
}

export function nodeId(kind: Kind, id: number): string {
  return `${KINDS[kind].prefix}_${Buffer.from(`k${id}`).toString('base64url')}`
}

export function parseNodeId(text: string): { kind: Kind; id: number } | null {
  const match = /^([A-Za-z0-9]+)_([A-Za-z0-9_-]+)$/.exec(text)
  const kind = (Object.keys(KINDS) as Kind[]).find((name) => KINDS[name].prefix === match?.[1])
  const number = match && /^k(\d+)$/.exec(Buffer.from(match[2]!, 'base64url').toString())
  return kind && number ? { kind, id: Number(number[1]) } : null
}

/** GitHub writes whole seconds. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d{3}Z$/, 'Z')
}

export function byId<T extends { id: number }>(rows: readonly T[], id: number, what: string): T {
  const row = rows.find((candidate) => candidate.id === id)
  if (!row) throw new Error(`the offline GitHub's state names ${what} ${id}, but holds none`)
  return row
}

export function sameLogin(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

export function accountOf(state: State, login: string): Account | undefined {
  return state.accounts.find((account) => sameLogin(account.login, login))
}

export function repositoryOf(state: State, owner: string, name: string): Repository | undefined {
  return state.repositories.find(
    (repository) => sameLogin(repository.name, name) && sameLogin(byId(state.accounts, repository.ownerId, 'account').login, owner),
  )
}

export function fullName(state: State, repository: Repository): string {
  return `${byId(state.accounts, repository.ownerId, 'account').login}/${repository.name}`
}

export function issueOf(state: State, repository: Repository, number: number): Issue | undefined {
  return state.issues.find((issue) => issue.repositoryId === repository.id && issue.number === number)
}

export function pullOf(state: State, repository: Repository, number: number): Pull | undefined {
  return state.pulls.find((pull) => pull.repositoryId === repository.id && pull.number === number)
}

/** A repository's owner is its admin; an organization's people are members only where they were made so. */
export function roleIn(repository: Repository, accountId: number): Role | null {
  return repository.ownerId === accountId ? 'admin' : (repository.members[accountId] ?? null)
}

export function installationFor(state: State, appId: number, repository: Repository): Installation | undefined {
  return state.installations.find(
    (installation) =>
      installation.appId === appId &&
      installation.accountId === repository.ownerId &&
      (installation.repositories === 'all' || installation.repositories.includes(repository.id)),
  )
}

export function association(state: State, repository: Repository, accountId: number): Association {
  if (repository.ownerId === accountId) return 'OWNER'
  if (repository.members[accountId])
    return byId(state.accounts, repository.ownerId, 'account').type === 'Organization' ? 'MEMBER' : 'COLLABORATOR'
  const contributed = state.pulls.some(
    (pull) => pull.repositoryId === repository.id && pull.merged && byId(state.issues, pull.issueId, 'issue').userId === accountId,
  )
  return contributed ? 'CONTRIBUTOR' : 'NONE'
}
