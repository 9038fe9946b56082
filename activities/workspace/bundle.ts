/**
 * How commits leave a workspace (design §7): git inside the sandbox writes them into a bundle, the host copies that one file
 * and fetches from the copy into its mirror. Nothing that the workspace says about itself is run or followed by the host.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { flawOfCommit } from './branch.ts'
import { gitOk } from './git.ts'
import { foldersAround } from './layout.ts'
import { hasCommit, inMirror, type MirrorOf } from './mirror.ts'
import type { Sandbox } from './sandbox.ts'

/** Larger than any honest push; GitHub refuses packs above 2 GiB. */
const BUNDLE_BYTES = 2 * 1024 * 1024 * 1024
const GIT_MS = 10 * 60_000

export interface Collected {
  head: string
  /** From the oldest to the newest, base excluded. */
  commits: { sha: string; subject: string }[]
  /** Lines of `git status`: what is not committed. */
  dirty: string[]
}

/**
 * Takes HEAD's commits since `base` into the mirror as `refs/switchyard/t-<ticket>`, which keeps them. `refused` is for the
 * model to read: what its workspace lacks.
 */
export async function collectCommits(
  given: MirrorOf & { sandbox: Sandbox; folder: string; ticket: number; base: string; limit?: number },
): Promise<Collected | { refused: string }> {
  const { sandbox, folder, base, signal, ticket } = given
  if (flawOfCommit(base)) throw new Error(`base: ${flawOfCommit(base)}`)
  const inside = (args: string[], keep?: number) => sandbox.run({ folder, command: ['git', ...args], timeoutMs: GIT_MS, signal, keep })

  const status = await inside(['-c', 'core.quotePath=true', 'status', '--porcelain=v1', '--untracked-files=all'], 1024 * 1024)
  if (status.exit !== 0) return { refused: `git status failed in the workspace: ${status.output.trim()}` }
  const dirty = status.output.split('\n').filter((line) => line !== '')

  const said = await inside(['rev-parse', '--verify', 'HEAD^{commit}'])
  const claimed = said.output.trim()
  if (said.exit !== 0 || flawOfCommit(claimed)) return { refused: `HEAD of the workspace is no commit: ${claimed}` }

  const bundle = join(foldersAround(folder).bundles, `${randomUUID()}.bundle`)
  const isKnown = await inMirror(given, `look for ${claimed}`, (mirror) => hasCommit(mirror, claimed, signal))
  if (!isKnown) {
    const made = await inside(['bundle', 'create', '--quiet', bundle, 'HEAD', `^${base}`])
    if (made.exit !== 0) return { refused: `git could not pack the commits since ${base}: ${made.output.trim()}` }
  }

  return inMirror(given, `collect T-${ticket}`, async (mirror, hold) => {
    const ref = `refs/switchyard/t-${ticket}`
    if (isKnown) await gitOk({ args: ['update-ref', ref, claimed], cwd: mirror, signal, hold })
    else {
      const own = await mkdtemp(`${mirror}.bundle-`)
      try {
        const copy = await copyBundle(bundle, join(own, 'copy'), given.limit ?? BUNDLE_BYTES)
        if ('refused' in copy) return copy
        await gitOk({
          args: ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', copy.path, `+HEAD:${ref}`],
          cwd: mirror,
          signal,
          hold,
          local: true,
        })
      } finally {
        await rm(own, { recursive: true, force: true })
        await rm(bundle, { force: true })
      }
    }
    const head = (await gitOk({ args: ['rev-parse', '--verify', `${ref}^{commit}`], cwd: mirror, signal })).trim()
    const log = await gitOk({ args: ['log', '--reverse', '--topo-order', '-z', '--format=%H %s', `${base}..${head}`], cwd: mirror, signal })
    const commits = log
      .split('\0')
      .filter(Boolean)
      .map((line) => ({ sha: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }))
    return { head, commits, dirty }
  })
}

/** The sandbox may have put anything there, and may change it while we read: one regular file, by its descriptor, up to the limit. */
async function copyBundle(from: string, to: string, limit: number): Promise<{ path: string } | { refused: string }> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(refusedOpen)
  if ('refused' in source) return source
  try {
    if (!(await source.stat()).isFile()) return { refused: `${basename(from)} is not a regular file` }
    const target = await open(to, 'wx', 0o600)
    try {
      let size = 0
      for await (const chunk of source.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024 })) {
        size += chunk.length
        if (size > limit)
          return { refused: `the commits are larger than ${limit} bytes packed: leave build results and large files out of them` }
        await target.writeFile(chunk)
      }
    } finally {
      await target.close()
    }
    return { path: to }
  } finally {
    await source.close()
  }
}

function refusedOpen(error: NodeJS.ErrnoException): { refused: string } {
  if (error.code === 'ELOOP') return { refused: 'the bundle of commits is a symbolic link: only a regular file is taken' }
  if (error.code === 'ENOENT') return { refused: 'git wrote no bundle of commits' }
  throw error
}
