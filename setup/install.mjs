/**
 * What must be there before the program can run (design §8): git, the dependencies, and on a machine where we may install them the
 * sandbox's tools. Plain JavaScript for Node 20 without dependencies: it runs before there are any.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** The Node that everything but this set-up runs with. */
export const NODE = join(ROOT, 'node_modules', 'node', 'bin', 'node')

/** The Debian package of each program that the sandbox needs. */
const SANDBOX_TOOLS = { bwrap: 'bubblewrap', socat: 'socat', rg: 'ripgrep' }

/**
 * Installs what is missing and says so, line by line. Returns null, or the problem in one sentence.
 * @param {{ say: (line: string) => void }} given
 * @returns {Promise<string | null>}
 */
export async function ensureInstalled({ say }) {
  if (Number(process.versions.node.split('.')[0]) < 20) return `Node ${process.versions.node} is too old: install Node 20 or newer`
  if (!onPath('git')) return 'git is not on PATH: install it (on Debian and Ubuntu: apt-get install git) and start again'
  const problem = await ensureDependencies(say)
  if (problem) return problem
  await ensureSandboxTools(say)
  return null
}

/**
 * Runs one of our programs with the project's Node and its exit code, after everything is there.
 * @param {string[]} args what follows `node`
 * @param {import('node:child_process').SpawnOptions} [options]
 */
export function spawnNode(args, options = {}) {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return spawn(NODE, args, { cwd: ROOT, stdio: 'inherit', ...options, env: { ...process.env, PATH: path } })
}

async function ensureDependencies(say) {
  if (isInstalled()) return null
  const release = await takeLock(say)
  try {
    return isInstalled() ? null : await install(say)
  } finally {
    release()
  }
}

/** By the mark that we left, or by npm's own list when somebody installed by hand; npm writes that last. */
function isInstalled() {
  if (!existsSync(NODE)) return false
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const sum = createHash('sha256').update(lock).digest('hex')
  const mark = join(ROOT, 'node_modules', '.switchyard-lock')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === sum) return true
  const list = join(ROOT, 'node_modules', '.package-lock.json')
  if (!existsSync(list) || !agree(JSON.parse(lock.toString()).packages, JSON.parse(readFileSync(list, 'utf8')).packages)) return false
  writeFileSync(mark, sum)
  return true
}

/** Optional packages are those of other platforms. */
function agree(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
    if (path === '') return true
    const found = installed[path]
    return found ? found.version === version : Boolean(optional || peer)
  })
}

async function install(say) {
  const begun = Date.now()
  const seconds = () => `${Math.round((Date.now() - begun) / 1000)} s`
  say('installing dependencies …')
  const progress = setInterval(() => say(`installing dependencies: ${seconds()}`), 5000)
  const { command, first, path } = npm()
  // Development dependencies hold the Node that runs the program; engine warnings of packages say nothing about that one.
  const args = [...first, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const { code, output } = await collected(command, args, { cwd: ROOT, env: { ...process.env, PATH: path } })
  clearInterval(progress)
  if (code !== 0) return `the dependencies cannot be installed; npm ci says:\n${output}`
  if (!existsSync(NODE)) {
    return "npm ci left no Node behind: its installation scripts are switched off (npm's ignore-scripts); run npm ci --ignore-scripts=false"
  }
  if (!isInstalled()) return 'npm ci installed other versions than package-lock.json names: remove node_modules and start again'
  say(`dependencies installed (${seconds()})`)
  return null
}

/** The npm and the Node outside `node_modules`, which npm ci removes while it runs. */
function npm() {
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.endsWith(join('node_modules', '.bin')))
    .join(delimiter)
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const ours = cli && basename(cli) === 'npm-cli.js' && node && !node.startsWith(join(ROOT, 'node_modules'))
  return ours ? { command: node, first: [cli], path } : { command: 'npm', first: [], path }
}

/**
 * One installation at a time in a clone. The holder touches its file, so one that was killed is known by its silence even when its
 * pid belongs to another program by now.
 */
async function takeLock(say) {
  const folder = join(ROOT, '.switchyard')
  const lock = join(folder, 'install.lock')
  const mine = join(folder, `install.lock.${process.pid}`)
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  writeFileSync(mine, String(process.pid))
  for (let told = false; !linked(mine, lock); await sleep(500)) {
    const holder = readLock(lock)
    if (holder === null) continue
    if (!isAlive(holder.pid) || Date.now() - holder.touched > 60_000) takeAway(lock, holder.pid, `${mine}.old`)
    else if (!told) say(`another process (pid ${holder.pid}) is installing the dependencies; waiting for it …`)
    told = true
  }
  const touch = setInterval(() => utimesSync(lock, new Date(), new Date()), 5000)
  const release = () => {
    clearInterval(touch)
    for (const file of [lock, mine]) rmSync(file, { force: true })
  }
  process.once('exit', release)
  return () => {
    process.off('exit', release)
    release()
  }
}

function linked(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function readLock(lock) {
  try {
    return { pid: Number(readFileSync(lock, 'utf8')), touched: statSync(lock).mtimeMs }
  } catch (error) {
    if (error.code === 'ENOENT') return null // released between our two looks
    throw error
  }
}

/** Of several waiters one moves the dead lock away. One that was slow may have moved a new lock instead, and puts it back. */
function takeAway(lock, pid, aside) {
  try {
    renameSync(lock, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (Number(readFileSync(aside, 'utf8')) !== pid) linked(aside, lock)
  rmSync(aside)
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

async function ensureSandboxTools(say) {
  if (process.platform !== 'linux') return
  const missing = Object.entries(SANDBOX_TOOLS).flatMap(([program, name]) => (onPath(program) ? [] : [name]))
  if (missing.length === 0) return
  if (process.getuid() !== 0 || !onPath('apt-get')) {
    say(
      `missing for the sandbox: ${missing.join(', ')}. Install them (on Debian and Ubuntu, as root: apt-get install ${missing.join(' ')})`,
    )
    return
  }
  say(`installing ${missing.join(', ')} for the sandbox (apt-get) …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const wait = '-oDPkg::Lock::Timeout=120'
  const update = await collected('apt-get', ['update', '-q', wait], { env })
  const { code, output } = await collected('apt-get', ['install', '-q', '-y', '--no-install-recommends', wait, ...missing], { env })
  const why = update.code === 0 ? output : `${update.output}\n${output}`
  say(
    code === 0
      ? `${missing.join(', ')} installed`
      : `${missing.join(', ')} cannot be installed, and the sandbox is missing; apt-get says:\n${why}`,
  )
}

/** Runs a command to its end and keeps what it wrote. */
function collected(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.once('error', (error) => resolve({ code: 1, output: error.message }))
    child.once('close', (code, signal) => resolve({ code, output: output.trim() || (signal ?? '') }))
  })
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // this folder has none; the next is asked
  }
}
