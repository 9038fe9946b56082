/**
 * The embedded Postgres: one database cluster in the state folder, run by our own supervisor (the package's class answers a busy
 * port or an orphan with `undefined`). A postmaster that outlived its parent is adopted, never doubled: it is ours when it answers
 * with our passwords and names our data folder.
 *
 * Two roles: the owner migrates, the app role owns nothing and creates nothing, so that append-only tables stay so (spec O6).
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { z } from 'zod'
import { folderFor, moveUnlessThere, postgresBinaries, postgresUser, type Say } from './postgres-files.ts'
import { type DatabaseUrls, ensureDatabase, type Passwords, urlFor, urlsFor } from './postgres-roles.ts'
import { adopt, end, freePort, hasArgument, isAlive, launch, type RunAs, type Server, watched } from './process.ts'
import { readState, writeState, writeStateOnce } from './state.ts'

export interface EmbeddedPostgres extends DatabaseUrls {
  dataDir: string
  pid: number
  /** Settles when the server ends without `stop`, with what it wrote. */
  died: Promise<string>
  /** Ends the server (fast shutdown: open transactions are rolled back) and waits for it. */
  stop(): Promise<void>
}

/** `outside`: the cluster's folder, where the state folder itself is closed to the user that runs Postgres. */
const Place = z.strictObject({ port: z.int(), outside: z.string().optional() })
const Secrets = z.strictObject({ superuser: z.string(), owner: z.string(), app: z.string() })
const PATIENCE = 60_000
const BUSY = /could not bind|could not create any TCP\/IP sockets/
const TAKEN = /lock file "postmaster.pid" already exists|still in use/

/** What the child is told of our environment: no PG* variable, no secret. Its messages are ours to read, so they are English. */
const ENVIRONMENT = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_MESSAGES: 'C', TZ: 'UTC' }

interface Cluster {
  place: string
  dataDir: string
  logFile: string
  runAs: RunAs
  passwords: Passwords
}

/** Starts or adopts the Postgres of this state folder. Whoever calls it holds the folder (`takeHome`). */
export async function startPostgres({ home, say }: { home: string; say: Say }): Promise<EmbeddedPostgres> {
  const cluster = locate(realpathSync(home), say)
  if (!existsSync(cluster.dataDir)) await initialise(cluster, say)
  const { server, port } = await adoptOrStart(cluster, home, say)
  try {
    await ensureDatabase(port, cluster.passwords)
  } catch (error) {
    await stopPostmaster(server.pid) // the caller has nothing to stop it with
    throw error
  }
  const { died, stop } = watched(server, stopPostmaster)
  return { ...urlsFor(port, cluster.passwords), dataDir: cluster.dataDir, pid: server.pid, died, stop }
}

/** The addresses of the Postgres that runs for this state folder, for another process; null when none answers. */
export async function runningPostgres(home: string): Promise<DatabaseUrls | null> {
  const place = readState(join(home, 'postgres.json'), Place)
  const passwords = readState(join(home, 'postgres-passwords.json'), Secrets)
  if (!place || !passwords) return null
  const dataDir = dataDirOf(realpathSync(home), place)
  return (await whoAnswers(place.port, dataDir, passwords)) === 'ours' ? urlsFor(place.port, passwords) : null
}

/** Ends the Postgres of a state folder whose program was killed; says whether there was one, and where its data lie. */
export async function endOrphanPostgres(home: string): Promise<{ ended: boolean; dataDir: string }> {
  const dataDir = dataDirOf(realpathSync(home), readState(join(home, 'postgres.json'), Place))
  const lock = readLock(dataDir)
  const ended = lock !== null && hasArgument(lock.pid, dataDir)
  if (ended) await stopPostmaster(lock.pid)
  return { ended, dataDir }
}

const dataDirOf = (home: string, place: { outside?: string | undefined } | null) => join(place?.outside ?? join(home, 'postgres'), 'data')

