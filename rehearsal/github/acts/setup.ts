/** What exists before anything happens: accounts, Apps and their installations, tokens, repositories, members, hooks. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { commitFiles, createBare, type FileEdits, isBranchName, setRef } from '../git.ts'
import {
  type Account,
  type AccountType,
  type App,
  accountOf,
  type Hook,
  type Installation,
  type Level,
  nextId,
  now,
  type Repository,
  type Role,
  repositoryOf,
  type State,
  type Token,
} from '../state.ts'
import type { World } from '../world.ts'

/** The operator's mistakes are told in plain words; nothing here answers in GitHub's name. */
export class Mistake extends Error {}

export function accountNamed(state: State, login: string): Account {
  const account = accountOf(state, login)
  if (!account)
    throw new Mistake(`no account "${login}": create it first. Known: ${state.accounts.map((one) => one.login).join(', ') || 'none'}`)
  return account
}

export function repositoryNamed(state: State, fullName: string): Repository {
  const [owner = '', name = ''] = fullName.split('/')
  const repository = repositoryOf(state, owner, name)
  if (!repository) throw new Mistake(`no repository "${fullName}": name it owner/name and create it first`)
  return repository
}

export function createAccount(world: World, given: { login: string; type?: AccountType; name?: string; email?: string }): Account {
  if (accountOf(world.state, given.login)) throw new Mistake(`the account "${given.login}" exists already`)
  return world.change(() => addAccount(world.state, given))
}

function addAccount(state: State, given: { login: string; type?: AccountType; name?: string; email?: string }): Account {
  const id = nextId(state, 'account')
  const account: Account = {
    id,
    login: given.login,
    type: given.type ?? 'User',
    name: given.name ?? null,
    email: given.email ?? `${id}+${given.login}@users.noreply.github.com`,
    createdAt: now(),
  }
  state.accounts.push(account)
  return account
}

/** What the account wrote stays and is shown as nobody's. */
export function deleteAccount(world: World, login: string): void {
  const account = accountNamed(world.state, login)
  if (world.state.repositories.some((repository) => repository.ownerId === account.id)) throw new Mistake(`${login} owns repositories`)
  world.change(() => {
    world.state.accounts = world.state.accounts.filter((row) => row.id !== account.id)
    world.state.tokens = world.state.tokens.filter((row) => row.accountId !== account.id)
  })
}

const PERMISSIONS: Record<string, Level> = {
  metadata: 'read',
  contents: 'write',
  issues: 'write',
  pull_requests: 'write',
  checks: 'write',
  statuses: 'read',
  members: 'read',
}

const EVENTS = [
  'issues',
  'issue_comment',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'check_run',
  'check_suite',
  'push',
]

export interface NewApp {
  slug: string
  owner: string
  name?: string
  permissions?: Record<string, Level>
  events?: string[]
  hook?: { url: string; secret: string }
}

export function createApp(world: World, given: NewApp): App {
  const { state } = world
  if (state.apps.some((app) => app.slug === given.slug)) throw new Mistake(`the App "${given.slug}" exists already`)
  const owner = accountNamed(state, given.owner)
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return world.change(() => {
    const id = nextId(state, 'app')
    const app: App = {
      id,
      slug: given.slug,
      name: given.name ?? given.slug,
      clientId: `Iv23li${randomBytes(7).toString('hex')}`,
      ownerId: owner.id,
      botId: addAccount(state, { login: `${given.slug}[bot]`, type: 'Bot' }).id,
      // the form in which GitHub hands it out
      privateKey: keys.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
      publicKey: keys.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      permissions: given.permissions ?? PERMISSIONS,
      events: given.events ?? EVENTS,
      createdAt: now(),
    }
    state.apps.push(app)
    if (given.hook) addHook(state, { type: 'integration', id }, { ...given.hook, events: app.events })
    return app
  })
}

/** For all repositories of an account, or for some. */
export function installApp(world: World, given: { app: string; account: string; repositories?: string[] }): Installation {
  const { state } = world
  const app = appNamed(state, given.app)
  const account = accountNamed(state, given.account)
  const chosen = given.repositories?.map((name) => repositoryNamed(state, name.includes('/') ? name : `${given.account}/${name}`).id)
  const known = state.installations.find((row) => row.appId === app.id && row.accountId === account.id)
  return world.change(() => {
    if (known) return Object.assign(known, { repositories: chosen ?? 'all' })
    const row = { id: nextId(state, 'installation'), appId: app.id, accountId: account.id, createdAt: now() }
    const installation: Installation = { ...row, repositories: chosen ?? 'all' }
    state.installations.push(installation)
    return installation
  })
}

