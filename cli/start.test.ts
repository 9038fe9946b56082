/** `switchyard start`: a run of the rehearsal has a folder of its own, comes to an end, and says what is wrong in sentences. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { connect } from '../ledger/database.ts'
import { createDeliveryStore } from '../ledger/deliveries.ts'
import { freshDatabase, testFolder } from '../test/services.ts'
import { freePort } from '../worker/embedded/process.ts'
import { onceFolder, removeDeadRuns } from './once.ts'
import { switchyard } from './process.test-help.ts'
import { rehearsalEnd } from './rehearsal.ts'

const folder = testFolder('start-')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the folder of a dead run is removed and what still runs for it ended; that of a live one stays', async () => {
  const home = join(folder, 'swept')
  const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(dead, 'exit')
  const [left, alive] = [onceFolder(home, dead.pid!), onceFolder(home, process.ppid)]
  for (const place of [left, alive]) mkdirSync(join(place, 'postgres', 'data'), { recursive: true })

  // an orphan is known by its data folder in its command line
  const orphan = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', join(left, 'postgres', 'data')], { stdio: 'ignore' })
  onTestFinished(() => {
    orphan.kill('SIGKILL')
  })
  await once(orphan, 'spawn')
  writeFileSync(join(left, 'postgres', 'data', 'postmaster.pid'), `${orphan.pid}\n${join(left, 'postgres', 'data')}\n0\n5432\n`)
  const ended = once(orphan, 'exit')

  const said: string[] = []
  await removeDeadRuns(home, (line) => said.push(line))
  expect(said).toEqual([])
  await ended
  expect(existsSync(left)).toBe(false)
  expect(existsSync(join(alive, 'postgres', 'data'))).toBe(true)
})

test('work that comes to rest without a Report or an alarm ends the rehearsal; a pending delivery does not let it', async () => {
  const { ownerUrl } = await freshDatabase('rehearsal_end')
  const ledger = connect(ownerUrl, { size: 2, onLost: () => undefined })
  onTestFinished(() => ledger.close())
  const go = new AbortController()
  expect(await rehearsalEnd(ledger.db, go.signal, { quietMs: 1 })).toBe('quiet')

  await createDeliveryStore(ledger.db)({
    source: 'github',
    transport: 'webhook',
    hook: '1',
    guid: 'd-1',
    event: 'issues',
    headers: {},
    body: '{}',
    place: null,
  })
  const watched = rehearsalEnd(ledger.db, go.signal, { quietMs: 1 })
  expect(await Promise.race([watched, new Promise((resolve) => setTimeout(resolve, 1_000, 'still watching'))])).toBe('still watching')
  await ledger.db.updateTable('delivery').set({ state: 'ignored' }).execute()
  expect(await watched).toBe('quiet')

  await ledger.db.insertInto('alarm').values({ kind: 'failed effect', subject: 'x', body: 'x' }).execute()
  expect(await rehearsalEnd(ledger.db, go.signal)).toBe('told')
  go.abort()
  expect(await rehearsalEnd(ledger.db, go.signal)).toBe('stopped')
})

test('a database that does not answer is one sentence', async () => {
  const port = await freePort()
  const given = { SWITCHYARD_HOME: join(folder, 'refused'), DATABASE_URL: `postgres://app:secret@127.0.0.1:${port}/switchyard` }
  const { code, err } = await switchyard(['start'], given)
  expect(code).toBe(1)
  expect(err).toBe(`switchyard: no database answers at 127.0.0.1:${port}: start it, or correct DATABASE_URL\n`)
})

test('two runs at the same time both succeed, and leave nothing behind', { timeout: 300_000 }, async () => {
  const home = join(folder, 'both')
  const runs = await Promise.all([1, 2].map(() => switchyard(['start', '--once'], { SWITCHYARD_HOME: home })))
  expect(runs.map(({ code, err }) => ({ code, err }))).toEqual([
    { code: 0, err: '' },
    { code: 0, err: '' },
  ])
  expect(readdirSync(home).filter((name) => name.startsWith('once-'))).toEqual([])
})
