/**
 * The state folder of a `start --once`: a fresh one for each run, named after its process, so that two runs at once do not meet.
 * A run that ended well removes its own. That of a failed run is there to be read until the next start, and that of a killed one
 * until then too, which first ends the services that outlived it.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { takeHome } from '../worker/embedded/home.ts'
import { endOrphanPostgres } from '../worker/embedded/postgres.ts'
import { isAlive } from '../worker/embedded/process.ts'
import { endOrphanTemporal } from '../worker/embedded/temporal.ts'

/** Another start may be removing the same folders; ending a server takes seconds. */
const PATIENCE_MS = 60_000

export const onceFolder = (home: string, pid: number): string => join(home, `once-${pid}`)

/** Removes what dead runs left; a folder that cannot be removed is named and stands in nobody's way. */
export async function removeDeadRuns(home: string, say: (line: string) => void): Promise<void> {
  if (deadRuns(home).length === 0) return
  const lock = await takeHome(join(home, 'once'), { patience: PATIENCE_MS })
  try {
    for (const folder of deadRuns(home)) {
      await removeRun(folder).catch((error: Error) => say(`${folder} of an earlier --once cannot be removed: ${error.message}`))
    }
  } finally {
    lock.release()
  }
}

/** Ends what still runs for the folder and removes it, with the database that lies elsewhere. */
export async function removeRun(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  await endOrphanTemporal(folder)
  const { dataDir } = await endOrphanPostgres(folder)
  rmSync(dirname(dataDir), { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}

/** Our own id names a dead run's folder too, when the system gave it to another before. */
function deadRuns(home: string): string[] {
  if (!existsSync(home)) return []
  const pids = readdirSync(home).flatMap((name) => /^once-(\d+)$/.exec(name)?.slice(1).map(Number) ?? [])
  return pids.filter((pid) => pid === process.pid || !isAlive(pid)).map((pid) => onceFolder(home, pid))
}
