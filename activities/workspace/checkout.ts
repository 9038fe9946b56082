/**
 * A Ticket's checkout of one repository (spec H10; F191, F298, F329, F335, F345): made once by the host's git from the mirror,
 * then handed to the sandbox for good. From that moment no git of the host runs in it; what the host wants to know it reads from
 * plain files, or asks git inside the sandbox.
 */
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { flawOfBranch, flawOfCommit } from './branch.ts'
import { git, gitOk } from './git.ts'
import { foldersAround, makeFolders, mirrorFolder, ticketFolder } from './layout.ts'
import { withLock } from './lock.ts'
import { branchCommit, hasCommit } from './mirror.ts'

export interface CheckoutGiven {
  home: string
  ticket: number
  repository: { id: number | string; fullName: string }
  baseBranch: string
  /** Default: the end of the base branch in the mirror. Only the first call decides; later ones keep what stands. */
  baseSha?: string
  /** Where HEAD begins: what was pushed already from a host that is lost. Default, and if the mirror lacks it: the base. */
  headSha?: string | undefined
  author: { name: string; email: string }
  signal: AbortSignal
}

export interface Checkout {
  path: string
  branch: string
  /** The commit that HEAD stands on; null if the workspace's own git files do not say it plainly. */
  head: string | null
  base: string
  /** `rebuilt`: the folder was no working copy any more; what was left of it lies in `aside`. */
  state: 'new' | 'kept' | 'rebuilt'
  aside?: string
}

interface Made {
  repository: string
  branch: string
  base: string
}

export async function openCheckout(given: CheckoutGiven): Promise<Checkout> {
  const name = folderName(given.repository.fullName)
  const root = ticketFolder(given.home, given.ticket)
  const path = join(root, name)
  const folders = foldersAround(path)
  await makeFolders(folders)

  return withLock({ path: join(root, '@lock'), purpose: `check out ${given.repository.fullName}`, signal: given.signal }, async (hold) => {
    await removeHalfBuilt(root)
    const made = await readMade(root, name)
    if (made && made.repository !== `${given.repository.id}`) {
      throw new Error(
        `${path} is a checkout of repository ${made.repository}; repository ${given.repository.id} has the same name and needs a Ticket of its own`,
      )
    }
    if (made && (await isWorkingCopy(path)))
      return { path, branch: made.branch, head: await readHead(path), base: made.base, state: 'kept' }

    const aside = made ? await setAside(root, path, name) : undefined
    if (!made) await rm(path, { recursive: true, force: true }) // complete but never handed out
    const built = await build(given, root, made?.base, hold)
    await rename(built.folder, path)
    await writeMade(root, name, { repository: `${given.repository.id}`, branch: built.branch, base: built.base })
    return { path, branch: built.branch, head: built.head, base: built.base, state: made ? 'rebuilt' : 'new', aside }
  })
}

/** Removes the Ticket's whole folder, outputs included. Nothing may run in it any more. */
export async function removeCheckout({ home, ticket }: { home: string; ticket: number }): Promise<void> {
  await rm(ticketFolder(home, ticket), { recursive: true, force: true })
}

/** The commit of HEAD from plain files, without git; only an exact commit id is believed. */
export async function readHead(checkout: string): Promise<string | null> {
  const head = await plain(join(checkout, '.git', 'HEAD'))
  const ref = /^ref: (refs\/heads\/\S+)\s*$/.exec(head)?.[1]
  if (!ref) return commitIn(head)
  if (flawOfBranch(ref.slice('refs/heads/'.length))) return null
  const loose = commitIn(await plain(join(checkout, '.git', ref)))
  if (loose) return loose
  const packed = (await plain(join(checkout, '.git', 'packed-refs'))).split('\n').find((line) => line.endsWith(` ${ref}`))
  return packed ? commitIn(packed.split(' ')[0]!) : null
}

