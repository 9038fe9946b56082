/**
 * Server processes that may outlive their parent: started in a process group of their own (a Ctrl-C in the terminal reaches the
 * workers first, not their database), logged to a file that survives us, recognised by their command line, ended by their id.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The user a server runs as; null: the one we are. */
export type RunAs = { uid: number; gid: number } | null

export interface Launch {
  /** What a reader calls the server in a sentence. */
  name: string
  command: string
  args: readonly string[]
  cwd: string
  env: Record<string, string>
  runAs: RunAs
  /** Both output streams go here, appended. */
  logFile: string
}

export interface Server {
  pid: number
  /** Settles when the process is gone, with a sentence that holds what it wrote since its start. */
  exited: Promise<string>
}

/** Starts a server and returns as soon as the system runs it; readiness is the caller's question. */
export async function launch({ name, command, args, cwd, env, runAs, logFile }: Launch): Promise<Server> {
  keepOldLog(logFile)
  const log = openSync(logFile, 'a', 0o600)
  const from = statSync(logFile).size
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', log, log], ...runAs })
  closeSync(log)
  // A spawn that fails is an 'error' event; unheard it ends the whole program.
  const failed = once(child, 'error').then(([error]) => error as Error)
  const started = child.pid === undefined ? await failed : null
  if (started) throw new Error(`${name} cannot be started: ${command}: ${started.message}`)
  const exited = once(child, 'exit').then(([code, signal]) => {
    const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`
    return `${name} ${how}; it wrote: ${writtenSince(logFile, from)} (log: ${logFile})`
  })
  child.unref()
  return { pid: child.pid!, exited }
}

/** A server that another process started: watched by its id, for we are not its parent. */
export function adopt(name: string, pid: number, logFile: string): Server {
  const from = existsSync(logFile) ? statSync(logFile).size : 0
  const watch = async () => {
    while (isAlive(pid)) await sleep(500, undefined, { ref: false })
    return `${name} ended; it wrote: ${writtenSince(logFile, from)} (log: ${logFile})`
  }
  return { pid, exited: watch() }
}

/** Whether the process runs. A zombie does not: in a container nobody may ever collect an orphan. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  if (!existsSync('/proc/self/stat')) return true
  const stat = readIfThere(`/proc/${pid}/stat`)
  return stat !== null && !stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
}

/** Whether the process was started with this very argument: process ids are used again, a folder of ours is not. */
export function hasArgument(pid: number, argument: string): boolean {
  if (!isAlive(pid)) return false
  if (existsSync('/proc/self/cmdline')) return (readIfThere(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(argument)
  return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).includes(argument)
}

/** `died` settles, with the sentence of `exited`, only when the process goes by itself. */
export function watched(
  { pid, exited }: Server,
  stopProcess: (pid: number) => Promise<void>,
): { died: Promise<string>; stop(): Promise<void> } {
  let stopping = false
  const died = new Promise<string>((resolve) => {
    void exited.then((sentence) => {
      if (!stopping) resolve(sentence)
    })
  })
  const stop = async () => {
    stopping = true
    await stopProcess(pid)
  }
  return { died, stop }
}

/** Sends each signal in turn and waits its milliseconds for the process to go; throws when it outlives the last. */
export async function end(name: string, pid: number, steps: readonly (readonly [NodeJS.Signals, number])[]): Promise<void> {
  for (const [signal, ms] of steps) {
    if (isAlive(pid)) process.kill(pid, signal)
    if (await gone(pid, ms)) return
  }
  throw new Error(
    `${name} (pid ${pid}) did not end after ${steps.map(([signal]) => signal).join(', ')}: end it by hand with kill -9 ${pid}`,
  )
}

export async function gone(pid: number, ms: number): Promise<boolean> {
  for (const until = Date.now() + ms; isAlive(pid); await sleep(20)) if (Date.now() > until) return false
  return true
}

/** A port of 127.0.0.1 that is free now: the preferred one if it is. Somebody may still take it before the server binds. */
export async function freePort(preferred?: number): Promise<number> {
  const probe = net.createServer()
  try {
    probe.listen(preferred ?? 0, '127.0.0.1')
    await once(probe, 'listening')
    return (probe.address() as net.AddressInfo).port
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (preferred !== undefined && (code === 'EADDRINUSE' || code === 'EACCES')) return await freePort()
    throw error
  } finally {
    probe.close()
  }
}

/** What a server logged in earlier runs is kept once, so that the file does not grow for ever. */
function keepOldLog(logFile: string): void {
  if (existsSync(logFile) && statSync(logFile).size > 10_000_000) renameSync(logFile, `${logFile}.1`)
}

function writtenSince(logFile: string, from: number): string {
  const text = readIfThere(logFile)
  if (text === null) return 'nothing that can be read'
  const lines = Buffer.from(text).subarray(from).toString().trim().split('\n')
  const last = lines.slice(-12).join('\n')
  return last === '' ? 'nothing' : lines.length > 12 ? `(last 12 of ${lines.length} lines)\n${last}` : `\n${last}`
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // ESRCH: the process ended between opening its file and reading it
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
