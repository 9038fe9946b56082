/**
 * The embedded Temporal: the dev server with a file database in the state folder, its web UI, and the settings that make a step
 * four times faster. A server that outlived its parent is adopted when it is healthy and was started as we would start it, else
 * ended: two servers on one file would destroy it.
 */
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { z } from 'zod'
import { SEARCH_ATTRIBUTES } from '../../core/ticket/search-attributes.ts'
import type { Say } from './postgres-files.ts'
import { adopt, end, freePort, hasArgument, isAlive, launch, type Server, watched } from './process.ts'
import { readState, writeState } from './state.ts'
import { temporalBinary } from './temporal-binary.ts'
import { ensureNamespace, isServing, type SearchAttributes } from './temporal-namespace.ts'

export interface RunningTemporal {
  address: string
  namespace: string
  uiUrl: string
  pid: number
}

export interface EmbeddedTemporal extends RunningTemporal {
  /** Settles when the server ends without `stop`, with what it wrote. */
  died: Promise<string>
  stop(): Promise<void>
}

export interface TemporalOptions {
  home: string
  say: Say
  searchAttributes?: SearchAttributes
  namespace?: string
}

/**
 * The dev server has one history shard and reads each of its queues at most 20 times a second by default: 50 ms of waiting per
 * workflow task once the burst is used up. The write-ahead log needs fewer syncs and is as durable.
 */
const SETTINGS = [
  '--log-level=error',
  '--ui-disable-news-fetch',
  '--sqlite-pragma=journal_mode=wal',
  '--dynamic-config-value=history.transferProcessorMaxPollRPS=2000',
  '--dynamic-config-value=history.timerProcessorMaxPollRPS=2000',
  '--dynamic-config-value=history.visibilityProcessorMaxPollRPS=2000',
]

/**
 * In the folder where the server runs. The server puts the name into a SQLite URI as it is, so a `#` or `?` in a whole path would
 * end it there and leave the database in another place; escaped it finds no such folder.
 */
const DATABASE = '--db-filename=temporal.db'

const State = z.strictObject({
  pid: z.int().positive(),
  port: z.int(),
  uiPort: z.int(),
  namespace: z.string(),
  command: z.string(),
  args: z.array(z.string()),
})
type State = z.infer<typeof State>

const PATIENCE = 60_000
const BUSY = /address already in use|can't (set|bind)|port .* (already|in use)/i

/** Starts or adopts the Temporal dev server of this state folder. Whoever calls it holds the folder (`takeHome`). */
export async function startTemporal(options: TemporalOptions): Promise<EmbeddedTemporal> {
  const { say, searchAttributes = SEARCH_ATTRIBUTES, namespace = 'default' } = options
  const home = realpathSync(options.home)
  const command = await temporalBinary({ say, env: process.env })
  const given = { home, say, command, namespace, searchAttributes }
  const { server, state } = (await adoptOrphan(given)) ?? (await startNew(given))
  try {
    await connected(state, (connection) => ensureNamespace(connection, namespace, searchAttributes))
  } catch (error) {
    await stopServer(server.pid) // the caller has nothing to stop it with
    throw error
  }
  return { ...addresses(state), ...watched(server, stopServer) }
}

/** The addresses of the Temporal that runs for this state folder, for another process; null when none answers. */
export async function runningTemporal(home: string): Promise<RunningTemporal | null> {
  const state = readState(stateFile(home), State)
  if (!state || !hasArgument(state.pid, mark(realpathSync(home)))) return null
  return (await serves(state)) ? addresses(state) : null
}

/** Ends the Temporal of a state folder whose program was killed; says whether there was one. */
export async function endOrphanTemporal(home: string): Promise<boolean> {
  const state = readState(stateFile(home), State)
  const ended = state !== null && hasArgument(state.pid, mark(realpathSync(home)))
  if (ended) await stopServer(state.pid)
  return ended
}

interface Given {
  home: string
  say: Say
  command: string
  namespace: string
  searchAttributes: SearchAttributes
}

async function adoptOrphan({ home, say, ...wanted }: Given): Promise<{ server: Server; state: State } | null> {
  const state = readState(stateFile(home), State)
  if (!state || !hasArgument(state.pid, mark(home))) return null
  const same = state.command === wanted.command && state.args.join('\n') === argumentsFor(home, state, wanted).join('\n')
  if (same && (await becomesHealthy(state, 10_000))) {
    say(`Temporal still runs (pid ${state.pid}) and is used again`)
    return { server: adopt('Temporal', state.pid, logFile(home)), state }
  }
  say(`Temporal still runs (pid ${state.pid}) but ${same ? 'does not answer' : 'with other settings'}: it is ended and started anew`)
  await stopServer(state.pid)
  return null
}

async function startNew(given: Given): Promise<{ server: Server; state: State }> {
  const { home, command, namespace } = given
  const before = readState(stateFile(home), State)
  for (let attempt = 1; ; attempt++) {
    // After a busy port both are chosen anew: the program does not always say which one it was.
    const port = await freePort(attempt === 1 ? before?.port : undefined)
    const uiPort = await freePort(attempt === 1 ? before?.uiPort : undefined)
    const args = argumentsFor(home, { port, uiPort }, given)
    const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: homedir() } // no TEMPORAL_* of the shell
    const server = await launch({ name: 'Temporal', command, args, cwd: home, env, runAs: null, logFile: logFile(home) })
    const state = { pid: server.pid, port, uiPort, namespace, command, args }
    writeState(stateFile(home), state)
    if (await becomesHealthy(state, PATIENCE)) return { server, state }
    if (isAlive(server.pid)) {
      await stopServer(server.pid)
      throw new Error(`Temporal did not become healthy within ${PATIENCE / 1000} s and was stopped; see ${logFile(home)}`)
    }
    const sentence = await server.exited
    if (attempt === 5 || !BUSY.test(sentence)) throw new Error(sentence)
  }
}

function argumentsFor(
  home: string,
  ports: { port: number; uiPort: number },
  { namespace, searchAttributes }: Pick<Given, 'namespace' | 'searchAttributes'>,
) {
  return [
    ...['server', 'start-dev', '--ip=127.0.0.1', `--port=${ports.port}`, `--ui-port=${ports.uiPort}`],
    ...[mark(home), DATABASE, `--namespace=${namespace}`, ...SETTINGS],
    ...Object.entries(searchAttributes).map(([name, type]) => `--search-attribute=${name}=${type}`),
  ]
}

/** Names no file that exists: the user's own settings for the client stay out, and a server of ours is known by it. */
const mark = (home: string) => `--config-file=${join(home, 'temporal.toml')}`
const logFile = (home: string) => join(home, 'temporal.log')
const stateFile = (home: string) => join(home, 'temporal.json')

function addresses({ port, uiPort, namespace, pid }: State): RunningTemporal {
  return { address: `127.0.0.1:${port}`, uiUrl: `http://127.0.0.1:${uiPort}`, namespace, pid }
}

/** False when the process goes or the time is over. */
async function becomesHealthy(state: State, ms: number): Promise<boolean> {
  for (const until = Date.now() + ms; Date.now() < until; await sleep(50)) {
    if (!isAlive(state.pid)) return false
    if (await serves(state)) return true
  }
  return false
}

async function serves(state: State): Promise<boolean> {
  try {
    return await connected(state, isServing)
  } catch {
    return false // not there yet, or no longer: the caller decides how long that may last
  }
}

async function connected<T>({ port }: State, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 2000 })
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}

const stopServer = (pid: number) =>
  end('Temporal', pid, [
    ['SIGTERM', 10_000],
    ['SIGKILL', 10_000],
  ])
