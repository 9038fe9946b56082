/**
 * Git, asked through the host's own program in bare repositories. Nobody's configuration but ours is read, so that a rehearsal is
 * the same on every machine.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diff } from './state.ts'

export interface Person {
  name: string
  email: string
}

export interface Commit {
  sha: string
  tree: string
  parents: string[]
  author: Person & { date: string }
  committer: Person & { date: string }
  message: string
}

export interface FileChange {
  sha: string
  filename: string
  previousFilename: string | null
  status: 'added' | 'removed' | 'modified' | 'renamed'
  additions: number
  deletions: number
  patch: string
}

/** A file's new text; `null` takes it away. */
export type FileEdits = Record<string, string | null>

export const ZERO = '0'.repeat(40)

export const GIT_ENVIRONMENT: Record<string, string> = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  // A folder that another user made (a mounted volume, sudo) is still ours to serve.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C.UTF-8',
}

interface Ran {
  code: number
  out: string
  err: string
}

function run(folder: string, args: string[], given: { input?: string; env?: Record<string, string> } = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd: folder, env: { ...GIT_ENVIRONMENT, ...given.env } })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? -1, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }))
    // git may end before it has read everything; its exit code says what came of it
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') reject(error)
    })
    child.stdin.end(given.input ?? '')
  })
}

async function git(folder: string, args: string[], given: { input?: string; env?: Record<string, string> } = {}): Promise<string> {
  const { code, out, err } = await run(folder, args, given)
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${err.trim()}`)
  return out
}

export async function createBare(folder: string, defaultBranch: string): Promise<void> {
  await git('.', ['init', '--quiet', '--bare', `--initial-branch=${defaultBranch}`, folder])
  await git(folder, ['config', 'http.receivepack', 'true'])
  // Pull requests' refs are GitHub's: they can be fetched, never pushed.
  await git(folder, ['config', 'receive.hideRefs', 'refs/pull'])
}

export async function readRefs(folder: string): Promise<Record<string, string>> {
  const text = await git(folder, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags'])
  return Object.fromEntries(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ') as [string, string]),
  )
}

/** A branch, tag or sha (whole or short) to the commit it names; null where there is none. */
export async function resolve(folder: string, name: string): Promise<string | null> {
  if (name.startsWith('-') || name.includes('..')) return null
  for (const candidate of [`refs/heads/${name}`, `refs/tags/${name}`, name]) {
    const { code, out } = await run(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${candidate}^{commit}`])
    if (code === 0) return out.trim()
  }
  return null
}

export async function isBranchName(name: string): Promise<boolean> {
  return (await run('.', ['check-ref-format', `refs/heads/${name}`])).code === 0
}

/** Moves a ref only from the value that the caller saw; says whether it did. */
export async function moveRef(folder: string, ref: string, to: string | null, from: string): Promise<boolean> {
  const args = to === null ? ['update-ref', '-d', ref, from] : ['update-ref', ref, to, from]
  return (await run(folder, args)).code === 0
}

export async function setRef(folder: string, ref: string, to: string): Promise<void> {
  await git(folder, ['update-ref', ref, to])
}

const FORMAT = ['%H', '%T', '%P', '%an', '%ae', '%aI', '%cn', '%ce', '%cI', '%B'].join('%x00') + '%x01'

export async function readCommit(folder: string, sha: string): Promise<Commit> {
  const [commit] = parseCommits(await git(folder, ['log', '-1', `--format=${FORMAT}`, sha]))
  if (!commit) throw new Error(`git knows no commit ${sha} in ${folder}`)
  return commit
}

/** Newest first. */
export async function listCommits(folder: string, range: string, limit = 250): Promise<Commit[]> {
  return parseCommits(await git(folder, ['log', `--max-count=${limit}`, `--format=${FORMAT}`, '--end-of-options', range, '--']))
}

