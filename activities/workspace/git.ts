/**
 * The host's git (design §7): it runs in bare mirrors and in checkouts that no sandbox has seen yet, reads no configuration but
 * what stands here, and gets a token by environment only (spec M8): never on a command line, in an address or on disk.
 */
import { spawn } from 'node:child_process'
import { endGroup } from './processes.ts'

export interface GitRemote {
  url: string
  /** One HTTP header with the credential, such as `Authorization: Basic …`. */
  header?: string
}

export interface GitRun {
  args: readonly string[]
  cwd: string
  signal: AbortSignal
  header?: string
  /** The remote is a folder or a bundle of this host. */
  local?: true
  /** A lock's open file, kept by git too: if this process dies, the lock lasts until its git has ended. */
  hold?: number
}

export interface GitEnd {
  exit: number
  stdout: string
  stderr: string
}

/** Flaws of old commits that every forge carries; an object with them is harmless, and refusing it would refuse the repository. */
const OLD_FLAWS = ['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode']

const HARDENED: readonly [string, string][] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['transfer.fsckObjects', 'true'],
  ...OLD_FLAWS.map((flaw): [string, string] => [`fetch.fsck.${flaw}`, 'ignore']),
  // a redirect to another host would take the header along; a renamed repository has a new address, which the caller knows by id
  ['http.followRedirects', 'false'],
  // a remote that says nothing for a minute is gone: a mirror must not stay locked for it
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '60'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['protocol.allow', 'never'],
  ['protocol.https.allow', 'always'],
  ['protocol.http.allow', 'always'],
  ['advice.detachedHead', 'false'],
]

/** What a company's network needs of the host's environment; everything else stays outside, credentials of the host included. */
const NETWORK = [
  'HTTPS_PROXY',
  'https_proxy',
  'HTTP_PROXY',
  'http_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
]

/** git ended without success. `network`: the way to the remote or its server failed, so the same command may succeed later. */
export class GitFailure extends Error {
  readonly network: boolean

  constructor(message: string, stderr: string) {
    super(message)
    this.name = 'GitFailure'
    this.network = isNetworkTrouble(stderr)
  }
}

/** An answer that another try gets again. It comes first: "RPC failed" and "hung up" follow these too. */
const REFUSED =
  /(returned error:|HTTP) 4(?!08|29)\d\d|Authentication failed|could not read (Username|Password)|repository '.*' not found|fsck error|certificate/i
const NETWORK_TROUBLE = [
  /Could not resolve (host|proxy)|Failed to connect to|Couldn't connect to|Could not connect to/i,
  /Connection (refused|reset|timed out|was reset|closed|died)|Operation (timed out|too slow)|Resolving timed out/i,
  /Network is unreachable|No route to host|Temporary failure in name resolution/i,
  /(returned error:|HTTP) (5\d\d|408|429)/i,
  /RPC failed|early EOF|the remote end hung up|unexpected disconnect|Empty reply from server|(Recv|Send) failure/i,
  /transfer closed with|was not closed cleanly|SSL_ERROR_SYSCALL|TLS connection was non-properly terminated|unexpected eof while reading/i,
]

/** By git's and curl's own words (LC_ALL is C); a line that the remote wrote says nothing of the way there. */
export function isNetworkTrouble(stderr: string): boolean {
  const own = stderr
    .split(/[\r\n]+/)
    .filter((line) => !line.startsWith('remote:'))
    .join('\n')
  return !REFUSED.test(own) && NETWORK_TROUBLE.some((words) => words.test(own))
}

/** Runs git to its end, whatever the exit code. Throws only if it could not run or was aborted. */
export function git(run: GitRun): Promise<GitEnd> {
  run.signal.throwIfAborted()
  const child = spawn('git', run.args, {
    cwd: run.cwd,
    env: environment(run),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(run.hold === undefined ? [] : [run.hold])],
  })
  const stop = () => void endGroup(child)
  run.signal.addEventListener('abort', stop, { once: true })
  return new Promise<GitEnd>((resolve, reject) => {
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout!.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr!.on('data', (chunk: Buffer) => err.push(chunk))
    child.on('error', (cause) => reject(new Error(`git could not be started: ${cause.message}. Is git installed and on PATH?`, { cause })))
    child.on('close', (exit, killed) => {
      const stderr = Buffer.concat(err).toString()
      if (run.signal.aborted) reject(run.signal.reason)
      else if (exit === null) reject(new Error(`git ${run.args[0]} was ended by ${killed}: ${stderr.trim()}`))
      else resolve({ exit, stdout: Buffer.concat(out).toString(), stderr })
    })
  }).finally(() => run.signal.removeEventListener('abort', stop))
}

/** Runs git where anything but success is an error that names the command and gives git's own words. */
export async function gitOk(run: GitRun): Promise<string> {
  const { exit, stdout, stderr } = await git(run)
  if (exit !== 0) {
    const words = stderr.trim() || stdout.trim() || 'it said nothing'
    throw new GitFailure(`git ${run.args.join(' ')} failed (exit ${exit}): ${words}`, stderr)
  }
  return stdout
}

function environment(run: GitRun): NodeJS.ProcessEnv {
  const settings = [...HARDENED]
  if (run.local) settings.push(['protocol.file.allow', 'always'])
  if (run.header !== undefined) settings.push(['http.extraHeader', headerLine(run.header)])
  const given = NETWORK.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return {
    ...Object.fromEntries(given),
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CONFIG_COUNT: `${settings.length}`,
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  }
}

function headerLine(header: string): string {
  if (!/^[\w-]+: [^\r\n\0]+$/.test(header))
    throw new Error('the git header is not one line of the form "Name: value" (its value is not shown)')
  return header
}
