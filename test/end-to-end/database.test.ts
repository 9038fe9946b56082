/** A Postgres of the test's own: one that goes away and comes back, and one of the system's binaries with roles of its own. */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { migrate } from '../../ledger/migrate.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { startPostgres } from '../../worker/embedded/postgres.ts'
import { postgresUser } from '../../worker/embedded/postgres-files.ts'
import { APP_ROLE } from '../../worker/embedded/postgres-roles.ts'
import { freePort } from '../../worker/embedded/process.ts'
import { gateBefore, through } from '../gate.ts'
import { freshDatabase, testFolder } from '../services.ts'
import { post, takenDown } from './deliveries.ts'
import { eventually, finished, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 120_000 })

test('[M1] [F025] with the database down a delivery is answered 503, and with the database back it is taken', async () => {
  const home = testFolder('postgres-')
  const say = () => undefined
  let postgres = await startPostgres({ home, say })
  onTestFinished(async () => {
    await postgres.stop()
    rmSync(postgres.dataDir, { recursive: true })
  })
  await migrate({ adminUrl: postgres.ownerUrl, appRole: APP_ROLE })
  const house = await openHouse({ world, scenario: fixFailingTest, databaseUrl: postgres.appUrl })
  const { issue, body } = await takenDown(house, world)

  await postgres.stop()
  const answer = await post(house, { body })
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).not.toBeNull()

  postgres = await startPostgres({ home, say })
  await eventually('the delivery is taken', async () => (await post(house, { body })).status === 202)
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

test('[M1] a database that takes connections and never answers: a delivery is answered 503 in time, and what waited goes on by itself', async () => {
  const { appUrl } = await freshDatabase('hangs')
  const gate = await gateBefore(appUrl)
  onTestFinished(gate.close)
  const house = await openHouse({ world, scenario: fixFailingTest, databaseUrl: through(gate, appUrl) })
  const issue = await house.openIssue()
  await eventually('the Ticket is at work', () => house.ledger.db.selectFrom('toolCall').select('call').executeTakeFirst())

  gate.hang()
  const began = performance.now()
  expect((await post(house, { body: '{}', event: 'watch' })).status).toBe(503)
  expect(performance.now() - began).toBeLessThan(10_000) // so long GitHub waits
  await eventually('no query waits any longer', async () => house.logged().includes('Postgres said nothing for'))

  gate.open()
  await eventually('a delivery is taken', async () => (await post(house, { body: '{}', event: 'watch' })).status === 202, 10_000)
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

const SYSTEM = systemBinaries()
if (SYSTEM === null) console.warn("skipped: this machine has no PostgreSQL 15 or newer of the system's own in /usr/lib/postgresql")

test.skipIf(SYSTEM === null)("the main job runs on a Postgres of the system's binaries, with roles that are not ours", async () => {
  const server = await startSystemPostgres(SYSTEM!)
  await withClient(server.url('postgres', server.password), async (client) => {
    await client.query(`create role keeper login password '${server.password}'`)
    await client.query(`create role clerk login password '${server.password}'`)
    await client.query('create database board owner keeper')
  })
  const adminUrl = server.url('keeper', server.password, 'board')
  await migrate({ adminUrl, appRole: 'clerk' })
  const house = await openHouse({ world, scenario: fixFailingTest, databaseUrl: server.url('clerk', server.password, 'board') })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect((await migrate({ adminUrl, appRole: 'clerk' })).ran).toEqual([])
})

/** The newest version from 15 on; Debian and Ubuntu put it there. */
function systemBinaries(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root)
    ? readdirSync(root)
        .map(Number)
        .filter((version) => version >= 15)
    : []
  const folder = join(root, String(Math.max(...versions)), 'bin')
  return versions.length > 0 && existsSync(join(folder, 'initdb')) ? folder : null
}

async function startSystemPostgres(binaries: string) {
  const folder = join(testFolder('system-postgres-'), 'here')
  const runAs = postgresUser()
  mkdirSync(folder, { mode: 0o700 })
  if (runAs) chownSync(folder, runAs.uid, runAs.gid)
  const options = { cwd: folder, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }, ...runAs }
  const data = join(folder, 'data')
  await promisify(execFile)(join(binaries, 'initdb'), ['-D', data, '--username=postgres', '--auth=trust', '--no-sync'], options)
  const port = await freePort()
  const flags = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off']
  const child = spawn(join(binaries, 'postgres'), flags, { ...options, stdio: 'ignore' })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGINT')
    await exited
    rmSync(folder, { recursive: true })
  })
  const password = randomBytes(12).toString('hex')
  const url = (role: string, secret: string, database = 'postgres') =>
    `postgres://${role}:${secret}@127.0.0.1:${port}/${database}?sslmode=disable`
  await eventually('the server answers', () => withClient(url('postgres', password), async () => true).catch(() => false))
  return { url, password }
}

async function withClient<Result>(connectionString: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
