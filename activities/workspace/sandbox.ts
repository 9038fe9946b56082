/**
 * Runs a command in a Ticket's folder (spec H10, M8; F332, F334, F353): confined by bubblewrap, or, where that was switched off
 * in so many words, only with the same small environment. Either way in a process group of its own, with an end for everything
 * that it started, and with bounded output.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { bubblewrapArguments, confinedPath, environmentInside, RELAY_SOCKET } from './confinement.ts'
import { foldersAround, makeFolders, type TicketFolders } from './layout.ts'
import { behindRelay, closeRelay, openRelay } from './network.ts'
import { type Kept, keeper } from './output.ts'
import { openPipe } from './pipe.ts'
import { endGroup, identityOf, killGroup, killMarked, MARK } from './processes.ts'

/** Bytes of output that a result shows at most. */
export const SHOWN_BYTES = 48_000
/** A command that says more is ended: nobody reads it, and it fills the disk. */
const OUTPUT_LIMIT = 256 * 1024 * 1024
/** How long output may still come after a command's end, from a process that left its group. */
const DRAIN_MS = 1_000
/** The kernel takes 128 KiB in one argument. */
export const COMMAND_BYTES = 120_000

export interface Command {
  /** The checkout; its parent is the Ticket's folder. */
  folder: string
  /** A line for the shell, or a program with its arguments, which no shell reads (F346). */
  command: string | readonly string[]
  cwd?: string
  timeoutMs: number
  signal: AbortSignal
  env?: Readonly<Record<string, string>>
  onOutput?: (text: string) => void
  /** Bytes to show, for callers that read lists. */
  keep?: number
}

export interface Ended extends Kept {
  exit: number | null
  signal: NodeJS.Signals | null
  timedOut: boolean
  /** Why it was ended by us; null: it ended by itself. */
  stopped: 'timeout' | 'aborted' | 'output limit' | null
}

export interface Sandbox {
  mode: 'bubblewrap' | 'off'
  run(command: Command): Promise<Ended>
  /** Really runs a command. `reason` says what is missing and what to do. */
  available(): Promise<{ ok: true } | { ok: false; reason: string }>
  close(): Promise<void>
}

export interface SandboxGiven {
  mode: 'bubblewrap' | 'off'
  /** Empty: no network at all. With mode `off` nothing fences the network. */
  allowedHosts: readonly string[]
  /** Toolchains outside /usr and /opt that commands may see and run, such as a language's home. */
  readable?: readonly string[]
}

export function createSandbox(given: SandboxGiven): Sandbox {
  const sandbox: Sandbox = {
    mode: given.mode,
    run: (command) => run(given, command),
    available: () => available(sandbox),
    close: closeRelay,
  }
  return sandbox
}

async function run(given: SandboxGiven, command: Command): Promise<Ended> {
  command.signal.throwIfAborted()
  const folders = foldersAround(command.folder)
  await makeFolders(folders)
  const mark = `${await identityOf(process.pid)}:${randomUUID()}:${folders.root}`
  if (given.mode === 'off') await killMarked((other) => isStray(other, folders.root))

  const start = given.mode === 'off' ? unconfined(command, folders, mark) : await confined(given, command, folders)
  const kept = keeper({ keep: command.keep ?? SHOWN_BYTES, limit: OUTPUT_LIMIT, file: join(folders.output, `${randomUUID()}.txt`) })
  const decoder = new TextDecoder()
  const pipe = await openPipe()
  const child = spawn(start.file, start.args, { cwd: start.cwd, env: start.env, detached: true, stdio: ['ignore', pipe.write, pipe.write] })
  pipe.closeWrite()

  const trouble = Promise.withResolvers<never>()
  let stopped: Ended['stopped'] = null
  const stop = (why: Ended['stopped']) => {
    stopped ??= why
    // bubblewrap itself would die of SIGTERM and take the command along without grace
    endGroup(child, { spareLeader: given.mode === 'bubblewrap' }).catch(trouble.reject)
  }
  const onAbort = () => stop('aborted')
  const timer = setTimeout(() => stop('timeout'), command.timeoutMs)
  command.signal.addEventListener('abort', onAbort, { once: true })
  pipe.read(async (chunk) => {
    command.onOutput?.(decoder.decode(chunk, { stream: true }))
    if (!(await kept.take(chunk))) stop('output limit')
  }, trouble.reject)

  try {
    const { exit, signal } = await Promise.race([exitOf(child, start.file), trouble.promise])
    return { exit, signal, timedOut: stopped === 'timeout', stopped, ...(await rest()) }
  } finally {
    clearTimeout(timer)
    command.signal.removeEventListener('abort', onAbort)
    await rest()
  }

  /** Ends what the command left running, then takes the last of its output. */
  async function rest(): Promise<Kept> {
    if (child.pid !== undefined) killGroup(child.pid)
    if (given.mode === 'off') await killMarked((other) => other === mark)
    await pipe.drain(DRAIN_MS)
    return kept.end()
  }
}

