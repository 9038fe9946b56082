/**
 * The host's own bare mirror of a repository (design §7): the only place where the host's git meets a Ticket's commits and the
 * only one that fetches and pushes with the token (spec M8). One operation at a time on a mirror (F326).
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { flawOfBranch, flawOfCommit } from './branch.ts'
import { GitFailure, type GitRemote, git, gitOk } from './git.ts'
import { mirrorFolder } from './layout.ts'
import { withLock } from './lock.ts'

export interface MirrorOf {
  home: string
  repository: { id: number | string }
  signal: AbortSignal
}

export type Pushed = { pushed: true; before: string | null } | { refused: string }

/** Brings branches and tags up to date and returns the mirror's folder. A half-made mirror is completed. */
export async function fetchMirror(given: MirrorOf & { git: GitRemote }): Promise<string> {
  const { signal, git: remote } = given
  const url = plainUrl(remote.url)
  return inMirror(given, 'fetch', async (mirror, hold) => {
    const heads = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
    await gitOk({
      args: ['fetch', '--quiet', '--prune', '--no-tags', '--no-write-fetch-head', url, ...heads],
      cwd: mirror,
      signal,
      hold,
      header: remote.header,
    })
    return mirror
  })
}

/**
 * Pushes exactly this commit to exactly this branch, never with force. `before` is what the branch was (null: it is new); a
 * branch that stands there already is a success, so a repeated push has one effect (spec M4). With `expected` (null: there must
 * be none) a branch that somebody moved is refused before anything is sent.
 */
export async function pushFromMirror(
  given: MirrorOf & { git: GitRemote; branch: string; sha: string; expected?: string | null },
): Promise<Pushed> {
  const { branch, sha, expected, signal, git: remote } = given
  const flaw = flawOfBranch(branch) ?? flawOfCommit(sha)
  if (flaw) return { refused: flaw }
  const url = plainUrl(remote.url)

  return inMirror(given, `push ${branch}`, async (mirror, hold) => {
    const ref = `refs/heads/${branch}`
    if (!(await hasCommit(mirror, sha, signal)))
      return { refused: `commit ${sha} is not in the mirror: bring it there from the workspace first` }

    const listed = await gitOk({ args: ['ls-remote', url, ref], cwd: mirror, signal, hold, header: remote.header })
    const before =
      listed
        .split('\n')
        .map((line) => line.split('\t'))
        .find(([, name]) => name === ref)?.[0] ?? null
    if (before === sha) return { pushed: true, before }
    if (expected !== undefined && before !== expected) {
      return {
        refused: `branch ${branch} is at ${before ?? 'no commit (it does not exist)'}, expected was ${expected ?? 'that it does not exist'}: somebody moved it`,
      }
    }

    const args = ['push', '--porcelain', '--no-verify', '--no-follow-tags', '--no-signed', '--recurse-submodules=no', url, `${sha}:${ref}`]
    const { exit, stdout, stderr } = await git({ args, cwd: mirror, signal, hold, header: remote.header })
    const answer = stdout
      .split('\n')
      .map((line) => line.split('\t'))
      .find((fields) => fields[1] === `${sha}:${ref}`)
    if (exit === 0 && answer && answer[0] !== '!') return { pushed: true, before }
    if (answer?.[0] === '!') return { refused: [`branch ${branch}: ${answer[2]}`, remoteWords(stderr)].filter(Boolean).join('\n') }
    throw new GitFailure(`git push of ${branch} failed (exit ${exit}): ${stderr.trim() || stdout.trim() || 'it said nothing'}`, stderr)
  })
}

/** The commit at the end of a branch of the mirror; null: no such branch. */
export async function branchCommit(mirror: string, branch: string, signal: AbortSignal): Promise<string | null> {
  const flaw = flawOfBranch(branch)
  if (flaw) throw new Error(flaw)
  const { exit, stdout } = await git({ args: ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`], cwd: mirror, signal })
  return exit === 0 ? stdout.trim() : null
}

export async function hasCommit(mirror: string, sha: string, signal: AbortSignal): Promise<boolean> {
  return (await git({ args: ['cat-file', '-e', `${sha}^{commit}`], cwd: mirror, signal })).exit === 0
}

/** Whether history leads from `of` back to `commit`, by what the mirror holds: what it lacks is nobody's ancestor, so fetch first. */
export async function isAncestor(mirror: string, commit: string, of: string, signal: AbortSignal): Promise<boolean> {
  for (const each of [commit, of]) if (flawOfCommit(each) || !(await hasCommit(mirror, each, signal))) return false
  const { exit, stderr } = await git({ args: ['merge-base', '--is-ancestor', commit, of], cwd: mirror, signal })
  if (exit > 1) throw new GitFailure(`git merge-base of ${commit} and ${of} failed (exit ${exit}): ${stderr.trim()}`, stderr)
  return exit === 0
}

/** Runs work alone on the mirror, which exists and holds no lock file of a git that died. */
export async function inMirror<Result>(
  given: MirrorOf,
  purpose: string,
  work: (mirror: string, hold: number) => Promise<Result>,
): Promise<Result> {
  const mirror = mirrorFolder(given.home, given.repository)
  return withLock({ path: `${mirror}.lock`, purpose, signal: given.signal }, async (hold) => {
    await mkdir(mirror, { recursive: true, mode: 0o700 })
    await removeDeadLocks(mirror)
    await gitOk({
      args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', '.'],
      cwd: mirror,
      signal: given.signal,
      hold,
    })
    return work(mirror, hold)
  })
}

/** git's own lock files: whoever wrote them has ended, since every git here holds our lock while it lives. */
async function removeDeadLocks(mirror: string): Promise<void> {
  for (const folder of ['.', 'refs', 'objects/info', 'objects/pack']) {
    const entries = await readdir(join(mirror, folder), { recursive: folder === 'refs', withFileTypes: true }).catch(noneYet)
    for (const entry of entries)
      if (entry.isFile() && entry.name.endsWith('.lock')) await rm(join(entry.parentPath, entry.name), { force: true })
  }
}

function noneYet(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}

function plainUrl(url: string): string {
  const { protocol, username, password, host } = new URL(url)
  if (username || password) throw new Error(`the git address of ${host} holds a credential: give it as a header instead`)
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`${url}: git addresses are https (or http)`)
  return url
}

function remoteWords(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('remote: '))
    .map((line) => line.slice(8).trim())
    .filter(Boolean)
    .join('\n')
}