export function appNamed(state: State, slug: string): App {
  const app = state.apps.find((candidate) => candidate.slug === slug)
  if (!app) throw new Mistake(`no App "${slug}": create it first`)
  return app
}

export function createToken(world: World, login: string): string {
  const account = accountNamed(world.state, login)
  return world.change(() => addToken(world.state, 'ghp_', { accountId: account.id, installation: null }))
}

export function addToken(state: State, prefix: 'ghp_' | 'ghs_', given: Omit<Token, 'token'>): string {
  const token = prefix + randomBytes(27).toString('base64url').replace(/[-_]/g, 'x')
  // An hour's tokens that are over are of no use to anybody.
  state.tokens = state.tokens.filter((row) => !row.installation || Date.parse(row.installation.expiresAt) > Date.now() - 3_600_000)
  state.tokens.push({ token, ...given })
  return token
}

export interface NewRepository {
  owner: string
  name: string
  private?: boolean
  description?: string
  defaultBranch?: string
  members?: Record<string, Role>
  files?: FileEdits
}

export async function createRepository(world: World, given: NewRepository): Promise<Repository> {
  const { state } = world
  const owner = accountNamed(state, given.owner)
  if (repositoryOf(state, given.owner, given.name)) throw new Mistake(`the repository "${given.owner}/${given.name}" exists already`)
  const defaultBranch = given.defaultBranch ?? 'main'
  if (!(await isBranchName(defaultBranch))) throw new Mistake(`"${defaultBranch}" is not a legal branch name`)
  const members = Object.entries(given.members ?? {}).map(([login, role]) => [accountNamed(state, login).id, role] as const)

  const at = now()
  const repository: Repository = {
    id: world.change(() => nextId(state, 'repository')),
    ownerId: owner.id,
    name: given.name,
    description: given.description ?? null,
    private: given.private ?? false,
    defaultBranch,
    members: Object.fromEntries(members),
    refs: {},
    lastPusherId: owner.id,
    nextNumber: 1,
    createdAt: at,
    updatedAt: at,
    pushedAt: at,
  }
  const folder = world.folderOf(repository)
  await createBare(folder, defaultBranch)
  const by = { name: owner.name ?? owner.login, email: owner.email }
  const first = await commitFiles(folder, null, given.files ?? { 'README.md': `# ${given.name}\n` }, { message: 'Initial commit', by })
  await setRef(folder, `refs/heads/${defaultBranch}`, first)
  repository.refs = { [`refs/heads/${defaultBranch}`]: first }
  world.change(() => state.repositories.push(repository))
  return repository
}

export function setMember(world: World, fullName: string, login: string, role: Role | null): void {
  const repository = repositoryNamed(world.state, fullName)
  const account = accountNamed(world.state, login)
  world.change(() => {
    if (role) repository.members[account.id] = role
    else delete repository.members[account.id]
  })
}

export interface NewHook {
  url: string
  secret: string
  events?: string[]
}

export function createHook(world: World, fullName: string, given: NewHook): Hook {
  const repository = repositoryNamed(world.state, fullName)
  return world.change(() => addHook(world.state, { type: 'repository', id: repository.id }, given))
}

/** Where an App's deliveries go may change with every start of the receiver. */
export function setAppHook(world: World, slug: string, given: NewHook): Hook {
  const app = appNamed(world.state, slug)
  const hook = world.state.hooks.find((row) => row.target.type === 'integration' && row.target.id === app.id)
  return world.change(() =>
    hook
      ? Object.assign(hook, { url: given.url, secret: given.secret })
      : addHook(world.state, { type: 'integration', id: app.id }, { ...given, events: given.events ?? app.events }),
  )
}

function addHook(state: State, target: Hook['target'], given: NewHook): Hook {
  const hook: Hook = {
    id: nextId(state, 'hook'),
    target,
    url: given.url,
    secret: given.secret,
    events: given.events ?? ['*'],
    active: true,
  }
  state.hooks.push(hook)
  return hook
}