function locate(home: string, say: Say): Cluster {
  const runAs = postgresUser()
  const placeFile = join(home, 'postgres.json')
  const known = readState(placeFile, Place)
  const inside = join(home, 'postgres')
  const place = known?.outside ?? folderFor(inside, randomBytes(8).toString('hex'), runAs, say)
  // An empty database in a new place would look like a loss of everything.
  if (place !== inside && existsSync(join(inside, 'data'))) {
    throw new Error(`the user postgres cannot enter ${inside}, where the database lies: make the folders above it enterable (chmod o+x)`)
  }
  const dataDir = join(place, 'data')
  claimOutside(place, home)
  // Written before the cluster is made: a start that is killed in between finds its folder again.
  if (!known && place !== inside) writeState(placeFile, { port: 0, outside: place })
  return { place, dataDir, runAs, logFile: join(home, 'postgres.log'), passwords: passwordsOf(home, dataDir) }
}

/** A copied state folder must not share its original's database, and a moved one keeps it. */
function claimOutside(place: string, home: string): void {
  if (place === join(home, 'postgres')) return
  const mark = join(place, 'home.json')
  const other = readState(mark, z.string())
  const pointsHere = other !== null && other !== home && readState(join(other, 'postgres.json'), Place)?.outside === place
  if (pointsHere) throw new Error(`${home} is a copy of ${other} and would share its database in ${place}: remove ${home} and start again`)
  if (other !== home) writeState(mark, home)
}

function passwordsOf(home: string, dataDir: string): Passwords {
  const file = join(home, 'postgres-passwords.json')
  if (existsSync(dataDir) && !existsSync(file)) {
    throw new Error(
      `${file} is missing, and the database in ${dataDir} opens with nothing else: put it back, or remove that folder to begin anew`,
    )
  }
  const password = () => randomBytes(24).toString('base64url')
  writeStateOnce(file, { superuser: password(), owner: password(), app: password() })
  return readState(file, Secrets)!
}

/** Makes the cluster beside its place and moves it there when it is whole: a start that is killed leaves nothing half. */
async function initialise({ place, dataDir, runAs, passwords }: Cluster, say: Say): Promise<void> {
  say(`creating the database in ${place} …`)
  for (const left of readdirSync(place).filter((name) => /^new-\d+$/.test(name) && !isAlive(Number(name.slice(4))))) {
    rmSync(join(place, left), { recursive: true })
  }
  const { initdb } = postgresBinaries(runAs, say)
  const draft = join(place, `new-${process.pid}`)
  const passwordFile = join(place, `password-${process.pid}`)
  const options = ['--locale=C.UTF-8', '--encoding=UTF8', '--data-checksums', '--auth=scram-sha-256', '--username=postgres']
  try {
    writeFileSync(passwordFile, passwords.superuser, { mode: 0o600 })
    if (runAs) await chown(passwordFile, runAs.uid, runAs.gid)
    await promisify(execFile)(initdb, [...options, `--pwfile=${passwordFile}`, '-D', draft], { cwd: place, env: ENVIRONMENT, ...runAs })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new Error(`Postgres cannot create its database in ${place}: ${stderr?.trim() || message}`)
  } finally {
    rmSync(passwordFile, { force: true })
  }
  moveUnlessThere(draft, dataDir)
}

async function adoptOrStart(cluster: Cluster, home: string, say: Say): Promise<{ server: Server; port: number }> {
  const placeFile = join(home, 'postgres.json')
  const known = readState(placeFile, Place)
  const remember = (port: number) => writeState(placeFile, { ...known, port })
  let wished = known?.port || undefined
  for (const until = Date.now() + PATIENCE; ; ) {
    const orphan = await runningPostmaster(cluster, until)
    if (orphan) {
      say(`Postgres still runs (pid ${orphan.pid}) and is used again`)
      remember(orphan.port)
      return { server: adopt('Postgres', orphan.pid, cluster.logFile), port: orphan.port }
    }
    const port = await freePort(wished)
    const server = await launch(postmaster(cluster, port, say))
    const started = await ready(server, port, cluster)
    if (started === null) {
      remember(port)
      return { server, port }
    }
    // Somebody took the port first, another start was faster, or the last backends of a killed postmaster still go down.
    const again = BUSY.test(started) || TAKEN.test(started)
    if (!again || Date.now() > until) throw new Error(started)
    if (BUSY.test(started)) wished = undefined
    await sleep(200)
  }
}