interface Start {
  file: string
  args: string[]
  cwd: string
  env: Record<string, string>
}

function unconfined(command: Command, folders: TicketFolders, mark: string): Start {
  const [file, ...args] = argvOf(command.command)
  const path = [dirname(process.execPath), process.env.PATH ?? '/usr/bin:/bin'].join(delimiter)
  const env = environmentInside({ path, home: folders.home, tmp: folders.tmp, extra: { ...command.env, [MARK]: mark } })
  return { file: file!, args, cwd: command.cwd ?? command.folder, env }
}

async function confined(given: SandboxGiven, command: Command, folders: TicketFolders): Promise<Start> {
  const readable = given.readable ?? []
  const relay = given.allowedHosts.length > 0 ? await openRelay(given.allowedHosts) : null
  const argv = relay ? behindRelay(argvOf(command.command), RELAY_SOCKET) : argvOf(command.command)
  const env = environmentInside({
    path: confinedPath(readable),
    home: folders.home,
    tmp: '/tmp',
    extra: { ...relay?.environment, ...command.env },
  })
  const canForbidNamespaces = await bubblewrapKnows('--disable-userns')
  const args = bubblewrapArguments({ folders, cwd: command.cwd ?? command.folder, argv, readable, relay, canForbidNamespaces })
  return { file: 'bwrap', args, cwd: '/', env }
}

/** bash reads its start files when it takes its input for a remote shell's, hence `--norc`. */
function argvOf(command: string | readonly string[]): readonly string[] {
  if (typeof command !== 'string') return command
  return existsSync('/bin/bash') ? ['/bin/bash', '--norc', '-c', command] : ['/bin/sh', '-c', command]
}

function exitOf(child: ChildProcess, file: string): Promise<{ exit: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => reject(new Error(`${file} could not be started: ${cause.message}`, { cause })))
    child.on('exit', (exit, signal) => resolve({ exit, signal }))
  })
}

/** A mark is `<host process>:<run>:<Ticket's folder>`. A stray's host process is gone, so nobody else will end it (F328). */
async function isStray(mark: string, root: string): Promise<boolean> {
  const [, host, pid, folder] = /^((\d+)\.\d+):[^:]+:(.*)$/s.exec(mark) ?? []
  return folder === root && (await identityOf(Number(pid))) !== host
}

async function bubblewrapKnows(option: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)('bwrap', ['--help'])
  return stdout.includes(option)
}

async function available(sandbox: Sandbox): Promise<{ ok: true } | { ok: false; reason: string }> {
  if (sandbox.mode === 'off') return { ok: true }
  const root = await mkdtemp(join(tmpdir(), 'switchyard-sandbox-'))
  const folder = join(root, 'state', 'workspaces', 'try', 'checkout')
  try {
    await mkdir(folder, { recursive: true })
    const { exit, output } = await sandbox.run({
      folder,
      command: 'node --version',
      timeoutMs: 20_000,
      signal: AbortSignal.timeout(30_000),
    })
    if (exit === 0) return { ok: true }
    return {
      ok: false,
      reason: `bubblewrap cannot confine a command on this machine: ${output.trim()}. It needs user namespaces (in a container: allow them)`,
    }
  } catch (error) {
    if (!isMissing(error)) return { ok: false, reason: `the sandbox did not start: ${error instanceof Error ? error.message : error}` }
    return { ok: false, reason: 'bubblewrap is not installed: on Debian or Ubuntu run `apt-get install bubblewrap socat ripgrep`' }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
