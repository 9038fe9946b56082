/** The set-up before there is anything: with stand-ins for npm and apt-get on PATH, in a clone whose path has a space. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'setup of '))
afterAll(() => rmSync(folder, { recursive: true }))

const LOCK = {
  packages: {
    '': { name: 'x' },
    'node_modules/node': { version: '24.0.0' },
    'node_modules/fsevents': { version: '1.0.0', optional: true },
  },
}
/** What npm ci leaves behind. The pause lets a second installation meet the first. */
const NPM_CI = `echo run >> npm-calls; sleep 1; rm -rf node_modules; mkdir -p node_modules/node/bin; touch node_modules/node/bin/node
echo '{"packages":{"node_modules/node":{"version":"24.0.0"}}}' > node_modules/.package-lock.json`
const TOOLS = { git: '', bwrap: '', socat: '', rg: '' }

test('two starts on one clone install once: the second waits and says for whom', async () => {
  const { clone, path } = newClone('two starts', { ...TOOLS, npm: NPM_CI })
  const [one, two] = await Promise.all([install(clone, path), install(clone, path)])
  expect([one.problem, two.problem]).toEqual([null, null])
  expect(readFileSync(join(clone, 'npm-calls'), 'utf8')).toBe('run\n')
  expect([...one.said, ...two.said].filter((line) => line.startsWith('another process (pid'))).toHaveLength(1)
  expect(readdirSync(join(clone, '.switchyard'))).toEqual([])

  expect(await install(clone, path)).toEqual({ problem: null, said: [] })
  writeFileSync(join(clone, 'package-lock.json'), JSON.stringify(LOCK).replace('24.0.0', '24.0.1'))
  expect((await install(clone, path)).problem).toMatch(/^npm ci installed other versions than package-lock.json names/)
})

test('dependencies that were installed by hand are not installed again', async () => {
  const { clone, path } = newClone('by hand', { ...TOOLS, npm: 'exit 1' })
  mkdirSync(join(clone, 'node_modules/node/bin'), { recursive: true })
  writeFileSync(join(clone, 'node_modules/node/bin/node'), '')
  writeFileSync(
    join(clone, 'node_modules/.package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/node': { version: '24.0.0' } } }),
  )
  expect(await install(clone, path)).toEqual({ problem: null, said: [] })
})

test("npm's own error is shown, and scripts that are switched off are named", async () => {
  const failing = newClone('failing', { ...TOOLS, npm: 'echo "npm error code ETARGET" >&2; exit 1' })
  expect((await install(failing.clone, failing.path)).problem).toBe(
    'the dependencies cannot be installed; npm ci says:\nnpm error code ETARGET',
  )
  const silent = newClone('no scripts', { ...TOOLS, npm: 'mkdir -p node_modules' })
  expect((await install(silent.clone, silent.path)).problem).toContain('ignore-scripts')
})

test('an installation that was killed does not block the next, even if its pid is another program now', async () => {
  const { clone, path } = newClone('killed', { ...TOOLS, npm: NPM_CI })
  mkdirSync(join(clone, '.switchyard'))
  const lock = join(clone, '.switchyard', 'install.lock')
  writeFileSync(lock, String(process.pid))
  const longAgo = new Date(Date.now() - 120_000)
  utimesSync(lock, longAgo, longAgo)
  expect((await install(clone, path)).problem).toBeNull()
  expect(readdirSync(join(clone, '.switchyard'))).toEqual([])
})

test('without git nothing is tried', async () => {
  const { clone, path } = newClone('no git', { npm: NPM_CI })
  expect((await install(clone, path)).problem).toMatch(/^git is not on PATH: install it/)
  expect(existsSync(join(clone, 'npm-calls'))).toBe(false)
})

test('missing tools of the sandbox are named, as root on Debian installed, and never stop the start', async () => {
  const { git } = TOOLS
  const apt = newClone('apt', { git, npm: NPM_CI, socat: '', 'apt-get': 'echo "$1" >> "$HOME/apt-calls"' })
  const poor = newClone('no apt', { git, npm: NPM_CI, socat: '' })
  const broken = newClone('broken apt', { git, npm: NPM_CI, 'apt-get': 'echo "E: no network"; exit 100' })
  const [withApt, without, failing] = await Promise.all([apt, poor, broken].map(({ clone, path }) => install(clone, path)))
  expect(without?.said.at(-1)).toContain('missing for the sandbox: bubblewrap, ripgrep. Install them')
  expect([withApt?.problem, without?.problem, failing?.problem]).toEqual([null, null, null])
  if (process.getuid?.() !== 0) return expect(withApt?.said.at(-1)).toContain('missing for the sandbox')
  expect(readFileSync(join(apt.clone, 'apt-calls'), 'utf8')).toBe('update\ninstall\n')
  expect(withApt?.said.slice(-2)).toEqual(['installing bubblewrap, ripgrep for the sandbox (apt-get) …', 'bubblewrap, ripgrep installed'])
  expect(failing?.said.at(-1)).toContain('apt-get says:\nE: no network')
})

/** A clone of the set-up alone, and a PATH with these programs (name to shell script) and the shell's own few. */
function newClone(name: string, programs: Record<string, string>): { clone: string; path: string } {
  const clone = join(folder, name)
  const bin = join(clone, 'bin')
  mkdirSync(bin, { recursive: true })
  cpSync(new URL('install.mjs', import.meta.url), join(clone, 'setup', 'install.mjs'))
  writeFileSync(join(clone, 'package-lock.json'), JSON.stringify(LOCK))
  for (const [program, body] of Object.entries(programs)) {
    writeFileSync(join(bin, program), `#!/bin/sh\n${body}\n`)
    chmodSync(join(bin, program), 0o755)
  }
  for (const program of ['sh', 'mkdir', 'touch', 'sleep', 'rm']) symlinkSync(`/bin/${program}`, join(bin, program))
  return { clone, path: bin }
}

async function install(clone: string, path: string): Promise<{ problem: string | null; said: string[] }> {
  const code = `import { ensureInstalled } from './setup/install.mjs'
    const said = []
    const problem = await ensureInstalled({ say: (line) => said.push(line) })
    console.log(JSON.stringify({ problem, said }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: clone,
    env: { PATH: path, HOME: clone },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  return JSON.parse(output)
}