function parseCommits(text: string): Commit[] {
  return text
    .split('\x01')
    .map((record) => record.replace(/^\n/, '').split('\0'))
    .filter((parts) => parts.length === 10)
    .map((parts) => {
      const [sha, tree, parents, an, ae, ad, cn, ce, cd, message] = parts as [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
      return {
        sha,
        tree,
        parents: parents.split(' ').filter(Boolean),
        author: { name: an, email: ae, date: utc(ad) },
        committer: { name: cn, email: ce, date: utc(cd) },
        message: message.trimEnd(),
      }
    })
}

function utc(date: string): string {
  return new Date(date).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

export async function count(folder: string, range: string): Promise<number> {
  return Number(await git(folder, ['rev-list', '--count', '--end-of-options', range, '--']))
}

export async function mergeBase(folder: string, one: string, other: string): Promise<string | null> {
  const { code, out } = await run(folder, ['merge-base', one, other])
  return code === 0 ? out.trim() : null
}

export async function isAncestor(folder: string, older: string, newer: string): Promise<boolean> {
  return (await run(folder, ['merge-base', '--is-ancestor', older, newer])).code === 0
}

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const STATUS: Record<string, FileChange['status']> = { A: 'added', D: 'removed', M: 'modified', T: 'modified', R: 'renamed' }

/** From one tree to another; `null` stands for nothing, as before a first commit. */
export async function changedFiles(folder: string, from: string | null, to: string): Promise<FileChange[]> {
  const trees = [from ?? EMPTY_TREE, to]
  const raw = await git(folder, ['diff', '--raw', '--no-abbrev', '-z', '-M', ...trees])
  const numbers = await git(folder, ['diff', '--numstat', '-z', '-M', ...trees])
  const counts = new Map(numberLines(numbers))
  const fields = raw.split('\0')
  const files: FileChange[] = []
  for (let at = 0; at + 1 < fields.length; ) {
    const [, , before, after, letter] = fields[at]!.split(' ') as [string, string, string, string, string]
    const status = STATUS[letter[0]!] ?? 'modified'
    const renamed = status === 'renamed'
    const filename = fields[at + (renamed ? 2 : 1)]!
    const previousFilename = renamed ? fields[at + 1]! : null
    at += renamed ? 3 : 2
    const [additions, deletions] = counts.get(filename) ?? [0, 0]
    const patch = await git(folder, ['diff', '-M', ...trees, '--', filename, ...(previousFilename ? [previousFilename] : [])])
    files.push({
      sha: status === 'removed' ? before : after,
      filename,
      previousFilename,
      status,
      additions,
      deletions,
      patch: hunks(patch),
    })
  }
  return files
}

/** `--numstat -z` writes `adds TAB dels TAB name NUL`, and for a rename an empty name and then both names. */
function numberLines(text: string): [string, [number, number]][] {
  const fields = text.split('\0')
  const lines: [string, [number, number]][] = []
  for (let at = 0; at + 1 < fields.length; ) {
    const [additions, deletions, name] = fields[at]!.split('\t') as [string, string, string]
    lines.push([name === '' ? fields[at + 2]! : name, [Number(additions) || 0, Number(deletions) || 0]])
    at += name === '' ? 3 : 1
  }
  return lines
}

/** GitHub's `patch` begins at the first hunk. */
function hunks(patch: string): string {
  const start = patch.indexOf('\n@@ ')
  return start < 0 ? '' : patch.slice(start + 1).trimEnd()
}

export async function diffOf(folder: string, base: string, head: string): Promise<Diff> {
  const from = await mergeBase(folder, base, head)
  const files = await changedFiles(folder, from, head)
  return {
    mergeBase: from ?? base,
    commits: await count(folder, `${base}..${head}`),
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
    changedFiles: files.length,
    conflict: from === null || (await mergeTree(folder, base, head)) === null,
  }
}

/** The tree of both sides together; null where they conflict. */
async function mergeTree(folder: string, base: string, head: string): Promise<string | null> {
  const { code, out, err } = await run(folder, ['merge-tree', '--write-tree', base, head])
  if (code === 0) return out.trim()
  if (code === 1) return null
  throw new Error(`git merge-tree ${base} ${head} ended with ${code}: ${err.trim()}`)
}

/** The commit that brings `head` into `base`, not yet on any branch; null where they conflict. */
export async function mergeCommit(
  folder: string,
  base: string,
  head: string,
  given: { squash: boolean; message: string; by: Person },
): Promise<string | null> {
  const tree = await mergeTree(folder, base, head)
  return tree === null ? null : commitTree(folder, tree, given.squash ? [base] : [base, head], given.message, given.by)
}

export async function commitFiles(
  folder: string,
  parent: string | null,
  files: FileEdits,
  given: { message: string; by: Person },
): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), 'offline-github-'))
  try {
    const env = { GIT_INDEX_FILE: join(scratch, 'index') }
    if (parent) await git(folder, ['read-tree', parent], { env })
    const lines: string[] = []
    for (const [path, text] of Object.entries(files)) {
      const blob = text === null ? ZERO : (await git(folder, ['hash-object', '-w', '--stdin'], { input: text })).trim()
      const mode = text === null ? '0' : text.startsWith('#!') ? '100755' : '100644'
      lines.push(`${mode} ${blob}\t${path}\n`)
    }
    await git(folder, ['update-index', '--add', '--index-info'], { env, input: lines.join('') })
    const tree = (await git(folder, ['write-tree'], { env })).trim()
    return await commitTree(folder, tree, parent ? [parent] : [], given.message, given.by)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function commitTree(folder: string, tree: string, parents: string[], message: string, by: Person): Promise<string> {
  const env = { GIT_AUTHOR_NAME: by.name, GIT_AUTHOR_EMAIL: by.email, GIT_COMMITTER_NAME: by.name, GIT_COMMITTER_EMAIL: by.email }
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])]
  return (await git(folder, args, { env, input: message })).trim()
}

export type Entry = { type: 'file' | 'dir'; path: string; sha: string; size: number }

/** What lies at a path of a commit: one file with its bytes (base64), a folder's entries, or nothing. */
export async function readPath(
  folder: string,
  sha: string,
  path: string,
): Promise<{ file: Entry; base64: string } | { entries: Entry[] } | null> {
  if (path !== '') {
    const listed = parseTree(await git(folder, ['ls-tree', '-l', '-z', sha, '--', path]))
    const own = listed.find((entry) => entry.path === path)
    if (!own) return null
    if (own.type === 'file') return { file: own, base64: await blobBase64(folder, own.sha) }
  }
  return { entries: parseTree(await git(folder, ['ls-tree', '-l', '-z', sha, ...(path === '' ? [] : ['--', `${path}/`])])) }
}

function parseTree(text: string): Entry[] {
  return text
    .split('\0')
    .filter(Boolean)
    .map((line) => {
      const [about = '', path = ''] = line.split('\t')
      const [, kind, sha = '', size] = about.split(/ +/)
      return { type: kind === 'tree' ? 'dir' : 'file', path, sha, size: Number(size) || 0 }
    })
}

function blobBase64(folder: string, sha: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['cat-file', 'blob', sha], { cwd: folder, env: GIT_ENVIRONMENT, stdio: ['ignore', 'pipe', 'inherit'] })
    const out: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve(Buffer.concat(out).toString('base64')) : reject(new Error(`git cat-file blob ${sha} ended with ${code}`)),
    )
  })
}
