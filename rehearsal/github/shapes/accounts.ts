/** How GitHub shows accounts, Apps, installations and repositories. Every function renders one row of the state; addresses are today's. */
import {
  type Account,
  type App,
  byId,
  fullName,
  type Installation,
  type Level,
  nodeId,
  type Repository,
  type Role,
  type State,
} from '../state.ts'

/** What a shape needs of the world. */
export interface View {
  state: State
  url(): string
  apiUrl(): string
}

type Shape = Record<string, unknown>

export function simpleUser(view: View, account: Account): Shape {
  const api = `${view.apiUrl()}/users/${encodeURIComponent(account.login)}`
  const bot = account.type === 'Bot'
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId('account', account.id),
    avatar_url: `${view.url()}/avatars/u/${account.id}?v=4`,
    gravatar_id: '',
    url: api,
    html_url: bot ? `${view.url()}/apps/${account.login.replace(/\[bot\]$/, '')}` : `${view.url()}/${account.login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: account.type,
    site_admin: false,
  }
}

/** A deleted account is shown as none at all. */
export function userOrNull(view: View, id: number | null): Shape | null {
  const account = view.state.accounts.find((candidate) => candidate.id === id)
  return account ? simpleUser(view, account) : null
}

export function publicUser(view: View, account: Account): Shape {
  const repositories = view.state.repositories.filter((repository) => repository.ownerId === account.id && !repository.private)
  return {
    ...simpleUser(view, account),
    name: account.name,
    company: null,
    blog: '',
    location: null,
    email: account.type === 'Bot' ? null : account.email,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: repositories.length,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: account.createdAt,
    updated_at: account.createdAt,
  }
}

export function integration(view: View, app: App): Shape {
  return {
    id: app.id,
    client_id: app.clientId,
    slug: app.slug,
    node_id: nodeId('app', app.id),
    owner: userOrNull(view, app.ownerId),
    name: app.name,
    description: '',
    external_url: `${view.url()}/apps/${app.slug}`,
    html_url: `${view.url()}/apps/${app.slug}`,
    created_at: app.createdAt,
    updated_at: app.createdAt,
    permissions: app.permissions,
    events: app.events,
  }
}

export function appOrNull(view: View, id: number | null): Shape | null {
  return id === null ? null : integration(view, byId(view.state.apps, id, 'app'))
}

export function installation(view: View, row: Installation): Shape {
  const app = byId(view.state.apps, row.appId, 'app')
  const account = byId(view.state.accounts, row.accountId, 'account')
  return {
    id: row.id,
    account: simpleUser(view, account),
    repository_selection: row.repositories === 'all' ? 'all' : 'selected',
    access_tokens_url: `${view.apiUrl()}/app/installations/${row.id}/access_tokens`,
    repositories_url: `${view.apiUrl()}/installation/repositories`,
    html_url: `${view.url()}/settings/installations/${row.id}`,
    app_id: app.id,
    app_slug: app.slug,
    target_id: account.id,
    target_type: account.type,
    permissions: app.permissions,
    events: app.events,
    created_at: row.createdAt,
    updated_at: row.createdAt,
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: null,
    suspended_at: null,
  }
}

/** What GitHub calls each kind of address below a repository's own. */
const BELOW: Record<string, string> = {
  archive_url: '/{archive_format}{/ref}',
  assignees_url: '/assignees{/user}',
  blobs_url: '/git/blobs{/sha}',
  branches_url: '/branches{/branch}',
  collaborators_url: '/collaborators{/collaborator}',
  comments_url: '/comments{/number}',
  commits_url: '/commits{/sha}',
  compare_url: '/compare/{base}...{head}',
  contents_url: '/contents/{+path}',
  contributors_url: '/contributors',
  deployments_url: '/deployments',
  downloads_url: '/downloads',
  events_url: '/events',
  forks_url: '/forks',
  git_commits_url: '/git/commits{/sha}',
  git_refs_url: '/git/refs{/sha}',
  git_tags_url: '/git/tags{/sha}',
  hooks_url: '/hooks',
  issue_comment_url: '/issues/comments{/number}',
  issue_events_url: '/issues/events{/number}',
  issues_url: '/issues{/number}',
  keys_url: '/keys{/key_id}',
  labels_url: '/labels{/name}',
  languages_url: '/languages',
  merges_url: '/merges',
  milestones_url: '/milestones{/number}',
  notifications_url: '/notifications{?since,all,participating}',
  pulls_url: '/pulls{/number}',
  releases_url: '/releases{/id}',
  stargazers_url: '/stargazers',
  statuses_url: '/statuses/{sha}',
  subscribers_url: '/subscribers',
  subscription_url: '/subscription',
  tags_url: '/tags',
  teams_url: '/teams',
  trees_url: '/git/trees{/sha}',
}

export function repositoryApi(view: View, repository: Repository): string {
  return `${view.apiUrl()}/repos/${fullName(view.state, repository)}`
}

export function repositoryPage(view: View, repository: Repository): string {
  return `${view.url()}/${fullName(view.state, repository)}`
}

export function minimalRepository(view: View, repository: Repository): Shape {
  const api = repositoryApi(view, repository)
  return {
    id: repository.id,
    node_id: nodeId('repository', repository.id),
    name: repository.name,
    full_name: fullName(view.state, repository),
    private: repository.private,
    owner: userOrNull(view, repository.ownerId),
    html_url: repositoryPage(view, repository),
    description: repository.description,
    fork: false,
    url: api,
    ...Object.fromEntries(Object.entries(BELOW).map(([name, path]) => [name, api + path])),
  }
}

/** As a webhook and most answers show it. */
export function repositoryShape(view: View, repository: Repository): Shape {
  const page = repositoryPage(view, repository)
  const open = view.state.issues.filter((issue) => issue.repositoryId === repository.id && issue.state === 'open').length
  return {
    ...minimalRepository(view, repository),
    git_url: `${page.replace(/^http/, 'git')}.git`,
    ssh_url: `git@${new URL(page).hostname}:${fullName(view.state, repository)}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: false,
    has_downloads: true,
    has_wiki: false,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: false,
    disabled: false,
    open_issues_count: open,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? 'private' : 'public',
    forks: 0,
    open_issues: open,
    watchers: 0,
    default_branch: repository.defaultBranch,
    created_at: repository.createdAt,
    updated_at: repository.updatedAt,
    pushed_at: repository.pushedAt,
  }
}