/** Local clone through git's transport: no hard links, no alternates, so the mirror's objects are out of the sandbox's reach. */
async function build(given: CheckoutGiven, root: string, earlierBase: string | undefined, hold: number) {
  const { signal, baseBranch, author } = given
  const mirror = mirrorFolder(given.home, given.repository)
  const base = earlierBase ?? given.baseSha ?? (await branchCommit(mirror, baseBranch, signal))
  if (base === null)
    throw new Error(
      `${given.repository.fullName} has no branch ${baseBranch} in the mirror: fetch it first, or name an existing base branch`,
    )
  if (flawOfCommit(base)) throw new Error(`base: ${flawOfCommit(base)}`)
  if (!(await hasCommit(mirror, base, signal)))
    throw new Error(`base commit ${base} is not in the mirror of ${given.repository.fullName}: fetch it first`)

  const head = given.headSha && (await hasCommit(mirror, given.headSha, signal)) ? given.headSha : base
  const branch = `switchyard/t-${given.ticket}`
  const folder = await mkdtemp(join(root, '@building-'))
  const here = { cwd: folder, signal, hold }
  await gitOk({ ...here, args: ['init', '--quiet', '--template=', `--initial-branch=${branch}`, '.'] })
  const refs = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*']
  await gitOk({ ...here, local: true, args: ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', mirror, ...refs] })
  for (const commit of [base, head]) {
    if ((await git({ ...here, args: ['cat-file', '-e', `${commit}^{commit}`] })).exit === 0) continue
    // one that no branch reaches any more still lies in the mirror
    await gitOk({
      ...here,
      local: true,
      args: [
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-write-fetch-head',
        '--upload-pack=git -c uploadpack.allowAnySHA1InWant=true upload-pack',
        mirror,
        commit,
      ],
    })
  }
  await gitOk({ ...here, args: ['config', 'user.name', author.name] })
  await gitOk({ ...here, args: ['config', 'user.email', author.email] })
  await gitOk({ ...here, args: ['checkout', '--quiet', '--no-track', '-B', branch, head] })
  return { folder, branch, base, head }
}

function folderName(fullName: string): string {
  const name = /^[^/]+\/([A-Za-z0-9._-]+)$/.exec(fullName)?.[1]
  if (!name || name === '.' || name === '..' || name.toLowerCase() === '.git')
    throw new Error(`"${fullName}" is no repository name of the form owner/name`)
  return name
}

async function removeHalfBuilt(root: string): Promise<void> {
  for (const name of await readdir(root)) if (name.startsWith('@building-')) await rm(join(root, name), { recursive: true, force: true })
}

async function isWorkingCopy(path: string): Promise<boolean> {
  if (!(await lstat(path).catch(missing))?.isDirectory()) return false
  if (!(await lstat(join(path, '.git')).catch(missing))?.isDirectory()) return false
  return (await plain(join(path, '.git', 'HEAD'))) !== ''
}

/** Uncommitted work is never thrown away, even when its git files are gone. */
async function setAside(root: string, path: string, name: string): Promise<string | undefined> {
  if (!(await lstat(path).catch(missing))) return undefined
  const aside = join(await mkdtemp(join(root, '@aside-')), name)
  await rename(path, aside)
  return aside
}

async function readMade(root: string, name: string): Promise<Made | null> {
  const text = await readFile(join(root, '@checkouts', `${name}.json`), 'utf8').catch(missing)
  return text === null ? null : (JSON.parse(text) as Made)
}

async function writeMade(root: string, name: string, made: Made): Promise<void> {
  const folder = join(root, '@checkouts')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `${name}.json.new`), JSON.stringify(made))
  await rename(join(folder, `${name}.json.new`), join(folder, `${name}.json`))
}

/** A small regular file's text; empty if there is none. The sandbox may have put anything in its place. */
async function plain(path: string): Promise<string> {
  const stat = await lstat(path).catch(missing)
  return stat?.isFile() && stat.size <= 1024 * 1024 ? readFile(path, 'utf8') : ''
}

function commitIn(text: string): string | null {
  return flawOfCommit(text.trim()) ? null : text.trim()
}

function missing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}