function postmaster({ dataDir, place, runAs, logFile }: Cluster, port: number, say: Say) {
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200' }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { postgres } = postgresBinaries(runAs, say)
  return {
    name: 'Postgres',
    command: postgres,
    args: ['-D', dataDir, '-p', String(port), ...flags],
    cwd: place,
    env: ENVIRONMENT,
    runAs,
    logFile,
  }
}

/** Null once the new server answers; else the sentence with which it ended. */
async function ready(server: Server, port: number, { dataDir, passwords, logFile }: Cluster): Promise<string | null> {
  let ended: string | null = null
  void server.exited.then((sentence) => {
    ended = sentence
  })
  for (const until = Date.now() + PATIENCE; Date.now() < until; await sleep(25)) {
    if (ended !== null) return ended
    const who = await whoAnswers(port, dataDir, passwords)
    if (who === 'ours') return null
    // A stranger got the port between our look and the bind: the server is about to say so and end.
    if (who === 'refused') await sleep(100)
  }
  await stopPostmaster(server.pid)
  throw new Error(`Postgres did not answer on port ${port} within ${PATIENCE / 1000} s and was stopped; see ${logFile}`)
}

/**
 * The postmaster that holds our data folder, once it answers; null when there is none. Postgres itself removes the lock of a dead
 * one; the lock whose pid now belongs to some other program is removed here, since Postgres would refuse to start.
 */
async function runningPostmaster({ dataDir, passwords, logFile }: Cluster, until: number): Promise<{ pid: number; port: number } | null> {
  for (; ; await sleep(100)) {
    const lock = readLock(dataDir)
    if (!lock || !isAlive(lock.pid)) return null
    if (!hasArgument(lock.pid, dataDir)) {
      rmSync(join(dataDir, 'postmaster.pid'), { force: true })
      return null
    }
    const who = lock.port === null ? 'starting' : await whoAnswers(lock.port, dataDir, passwords)
    if (who === 'ours') return { pid: lock.pid, port: lock.port! }
    // Crash recovery may take long, and one that shuts down says the same words until it is gone.
    if ((who === 'starting' || who === 'silent') && Date.now() < until) continue
    throw new Error(
      `Postgres (pid ${lock.pid}) holds ${dataDir} but does not let us in on port ${lock.port} (${who}): ` +
        `see ${logFile}, end it with kill -INT ${lock.pid}, then start again`,
    )
  }
}

/** The first lines of postmaster.pid: pid, data folder, start time, port. The port comes a moment after the rest. */
function readLock(dataDir: string): { pid: number; port: number | null } | null {
  const path = join(dataDir, 'postmaster.pid')
  if (!existsSync(path)) return null
  const [pid, , , port] = readFileSync(path, 'utf8').split('\n')
  return { pid: Number(pid), port: port ? Number(port) : null }
}

type Answer = 'ours' | 'another' | 'starting' | 'refused' | 'silent'

/** Who listens there, asked as the superuser: only that one is told the data folder. */
async function whoAnswers(port: number, dataDir: string, passwords: Passwords): Promise<Answer> {
  const client = new pg.Client({
    connectionString: urlFor(port, 'postgres', passwords.superuser, 'postgres'),
    connectionTimeoutMillis: 5000,
  })
  client.on('error', () => 'the query that runs meanwhile rejects with the same error')
  try {
    await client.connect()
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory')
    return rows[0]?.data_directory === dataDir ? 'ours' : 'another'
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '57P03') return 'starting'
    if (code === '28P01' || code === '28000') return 'refused'
    return 'silent'
  } finally {
    await client.end()
  }
}

/** Fast shutdown, then immediate. Never SIGKILL: its backends would live on without it. */
const stopPostmaster = (pid: number) =>
  end('Postgres', pid, [
    ['SIGINT', 30_000],
    ['SIGQUIT', 10_000],
  ])