export function fullRepository(view: View, repository: Repository, role: Role | null): Shape {
  const owner = byId(view.state.accounts, repository.ownerId, 'account')
  return {
    ...repositoryShape(view, repository),
    permissions: flags(role ?? (repository.private ? null : 'read')),
    allow_rebase_merge: false,
    allow_squash_merge: true,
    allow_merge_commit: true,
    allow_auto_merge: false,
    allow_update_branch: false,
    delete_branch_on_merge: false,
    network_count: 0,
    subscribers_count: 0,
    ...(owner.type === 'Organization' ? { organization: simpleUser(view, owner) } : {}),
  }
}

/** A push shows its repository with times in seconds and more of the owner. */
export function pushRepository(view: View, repository: Repository): Shape {
  const owner = byId(view.state.accounts, repository.ownerId, 'account')
  const seconds = (date: string) => Math.floor(Date.parse(date) / 1000)
  return {
    ...repositoryShape(view, repository),
    owner: { name: owner.login, email: owner.email, ...simpleUser(view, owner) },
    url: repositoryPage(view, repository),
    created_at: seconds(repository.createdAt),
    pushed_at: seconds(repository.pushedAt),
    stargazers: 0,
    master_branch: repository.defaultBranch,
    ...(owner.type === 'Organization' ? { organization: owner.login } : {}),
  }
}

const ORDER: Role[] = ['read', 'triage', 'write', 'maintain', 'admin']
const FLAGS: Record<string, Role> = { admin: 'admin', maintain: 'maintain', push: 'write', triage: 'triage', pull: 'read' }

function flags(role: Role | null): Record<string, boolean> {
  return Object.fromEntries(
    Object.entries(FLAGS).map(([name, least]) => [name, role !== null && ORDER.indexOf(role) >= ORDER.indexOf(least)]),
  )
}

/** The permission API knows four words; the finer roles show in `role_name`. */
const PERMISSION: Record<Role, string> = { read: 'read', triage: 'read', write: 'write', maintain: 'write', admin: 'admin' }

export function collaboratorPermission(view: View, repository: Repository, account: Account, role: Role | null): Shape {
  const shown = role ?? (repository.private ? null : 'read')
  return {
    permission: shown ? PERMISSION[shown] : 'none',
    user: { ...simpleUser(view, account), permissions: flags(shown), role_name: shown ?? 'none' },
    role_name: shown ?? 'none',
  }
}

export function organizationPart(view: View, repository: Repository): Shape {
  const owner = byId(view.state.accounts, repository.ownerId, 'account')
  if (owner.type !== 'Organization') return {}
  const api = `${view.apiUrl()}/orgs/${owner.login}`
  return {
    organization: {
      login: owner.login,
      id: owner.id,
      node_id: nodeId('account', owner.id),
      url: api,
      repos_url: `${api}/repos`,
      events_url: `${api}/events`,
      hooks_url: `${api}/hooks`,
      issues_url: `${api}/issues`,
      members_url: `${api}/members{/member}`,
      public_members_url: `${api}/public_members{/member}`,
      avatar_url: `${view.url()}/avatars/u/${owner.id}?v=4`,
      description: '',
    },
  }
}

export function accessToken(
  view: View,
  given: { token: string; expiresAt: string; permissions: Record<string, Level>; repositories: 'all' | Repository[] },
): Shape {
  return {
    token: given.token,
    expires_at: given.expiresAt,
    permissions: given.permissions,
    repository_selection: given.repositories === 'all' ? 'all' : 'selected',
    ...(given.repositories === 'all' ? {} : { repositories: given.repositories.map((repository) => repositoryShape(view, repository)) }),
  }
}
