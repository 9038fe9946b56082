/** How GitHub shows what git holds: commits, refs, branches, files. */
import { type Commit, type Entry, type FileChange, type Person, ZERO } from '../git.ts'
import { type Account, nodeId, type Repository, type State } from '../state.ts'
import { repositoryApi, repositoryPage, simpleUser, type View } from './accounts.ts'

type Shape = Record<string, unknown>

/** GitHub knows a commit's people by their addresses. */
export function accountByEmail(state: State, email: string): Account | undefined {
  const id = /^(\d+)\+.*@users\.noreply\./.exec(email)?.[1]
  return state.accounts.find((account) => account.email.toLowerCase() === email.toLowerCase() || String(account.id) === id)
}

export function commitShape(view: View, repository: Repository, commit: Commit): Shape {
  const api = repositoryApi(view, repository)
  const page = `${repositoryPage(view, repository)}/commit/${commit.sha}`
  return {
    sha: commit.sha,
    node_id: objectNode('C', repository, commit.sha),
    commit: {
      author: commit.author,
      committer: commit.committer,
      message: commit.message,
      tree: { sha: commit.tree, url: `${api}/git/trees/${commit.tree}` },
      url: `${api}/git/commits/${commit.sha}`,
      comment_count: 0,
      verification: UNSIGNED,
    },
    url: `${api}/commits/${commit.sha}`,
    html_url: page,
    comments_url: `${api}/commits/${commit.sha}/comments`,
    author: userByEmail(view, commit.author),
    committer: userByEmail(view, commit.committer),
    parents: commit.parents.map((sha) => parent(view, repository, sha)),
  }
}

export function commitWithFiles(view: View, repository: Repository, commit: Commit, files: FileChange[]): Shape {
  const additions = files.reduce((sum, file) => sum + file.additions, 0)
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0)
  return {
    ...commitShape(view, repository, commit),
    stats: { total: additions + deletions, additions, deletions },
    files: files.map((file) => fileShape(view, repository, commit.sha, file)),
  }
}

export function gitCommitShape(view: View, repository: Repository, commit: Commit): Shape {
  const api = repositoryApi(view, repository)
  return {
    sha: commit.sha,
    node_id: objectNode('C', repository, commit.sha),
    url: `${api}/git/commits/${commit.sha}`,
    html_url: `${repositoryPage(view, repository)}/commit/${commit.sha}`,
    author: commit.author,
    committer: commit.committer,
    tree: { sha: commit.tree, url: `${api}/git/trees/${commit.tree}` },
    message: commit.message,
    parents: commit.parents.map((sha) => ({ ...parent(view, repository, sha), url: `${api}/git/commits/${sha}` })),
    verification: UNSIGNED,
  }
}

const UNSIGNED = { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null }

function parent(view: View, repository: Repository, sha: string): Shape {
  return { sha, url: `${repositoryApi(view, repository)}/commits/${sha}`, html_url: `${repositoryPage(view, repository)}/commit/${sha}` }
}

function userByEmail(view: View, person: Person): Shape | null {
  const account = accountByEmail(view.state, person.email)
  return account ? simpleUser(view, account) : null
}

function objectNode(prefix: string, repository: Repository, name: string): string {
  return `${prefix}_${Buffer.from(`${nodeId('repository', repository.id)}:${name}`).toString('base64url')}`
}

/** One commit in a push's list. */
export function pushCommit(view: View, repository: Repository, commit: Commit, files: FileChange[]): Shape {
  const named = (status: FileChange['status']) => files.filter((file) => file.status === status).map((file) => file.filename)
  const renamedFrom = files.flatMap((file) => file.previousFilename ?? [])
  return {
    ...simpleCommit(commit),
    author: signature(view, commit.author),
    committer: signature(view, commit.committer),
    distinct: true,
    url: `${repositoryPage(view, repository)}/commit/${commit.sha}`,
    added: [...named('added'), ...named('renamed')],
    removed: [...named('removed'), ...renamedFrom],
    modified: named('modified'),
  }
}

function signature(view: View, { name, email, date }: Commit['author']): Shape {
  const account = accountByEmail(view.state, email)
  return { name, email, date, ...(account ? { username: account.login } : {}) }
}

/** As a check suite shows its head: of its people only name and address. */
export function simpleCommit(commit: Commit): Shape {
  const person = ({ name, email }: Person) => ({ name, email })
  return {
    id: commit.sha,
    tree_id: commit.tree,
    message: commit.message,
    timestamp: commit.committer.date,
    author: person(commit.author),
    committer: person(commit.committer),
  }
}

export function refShape(view: View, repository: Repository, ref: string, sha: string): Shape {
  const api = repositoryApi(view, repository)
  return {
    ref,
    node_id: objectNode('REF', repository, ref),
    url: `${api}/git/${ref}`,
    object: { sha, type: 'commit', url: `${api}/git/commits/${sha}` },
  }
}

export function shortBranch(view: View, repository: Repository, name: string, sha: string): Shape {
  return { name, commit: { sha, url: `${repositoryApi(view, repository)}/commits/${sha}` }, protected: false }
}

export function branchShape(view: View, repository: Repository, name: string, commit: Commit): Shape {
  const self = `${repositoryApi(view, repository)}/branches/${name}`
  return {
    name,
    commit: commitShape(view, repository, commit),
    _links: { self, html: `${repositoryPage(view, repository)}/tree/${name}` },
    protected: false,
    protection: { enabled: false, required_status_checks: { enforcement_level: 'off', contexts: [], checks: [] } },
    protection_url: `${self}/protection`,
  }
}

export function fileShape(view: View, repository: Repository, sha: string, file: FileChange): Shape {
  const page = repositoryPage(view, repository)
  const path = file.filename.split('/').map(encodeURIComponent).join('/')
  return {
    sha: file.sha === ZERO ? null : file.sha,
    filename: file.filename,
    status: file.status,
    additions: file.additions,
    deletions: file.deletions,
    changes: file.additions + file.deletions,
    blob_url: `${page}/blob/${sha}/${path}`,
    raw_url: `${page}/raw/${sha}/${path}`,
    contents_url: `${repositoryApi(view, repository)}/contents/${path}?ref=${sha}`,
    ...(file.patch === '' ? {} : { patch: file.patch }),
    ...(file.previousFilename === null ? {} : { previous_filename: file.previousFilename }),
  }
}

export function contentEntry(view: View, repository: Repository, ref: string, entry: Entry): Shape {
  const api = repositoryApi(view, repository)
  const page = repositoryPage(view, repository)
  const path = entry.path.split('/').map(encodeURIComponent).join('/')
  const self = `${api}/contents/${path}?ref=${encodeURIComponent(ref)}`
  const git = `${api}/git/${entry.type === 'dir' ? 'trees' : 'blobs'}/${entry.sha}`
  const html = `${page}/${entry.type === 'dir' ? 'tree' : 'blob'}/${ref}/${path}`
  return {
    name: entry.path.split('/').at(-1),
    path: entry.path,
    sha: entry.sha,
    size: entry.size,
    url: self,
    html_url: html,
    git_url: git,
    download_url: entry.type === 'dir' ? null : `${page}/raw/${ref}/${path}`,
    type: entry.type,
    _links: { self, git, html },
  }
}
