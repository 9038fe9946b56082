import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { testFolder } from '../test/services.ts'
import { postgresUser } from '../worker/embedded/postgres-files.ts'
import { APP_ROLE, createDatabase, type DatabaseUrls, dropDatabase } from '../worker/embedded/postgres-roles.ts'
import { migrate } from './migrate.ts'

const run = promisify(execFile)

async function emptyDatabase(): Promise<DatabaseUrls> {
  const server = inject('postgres')
  const name = `migrate_${randomBytes(5).toString('hex')}`
  onTestFinished(() => dropDatabase(server, name))
  return createDatabase(server, name)
}

async function asked<Row extends pg.QueryResultRow>(connectionString: string, query: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Row>(query)).rows
  } finally {
    await client.end()
  }
}

test('a database is brought up once; a second run finds it up to date and grants again', async () => {
  const { ownerUrl, appUrl } = await emptyDatabase()
  expect((await migrate({ adminUrl: ownerUrl, appRole: APP_ROLE })).ran).toContain('0001_ledger')
  expect(await migrate({ adminUrl: ownerUrl, appRole: APP_ROLE })).toEqual({ ran: [] })
  expect(await asked(appUrl, 'select scope from pause order by scope')).toEqual([{ scope: 'all' }, { scope: 'main' }])
  expect(await asked(appUrl, 'select id from session')).toEqual([{ id: 'main-1' }])
})

test('[C3] a new database has a first revision and a first Policy version, both built-in', async () => {
  const { ownerUrl } = await emptyDatabase()
  await migrate({ adminUrl: ownerUrl })
  const heads = 'select origin, predecessor from prompt_revision union all select origin, predecessor from policy_version'
  expect(await asked(ownerUrl, heads)).toEqual(Array(2).fill({ origin: 'built-in', predecessor: null }))
})

test('[O8] three processes that migrate at the same moment: one does it, the others wait and find it done', async () => {
  const { ownerUrl } = await emptyDatabase()
  const module = new URL('migrate.ts', import.meta.url).href
  const script = `import { migrate } from ${JSON.stringify(module)}
    console.log(JSON.stringify(await migrate({ adminUrl: process.env.ADMIN_URL, appRole: '${APP_ROLE}' })))`
  const outputs = await Promise.all(
    Array.from({ length: 3 }, () =>
      run(process.execPath, ['--input-type=module', '-e', script], {
        cwd: fileURLToPath(new URL('..', import.meta.url)),
        env: { ...process.env, ADMIN_URL: ownerUrl },
      }),
    ),
  )
  const ran = outputs.map(({ stdout }) => (JSON.parse(stdout) as { ran: string[] }).ran.length)
  expect(ran.filter((count) => count > 0)).toHaveLength(1)
})

test("[K1] the app's role cannot migrate", async () => {
  const { appUrl } = await emptyDatabase()
  await expect(migrate({ adminUrl: appUrl })).rejects.toThrow(/permission denied/)
})

const oldest = existsSync('/usr/lib/postgresql')
  ? readdirSync('/usr/lib/postgresql')
      .filter((version) => Number(version) >= 15 && existsSync(`/usr/lib/postgresql/${version}/bin/initdb`))
      .sort((a, b) => Number(a) - Number(b))[0]
  : undefined
if (!oldest) console.warn('ledger/migrate.test.ts: SKIPPED on the oldest Postgres: no system package of Postgres 15 or newer is installed')

test.skipIf(!oldest)(
  `[K1] on the system's Postgres ${oldest} the ledger is made, and its guards hold even for a replica's session`,
  async () => {
    const superuserUrl = await startSystemPostgres(`/usr/lib/postgresql/${oldest}/bin`)
    await asked(superuserUrl, 'create role app login')
    const { ran } = await migrate({ adminUrl: superuserUrl, appRole: 'app' })
    expect(ran).toContain('0001_ledger')
    const appUrl = superuserUrl.replace('//postgres@', '//app@')
    expect(await asked(appUrl, 'select version from policy_version')).toEqual([{ version: 1 }])
    const asReplica = (statement: string) => asked(superuserUrl, `set session_replication_role = 'replica'; ${statement}`)
    for (const statement of ['update prompt_revision set actor = $$x$$', 'delete from prompt_revision', 'truncate prompt_revision cascade'])
      await expect(asReplica(statement), statement).rejects.toMatchObject({ code: '23001' })
  },
)

/** On a free port, run by the user that may; ended with the test. */
async function startSystemPostgres(bin: string): Promise<string> {
  const runAs = postgresUser()
  const data = join(testFolder('system-'), 'data')
  mkdirSync(data, { mode: 0o700 })
  if (runAs) chownSync(data, runAs.uid, runAs.gid)
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'], { ...runAs })
  const port = await freePort()
  const settings = ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${data}`, '-c', 'fsync=off']
  const server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...settings], { ...runAs, stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  onTestFinished(async () => {
    server.kill('SIGINT')
    await ended
    rmSync(join(data, '..'), { recursive: true })
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  for (let tries = 0; ; tries++) {
    try {
      await asked(url, 'select 1')
      return url
    } catch (error) {
      if (tries === 100) throw error
      await sleep(100)
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
