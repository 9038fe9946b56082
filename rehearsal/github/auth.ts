/**
 * Who calls, and what that one may do: an App by its RS256 token, an installation by its hour's token, a person by a personal
 * token, or nobody. What an actor may not see does not exist for it (404), as on GitHub.
 */
import { verify } from 'node:crypto'
import { type Call, notFound, refuse } from './http.ts'
import {
  type Account,
  type App,
  byId,
  type Installation,
  type Level,
  type Repository,
  type Role,
  repositoryOf,
  roleIn,
  type State,
  type Token,
} from './state.ts'

export type Actor =
  | { kind: 'nobody' }
  | { kind: 'app'; app: App }
  | { kind: 'person'; account: Account }
  | { kind: 'installation'; account: Account; app: App; installation: Installation; token: NonNullable<Token['installation']> }

export function actorOf(state: State, authorization: string | undefined): Actor {
  if (!authorization) return { kind: 'nobody' }
  const credential = credentialIn(authorization)
  if (credential === null) return refuse(401, 'Bad credentials')
  return credential.split('.').length === 3 ? appOf(state, credential) : holderOf(state, credential)
}

/** Null: none, or in a scheme that GitHub does not know. */
export function credentialIn(authorization: string | undefined): string | null {
  const [scheme = '', credential = ''] = (authorization ?? '').trim().split(/\s+/, 2)
  switch (scheme.toLowerCase()) {
    case 'bearer':
    case 'token':
      return credential
    case 'basic':
      // Any user name will do, as on GitHub; `x-access-token` is the custom for an installation's token.
      return Buffer.from(credential, 'base64')
        .toString()
        .replace(/^[^:]*:/, '')
    default:
      return null
  }
}

function holderOf(state: State, credential: string): Actor {
  const token = state.tokens.find((candidate) => candidate.token === credential)
  if (!token) return refuse(401, 'Bad credentials')
  const account = byId(state.accounts, token.accountId, 'account')
  if (!token.installation) return { kind: 'person', account }
  if (Date.parse(token.installation.expiresAt) <= Date.now()) return refuse(401, 'Bad credentials')
  const installation = state.installations.find((candidate) => candidate.id === token.installation?.id)
  if (!installation) return refuse(401, 'Bad credentials')
  return { kind: 'installation', account, app: byId(state.apps, installation.appId, 'app'), installation, token: token.installation }
}

/** GitHub allows a minute of skew before `iat`, and ten minutes of life. */
const SKEW_S = 60
const LIFE_S = 600

function appOf(state: State, jwt: string): Actor {
  const [head, claims, signature] = jwt.split('.') as [string, string, string]
  const header = decode(head)
  const claim = decode(claims)
  if (!header || !claim || header.alg !== 'RS256') return refuse(401, 'A JSON web token could not be decoded')
  const app = state.apps.find((candidate) => String(claim.iss) === String(candidate.id) || claim.iss === candidate.clientId)
  if (!app) return refuse(401, "'Issuer' claim ('iss') must be an Integer")
  if (!verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), app.publicKey, Buffer.from(signature, 'base64url'))) {
    return refuse(401, 'A JSON web token could not be decoded')
  }
  const at = Date.now() / 1000
  if (typeof claim.exp !== 'number' || claim.exp <= at) {
    return refuse(
      401,
      "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    )
  }
  if (claim.exp > at + LIFE_S + SKEW_S) return refuse(401, "'Expiration time' claim ('exp') is too far in the future")
  if (typeof claim.iat !== 'number' || claim.iat > at + SKEW_S) {
    return refuse(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
  }
  return { kind: 'app', app }
}

function decode(part: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

const RANK: Record<Role, number> = { read: 1, triage: 2, write: 3, maintain: 4, admin: 5 }

export function canSee(actor: Actor, repository: Repository): boolean {
  if (!repository.private) return true
  if (actor.kind === 'person') return roleIn(repository, actor.account.id) !== null
  return actor.kind === 'installation' && covers(actor, repository)
}

export function hasRole(actor: Actor, repository: Repository, role: Role): boolean {
  if (actor.kind !== 'person') return false
  const held = roleIn(repository, actor.account.id)
  return held !== null && RANK[held] >= RANK[role]
}

function covers(actor: Actor & { kind: 'installation' }, repository: Repository): boolean {
  const within = (scope: 'all' | number[]) => scope === 'all' || scope.includes(repository.id)
  return actor.installation.accountId === repository.ownerId && within(actor.installation.repositories) && within(actor.token.repositories)
}

/** What a route asks of its caller: an installation needs one of the permissions, a person the role (`null`: being signed in will do). */
export interface Need {
  permissions: readonly string[]
  level: Level
  role: Role | null
}

export function may(actor: Actor, repository: Repository, need: Need): boolean {
  if (need.level === 'read' && !repository.private && actor.kind !== 'app') return true
  if (actor.kind === 'installation') {
    const granted = need.permissions.some(
      (name) => actor.token.permissions[name] === 'write' || (need.level === 'read' && actor.token.permissions[name]),
    )
    return covers(actor, repository) && granted
  }
  if (need.level === 'read') return canSee(actor, repository)
  return actor.kind === 'person' && canSee(actor, repository) && (need.role === null || hasRole(actor, repository, need.role))
}

export const READ = {
  metadata: { permissions: ['metadata'], level: 'read', role: null },
  contents: { permissions: ['contents'], level: 'read', role: null },
  issues: { permissions: ['issues', 'pull_requests'], level: 'read', role: null },
  pulls: { permissions: ['pull_requests'], level: 'read', role: null },
  checks: { permissions: ['checks'], level: 'read', role: null },
  statuses: { permissions: ['statuses'], level: 'read', role: null },
} as const satisfies Record<string, Need>

export const WRITE = {
  contents: { permissions: ['contents'], level: 'write', role: 'write' },
  /** Anybody who is signed in may write under a public issue. */
  discussion: { permissions: ['issues', 'pull_requests'], level: 'write', role: null },
  triage: { permissions: ['issues', 'pull_requests'], level: 'write', role: 'triage' },
  pulls: { permissions: ['pull_requests'], level: 'write', role: null },
  checks: { permissions: ['checks'], level: 'write', role: 'admin' },
  statuses: { permissions: ['statuses'], level: 'write', role: 'write' },
} as const satisfies Record<string, Need>

/** The repository of a route under `/repos/{owner}/{repo}`, once the caller may do there what the route does. */
export function repositoryFor(call: Call, need: Need): Repository {
  const repository = repositoryOf(call.world.state, call.params.owner ?? '', call.params.repo ?? '')
  if (!repository || !canSee(call.actor, repository)) return notFound()
  allow(call.actor, repository, need)
  return repository
}

export function allow(actor: Actor, repository: Repository, need: Need): void {
  if (may(actor, repository, need)) return
  const [status, message] = DENIALS[actor.kind]
  refuse(status, message)
}

const DENIALS: Record<Actor['kind'], [number, string]> = {
  nobody: [401, 'Requires authentication'],
  app: [401, 'A JSON web token is not enough here: use an installation access token'],
  installation: [403, 'Resource not accessible by integration'],
  person: [403, 'Must have push access to the repository'],
}

/** The account that signs what this actor writes. */
export function authorOf(actor: Actor): Account {
  if (actor.kind === 'person' || actor.kind === 'installation') return actor.account
  return refuse(401, 'Requires authentication')
}

/** The App that wrote in an account's name, shown as `performed_via_github_app`. */
export function viaApp(actor: Actor): number | null {
  return actor.kind === 'installation' ? actor.app.id : null
}
