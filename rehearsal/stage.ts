/** Sets a scenario's stage in the offline GitHub, acts its one deed, and reads what came of it, as a person with a token would. */
import type { GithubSettings } from '../core/deployment/settings.ts'
import type { Comment, End, PullRequest, World } from './scenarios/world.ts'
import { filesOf } from './scenarios/world.ts'

/** The operator's side of an offline GitHub: in this process, or over HTTP. */
// biome-ignore lint/suspicious/noExplicitAny: each deed has an answer of its own
export type Operate = (deed: string, facts?: Record<string, unknown>) => Promise<any>

export function operateOver(url: string): Operate {
  return async (deed, facts = {}) => {
    const response = await fetch(`${url}/_rehearsal/${deed}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(facts),
    })
    const body = await response.json()
    if (!response.ok) throw new Error(`the offline GitHub refuses ${deed}: ${(body as { message: string }).message}`)
    return body
  }
}

export interface Addresses {
  apiUrl: string
  graphqlUrl: string
  gitUrl: string
}

/** Makes what the world lacks and keeps what is there: the stage of an earlier start is found again. */
export async function setStage(
  operate: Operate,
  world: World,
  { apiUrl, graphqlUrl, gitUrl }: Addresses,
  secret: string,
): Promise<GithubSettings> {
  const state = await operate('state')
  const has = (rows: string, key: string, value: string) => state[rows].some((row: Record<string, unknown>) => row[key] === value)
  if (!has('accounts', 'login', world.owner.login)) await operate('createAccount', { ...world.owner, type: 'Organization' })
  for (const person of world.people) if (!has('accounts', 'login', person.login)) await operate('createAccount', person)
  const [owner, name] = world.repository.fullName.split('/')
  if (!has('repositories', 'name', name!)) {
    const { description, defaultBranch, private: hidden, files } = world.repository
    const members = Object.fromEntries(world.members.map(({ login, permission }) => [login, permission]))
    await operate('createRepository', { owner, name, description, defaultBranch, private: hidden, members, files: await filesOf(files) })
  }
  if (!has('apps', 'slug', world.app.slug)) {
    await operate('createApp', { ...world.app, owner: world.owner.login })
    await operate('installApp', { app: world.app.slug, account: world.owner.login })
  }
  const { apps } = await operate('state')
  const app = apps.find((each: { slug: string }) => each.slug === world.app.slug)
  return {
    apiUrl,
    graphqlUrl,
    gitUrl,
    auth: { kind: 'app', appId: String(app.id), privateKey: app.privateKey },
    webhookSecrets: [secret],
    repositories: [],
  }
}

/** Where the app's hook delivers to; said again at each start, since the port may be another. */
export async function pointHook(operate: Operate, world: World, webhookUrl: string, secret: string): Promise<void> {
  await operate('setAppHook', { app: world.app.slug, url: `${webhookUrl}/webhooks/github`, secret })
}

/** Opens the scenario's issue unless it is open already. */
export async function openIssue(operate: Operate, world: World): Promise<{ number: number; isNew: boolean }> {
  const state = await operate('state')
  const known = state.issues.find((issue: { title: string }) => issue.title === world.issue.title)
  if (known) return { number: known.number, isNew: false }
  const { author, title, body } = world.issue
  const { number } = await operate('openIssue', { repository: world.repository.fullName, as: author, title, body })
  return { number, isNew: true }
}

/** Reads the end over GitHub's own API; Reports come from the ledger. `isItsOwn` chooses where a repository has several ends. */
export async function readEnd(
  operate: Operate,
  world: World,
  apiUrl: string,
  issue: number,
  reports: End['reports'],
  isItsOwn: (pull: { body: string }) => boolean = () => true,
): Promise<End> {
  const { token } = await operate('createToken', { login: world.issue.author }).then((made) =>
    typeof made === 'string' ? { token: made } : made,
  )
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${apiUrl}/repos/${world.repository.fullName}/${path}`, { headers: { authorization: `Bearer ${token}` } })
    if (!response.ok) throw new Error(`the offline GitHub answers ${response.status} to ${path}`)
    return response.json()
  }
  type User = { user: { login: string } }
  const comments = (await get(`issues/${issue}/comments?per_page=100`)) as (User & { body: string })[]
  type Pull = User & {
    number: number
    title: string
    body: string
    base: { ref: string }
    head: { sha: string }
    state: 'open' | 'closed'
    draft: boolean
  }
  const pulls: Pull[] = []
  for (let page = 1; pulls.length === (page - 1) * 100; page++)
    pulls.push(...((await get(`pulls?state=all&per_page=100&page=${page}`)) as Pull[]))
  return {
    agent: `${world.app.slug}[bot]`,
    issue: { number: issue, comments: comments.map(({ user, body }): Comment => ({ author: user.login, body })) },
    pullRequests: await Promise.all(pulls.filter(isItsOwn).map(readPull)),
    reports,
  }

  async function readPull({ number, user, title, body, base, head, state, draft }: Pull): Promise<PullRequest> {
    const changed = ((await get(`pulls/${number}/files?per_page=100`)) as { filename: string }[]).map(({ filename }) => filename)
    const files = await Promise.all(
      changed.map(async (path) => {
        const { content } = (await get(`contents/${path}?ref=${head.sha}`)) as { content: string }
        return [path, Buffer.from(content, 'base64').toString()] as const
      }),
    )
    return { number, author: user.login, title, body, base: base.ref, state, draft, files: Object.fromEntries(files), changed }
  }
}
