/** What a scenario is about, as data: the world before it, and what a correct end looks like. Whoever runs it builds and reads both. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface World {
  /** The GitHub App that is the agent; it writes as `<slug>[bot]`. */
  app: { slug: string; name: string }
  owner: { login: string; name: string }
  people: readonly { login: string; name: string }[]
  repository: { fullName: string; description: string; defaultBranch: string; private: boolean; files: URL; firstCommit: string }
  members: readonly { login: string; permission: 'write' | 'maintain' | 'admin' }[]
  /** Opened once the rest stands; it is what the agent is asked. */
  issue: { author: string; title: string; body: string }
}

/** What the end looks like, read from GitHub and from the ledger. */
export interface End {
  /** The login under which the agent writes. */
  agent: string
  issue: { number: number; comments: readonly Comment[] }
  pullRequests: readonly PullRequest[]
  reports: readonly { status: string; pullRequest: number | null }[]
}

export interface Comment {
  author: string
  body: string
}

export interface PullRequest {
  number: number
  author: string
  title: string
  body: string
  base: string
  state: 'open' | 'closed'
  draft: boolean
  /** Every file of the repository at the head commit, by path. */
  files: Readonly<Record<string, string>>
  /** Paths that the pull request changes. */
  changed: readonly string[]
}

export interface Expectation {
  name: string
  /** What is wrong about the end; null: nothing. */
  fault(end: End): string | null
}

/** Every expectation that the end does not meet, as a sentence. None: it is correct. */
export function faultsOf(expected: readonly Expectation[], end: End): string[] {
  return expected.flatMap(({ name, fault }) => {
    const found = fault(end)
    return found === null ? [] : [`${name}: ${found}`]
  })
}

/** The files below a folder by their path in a repository, for its first commit. */
export async function filesOf(folder: URL): Promise<Record<string, string>> {
  const root = fileURLToPath(folder)
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(
    paths.toSorted().map(async (path) => [relative(root, path).split(sep).join('/'), await readFile(path, 'utf8')]),
  )
  return Object.fromEntries(texts)
}
