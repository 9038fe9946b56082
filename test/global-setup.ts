/**
 * The services of a test run: one Postgres and one Temporal dev server in a fresh state folder, ended and removed with the run. A run
 * that was killed leaves its servers behind; the next one ends them.
 */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { migrate } from '../ledger/migrate.ts'
import { endOrphanPostgres, startPostgres } from '../worker/embedded/postgres.ts'
import { APP_ROLE, createDatabase } from '../worker/embedded/postgres-roles.ts'
import { isAlive } from '../worker/embedded/process.ts'
import { endOrphanTemporal, startTemporal } from '../worker/embedded/temporal.ts'
import { TEMPLATE, TEST_FOLDER, testFolder } from './services.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await endAbandoned()
  const home = testFolder()
  const { postgres, temporal } = await startServices(home, (line) => console.log(`test services: ${line}`))
  // Ctrl-C ends Vitest without the teardown; the folder then waits for the next run.
  const interrupted = () => {
    process.kill(postgres.pid, 'SIGQUIT')
    process.kill(temporal.pid, 'SIGKILL')
  }
  process.once('exit', interrupted)
  const { ownerUrl } = await createDatabase(postgres, TEMPLATE)
  await migrate({ adminUrl: ownerUrl, appRole: APP_ROLE })
  project.provide('postgres', { ownerUrl: postgres.ownerUrl, appUrl: postgres.appUrl })
  project.provide('temporal', { address: temporal.address, namespace: temporal.namespace })
  return async () => {
    process.off('exit', interrupted)
    await Promise.all([postgres.stop(), temporal.stop()])
    rmSync(postgres.dataDir, { recursive: true })
    rmSync(home, { recursive: true })
  }
}

async function startServices(home: string, say: (line: string) => void) {
  const [postgres, temporal] = await Promise.allSettled([startPostgres({ home, say }), startTemporal({ home, say })])
  if (postgres.status === 'fulfilled' && temporal.status === 'fulfilled') return { postgres: postgres.value, temporal: temporal.value }
  // One that started must not outlive the failure of the other.
  if (postgres.status === 'fulfilled') await postgres.value.stop()
  if (temporal.status === 'fulfilled') await temporal.value.stop()
  throw postgres.status === 'rejected' ? postgres.reason : (temporal as PromiseRejectedResult).reason
}

async function endAbandoned(): Promise<void> {
  const dead = (name: string) => name.startsWith(TEST_FOLDER) && !isAlive(Number(name.slice(TEST_FOLDER.length).split('-')[0]))
  for (const name of readdirSync(tmpdir()).filter(dead)) {
    try {
      await endIn(join(tmpdir(), name))
    } catch (error) {
      // ENOENT: another run cleans up as well
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

async function endIn(folder: string): Promise<void> {
  if (statSync(folder).uid !== process.getuid?.()) return
  const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const home of [folder, ...inside.map(({ name }) => join(folder, name))]) {
    await endOrphanTemporal(home)
    const { dataDir } = await endOrphanPostgres(home)
    rmSync(dataDir, { recursive: true, force: true })
  }
  rmSync(folder, { recursive: true, force: true })
}
