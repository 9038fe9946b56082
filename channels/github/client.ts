/**
 * The one client for GitHub's API. Every request is tried exactly once; whoever calls owns the retries and settles what is unknown
 * (spec M4, F132). What fails is a `GithubError`. Ids are text, whatever their size (F052).
 */

import { Octokit } from '@octokit/core'
import type { Permission } from '../../core/authority/permission.ts'
import { isOwnMessage } from '../../core/message/marker.ts'
import type { AgentIdentity } from '../../core/routing/trigger.ts'
import { createCredentials, type GithubAccount, type Token } from './credentials.ts'
import { type AddressSettings, type Endpoints, endpointsOf } from './endpoints.ts'
import { type Asked, classify, classifyGraphql, GithubError } from './failure.ts'
import { findChanges } from './lists.ts'
import { deliveryLog } from './missed.ts'
import { at, idOf, listOf, numberOf, shaOf, textOf, timeOf } from './payload.ts'

export interface GithubSettings extends AddressSettings {
  account: GithubAccount
}

export interface CommentFacts {
  id: string
  url: string
  body: string
  /** Null: a deleted account. */
  authorId: string | null
  viaApp: string | null
  createdAt: string
  updatedAt: string
}

export interface PullRequestFacts {
  number: number
  /** For GraphQL. */
  nodeId: string
  url: string
  title: string
  body: string
  state: 'open' | 'closed'
  merged: boolean
  draft: boolean
  head: { branch: string; sha: string | null }
  base: { branch: string; sha: string | null }
  authorId: string | null
}

/** Where a comment is looked for: below an issue or pull request, or in one review thread. */
export interface CommentSearch {
  number: number
  /** Root comment of the review thread. */
  reviewComment?: string
  /** The key that its marker is made of. Only the agent's own comments count, since anybody can copy a marker (F141). */
  key: string
  authorId: string
  since: Date
}

export type GithubClient = ReturnType<typeof createGithubClient>

const REQUEST_TIMEOUT_MS = 20_000
const CALL_LIFE_MS = 60_000
/** A clone or push of a large repository takes its time. */
const GIT_LIFE_MS = 10 * 60_000
const PAGE = 100

export function createGithubClient(settings: GithubSettings, deps: { now: () => Date; fetch?: typeof fetch }) {
  const found = endpointsOf(settings)
  if ('problem' in found) throw new Error(`GitHub cannot be reached: ${found.problem}.`)
  const endpoints: Endpoints = found
  const timed: typeof fetch = (input, init) => (deps.fetch ?? fetch)(input, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  const octokit = new Octokit({ baseUrl: endpoints.api, userAgent: 'switchyard', request: { fetch: timed } })
  const { account } = settings

  /** One request. A redirected write is sent again to its new address as it was; `fetch` would turn it into a GET. */
  const send = async (
    route: string,
    parameters: Record<string, unknown>,
    token: Token | null,
    write: boolean,
  ): Promise<{ data: unknown; headers: { link?: string | undefined } }> => {
    const { method, url, body } = octokit.request.endpoint(route, parameters)
    const asked: Asked = { request: `${method} ${new URL(url).pathname}`, write, now: deps.now() }
    const once = async (address: string) => {
      try {
        return await octokit.request(`${method} ${address}`, {
          ...(body === undefined ? {} : { data: body }),
          headers: { 'x-github-api-version': '2022-11-28', ...(token ? { authorization: `Bearer ${token.token}` } : {}) },
          request: { redirect: write ? 'manual' : 'follow' },
        })
      } catch (error) {
        throw new GithubError(withoutSecret(classify(error, asked), token))
      }
    }
    const answer = await once(url)
    if (!write || answer.status < 300) return answer
    const moved = typeof answer.headers.location === 'string' ? new URL(answer.headers.location, url) : null
    if (moved?.origin === new URL(url).origin) {
      const second = await once(moved.href)
      if (second.status < 300) return second
    }
    throw new GithubError({
      kind: 'not-found',
      status: answer.status,
      message: `${asked.request}: moved to an address that is not followed`,
    })
  }

  const credentials = createCredentials(account, octokit, (route, parameters, token) => send(route, parameters, token, false), deps.now)

  const call = async (fullName: string, route: string, parameters: Record<string, unknown>): Promise<unknown> => {
    const [owner, repo] = fullName.split('/')
    const token = await credentials.repository(fullName, CALL_LIFE_MS)
    try {
      return (await send(route, { owner, repo, ...parameters }, token, !route.startsWith('GET '))).data
    } catch (error) {
      if (error instanceof GithubError && error.failure.kind === 'unauthorised') credentials.refused(fullName)
      throw error
    }
  }

  const pages = (fullName: string, route: string, parameters: Record<string, unknown>): Promise<unknown[]> =>
    everyPage(route, (page) => call(fullName, route, { ...parameters, ...page }))

  /** All that an App is installed on. */
  const installedRepositories = async (): Promise<string[]> => {
    const asked = async (route: string, page: object, token: Token) => (await send(route, { ...page }, token, false)).data
    const installations = await everyPage('GET /app/installations', async (page) =>
      asked('GET /app/installations', page, await credentials.app()),
    )
    const names: string[] = []
    for (const installation of installations) {
      const id = idOf(at(installation, 'id'))
      if (id === null || at(installation, 'suspended_at')) continue
      const route = 'GET /installation/repositories'
      const repositories = await everyPage(route, async (page) =>
        at(await asked(route, page, await credentials.installation(id, CALL_LIFE_MS)), 'repositories'),
      )
      names.push(...repositories.map((repository) => textOf(at(repository, 'full_name'))))
    }
    return names
  }

  const mutate = async (fullName: string, name: string, nodeId: string): Promise<void> => {
    const query = `mutation($id: ID!) { ${name}(input: { pullRequestId: $id }) { pullRequest { isDraft } } }`
    const data = await call(fullName, `POST ${endpoints.graphql}`, { query, variables: { id: nodeId }, owner: undefined, repo: undefined })
    const errors = listOf(at(data, 'errors')).map((error) => ({ type: textOf(at(error, 'type')), message: textOf(at(error, 'message')) }))
    if (errors.length > 0) throw new GithubError(classifyGraphql(errors, { request: name, write: true, now: deps.now() }))
    if (at(data, 'data', name) === undefined) throw unreadable(`${name} gave no data`, true)
  }

  const comments = async (fullName: string, number: number, since: Date): Promise<CommentFacts[]> =>
    (await pages(fullName, 'GET /repos/{owner}/{repo}/issues/{number}/comments', { number, since: since.toISOString() })).map((comment) =>
      commentFacts(comment, false),
    )

  const pull = async (fullName: string, route: string, parameters: Record<string, unknown>): Promise<PullRequestFacts> =>
    pullRequestFacts(await call(fullName, route, parameters), !route.startsWith('GET '))

  const user = async (login: string, token: Token | null) => (await send('GET /users/{login}', { login }, token, false)).data

  const whoAmI = async (): Promise<AgentIdentity> => {
    if (account.kind === 'token') {
      const { data } = await send('GET /user', {}, await credentials.app(), false)
      const login = textOf(at(data, 'login'))
      return identity('user', login, login, at(data, 'id'), null)
    }
    const { data: app } = await send('GET /app', {}, await credentials.app(), false)
    const slug = textOf(at(app, 'slug'))
    // An app's own token may not read accounts; without an installation the public look-up has to do.
    const { data: installed } = await send('GET /app/installations', { per_page: 1 }, await credentials.app(), false)
    const installation = idOf(at(listOf(installed)[0], 'id'))
    const token = installation === null ? null : await credentials.installation(installation, CALL_LIFE_MS)
    const login = `${slug}[bot]`
    return identity('app', login, slug, at(await user(login, token), 'id'), idOf(at(app, 'id')))
  }

  /** Without its own id the agent would take its own words for a person's. */
  const identity = (kind: 'app' | 'user', login: string, slug: string, account: unknown, appId: string | null): AgentIdentity => {
    const id = idOf(account)
    if (id === null || slug === '' || (kind === 'app' && appId === null)) throw unreadable('GitHub does not say who the agent is', false)
    return { source: 'github', kind, id, login, slug, appId, noReplyEmail: `${id}+${login}@${endpoints.noReplyHost}` }
  }

  return {
    endpoints,
    whoAmI,

    /** Null for a personal token: only an App may read what its hook was sent. */
    deliveryLog:
      account.kind === 'app' ? deliveryLog(async (route, parameters) => send(route, parameters, await credentials.app(), false)) : null,

    findChanges: findChanges({ one: call, all: pages }),

    /** Null for a personal token: what its account sees is more than what it serves. */
    installedRepositories: account.kind === 'app' ? installedRepositories : null,

    async permission(fullName: string, login: string): Promise<Permission> {
      try {
        const data = await call(fullName, 'GET /repos/{owner}/{repo}/collaborators/{login}/permission', { login })
        return permissionOf(data)
      } catch (error) {
        // A bot or a renamed account is nobody's collaborator. Any other 404 is a repository that cannot be seen, which says nothing.
        if (error instanceof GithubError && error.failure.kind === 'not-found' && /is not a user/i.test(error.message)) return 'none'
        throw error
      }
    },

    async createComment(fullName: string, number: number, body: string): Promise<CommentFacts> {
      return commentFacts(await call(fullName, 'POST /repos/{owner}/{repo}/issues/{number}/comments', { number, body }), true)
    },

    /** `comment` is the thread's root; GitHub refuses replies to replies. */
    async replyInReviewThread(fullName: string, number: number, comment: string, body: string): Promise<CommentFacts> {
      const route = 'POST /repos/{owner}/{repo}/pulls/{number}/comments/{comment}/replies'
      return commentFacts(await call(fullName, route, { number, comment, body }), true)
    },

    async findCommentByMarker(
      fullName: string,
      { number, reviewComment, key, authorId, since }: CommentSearch,
    ): Promise<CommentFacts | null> {
      const isOurs = (comment: CommentFacts) => isOwnMessage(comment, key, { id: authorId })
      if (reviewComment === undefined) return (await comments(fullName, number, since)).find(isOurs) ?? null
      const route = 'GET /repos/{owner}/{repo}/pulls/{number}/comments'
      const replies = (await pages(fullName, route, { number, since: since.toISOString() })).filter(
        (comment) => idOf(at(comment, 'in_reply_to_id')) === reviewComment,
      )
      return replies.map((comment) => commentFacts(comment, false)).find(isOurs) ?? null
    },

    async createPullRequest(
      fullName: string,
      { head, base, title, body, draft }: { head: string; base: string; title: string; body: string; draft: boolean },
    ): Promise<PullRequestFacts> {
      return pull(fullName, 'POST /repos/{owner}/{repo}/pulls', { head, base, title, body, draft })
    },

    /** The open one of a branch of this repository, else the newest. */
    async findPullRequest(fullName: string, branch: string): Promise<PullRequestFacts | null> {
      const head = `${fullName.split('/')[0]}:${branch}`
      const listed = await pages(fullName, 'GET /repos/{owner}/{repo}/pulls', { head, state: 'all', sort: 'created', direction: 'desc' })
      // A head that GitHub does not understand is not filtered by.
      const facts = listed.map((each) => pullRequestFacts(each, false)).filter((each) => each.head.branch === branch)
      return facts.find((each) => each.state === 'open') ?? facts[0] ?? null
    },

    async getPullRequest(fullName: string, number: number): Promise<PullRequestFacts> {
      return pull(fullName, 'GET /repos/{owner}/{repo}/pulls/{number}', { number })
    },

    async updatePullRequest(fullName: string, number: number, change: { title?: string; body?: string }): Promise<PullRequestFacts> {
      return pull(fullName, 'PATCH /repos/{owner}/{repo}/pulls/{number}', { number, ...change })
    },

    async closePullRequest(fullName: string, number: number): Promise<PullRequestFacts> {
      return pull(fullName, 'PATCH /repos/{owner}/{repo}/pulls/{number}', { number, state: 'closed' })
    },

    markReady: (fullName: string, nodeId: string) => mutate(fullName, 'markPullRequestReadyForReview', nodeId),
    convertToDraft: (fullName: string, nodeId: string) => mutate(fullName, 'convertPullRequestToDraft', nodeId),

    /** The commit of a branch; null if there is no such branch. */
    async getRef(fullName: string, branch: string): Promise<string | null> {
      try {
        const path = branch.split('/').map(encodeURIComponent).join('/')
        const data = await call(fullName, `GET /repos/{owner}/{repo}/git/ref/heads/${path}`, {})
        return at(data, 'ref') === `refs/heads/${branch}` ? shaOf(at(data, 'object', 'sha')) : null
      } catch (error) {
        if (error instanceof GithubError && error.failure.kind === 'not-found') return null
        throw error
      }
    },

    /** For the host's git. The header goes to git by its environment, never by its arguments. */
    async gitAuth(fullName: string): Promise<{ url: string; header: string; expiresAt: Date | null }> {
      const { token, expiresAt } = await credentials.repository(fullName, GIT_LIFE_MS)
      const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
      return { url: `${endpoints.git}/${fullName}.git`, header: `Authorization: Basic ${basic}`, expiresAt }
    },
  }
}

async function everyPage(route: string, ask: (page: { per_page: number; page: number }) => Promise<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for (let page = 1; ; page++) {
    const data = await ask({ per_page: PAGE, page })
    if (!Array.isArray(data)) throw unreadable(`${route} gave no list`, false)
    all.push(...data)
    if (data.length < PAGE) return all
  }
}

/** `role_name` is finer than `permission`, but may be a role of the organisation's own. */
function permissionOf(data: unknown): Permission {
  const known: readonly string[] = ['admin', 'maintain', 'write', 'triage', 'read', 'none'] satisfies Permission[]
  const named = [at(data, 'role_name'), at(data, 'permission')].find((name) => typeof name === 'string' && known.includes(name))
  if (named === undefined) throw unreadable('GitHub names no permission', false)
  return named as Permission
}

function commentFacts(comment: unknown, written: boolean): CommentFacts {
  const id = idOf(at(comment, 'id'))
  if (id === null) throw unreadable('a comment has no id', written)
  return {
    id,
    url: textOf(at(comment, 'html_url')),
    body: textOf(at(comment, 'body')),
    authorId: idOf(at(comment, 'user', 'id')),
    viaApp: idOf(at(comment, 'performed_via_github_app', 'id')),
    createdAt: timeOf(at(comment, 'created_at')) ?? '',
    updatedAt: timeOf(at(comment, 'updated_at')) ?? '',
  }
}

function pullRequestFacts(pull: unknown, written: boolean): PullRequestFacts {
  const number = numberOf(at(pull, 'number'))
  if (number === null) throw unreadable('a pull request has no number', written)
  const end = (name: 'head' | 'base') => ({ branch: textOf(at(pull, name, 'ref')), sha: shaOf(at(pull, name, 'sha')) })
  return {
    number,
    nodeId: textOf(at(pull, 'node_id')),
    url: textOf(at(pull, 'html_url')),
    title: textOf(at(pull, 'title')),
    body: textOf(at(pull, 'body')),
    state: at(pull, 'state') === 'open' ? 'open' : 'closed',
    // A list names only the time of the merge.
    merged: at(pull, 'merged') === true || timeOf(at(pull, 'merged_at')) !== null,
    draft: at(pull, 'draft') === true,
    head: end('head'),
    base: end('base'),
    authorId: idOf(at(pull, 'user', 'id')),
  }
}

/** An empty, cut or foreign answer with a good status. After a write it may well have happened. */
function unreadable(what: string, written: boolean): GithubError {
  return new GithubError({ kind: written ? 'unknown-outcome' : 'server', status: 200, message: `GitHub's answer cannot be read: ${what}` })
}

function withoutSecret<Failure extends { message: string }>(failure: Failure, token: Token | null): Failure {
  return token ? { ...failure, message: failure.message.replaceAll(token.token, '[secret]') } : failure
}
