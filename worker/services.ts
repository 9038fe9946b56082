/**
 * The services that the program stands on: Postgres and Temporal, embedded unless the settings name others, brought up side by
 * side, with the ledger migrated and the search attributes registered before anything polls.
 */
import { Connection } from '@temporalio/client'
import type { Settings } from '../core/deployment/settings.ts'
import { SEARCH_ATTRIBUTES } from '../core/ticket/search-attributes.ts'
import { migrate } from '../ledger/migrate.ts'
import { closeAll } from './close-all.ts'
import { startPostgres } from './embedded/postgres.ts'
import { APP_ROLE } from './embedded/postgres-roles.ts'
import { startTemporal } from './embedded/temporal.ts'
import { ensureNamespace } from './embedded/temporal-namespace.ts'
import { readEnvironment } from './environment.ts'
import { configuredTemporal, type TemporalAt } from './temporal.ts'

export interface Services {
  databaseUrl: string
  temporal: TemporalAt & { uiUrl: string | null }
  /** Settles when an embedded service ends by itself, with a sentence. */
  died: Promise<string>
  stop(): Promise<void>
}

export async function startServices(settings: Settings, home: string, say: (line: string) => void): Promise<Services> {
  const [database, temporal] = await Promise.allSettled([openDatabase(settings, home, say), openTemporal(settings, home, say)])
  if (database.status === 'fulfilled' && temporal.status === 'fulfilled') {
    return {
      databaseUrl: database.value.url,
      temporal: temporal.value.at,
      died: Promise.race([database.value.died, temporal.value.died]),
      stop: () => closeAll([database.value.stop, temporal.value.stop]),
    }
  }
  const started = [database, temporal].flatMap((service) => (service.status === 'fulfilled' ? [service.value.stop] : []))
  await closeAll(started).catch((error: Error) => say(`a service did not end: ${error.message}`))
  throw database.status === 'rejected' ? database.reason : (temporal as PromiseRejectedResult).reason
}

const never = new Promise<string>(() => {})

async function openDatabase({ database }: Settings, home: string, say: (line: string) => void) {
  const embedded = database ? null : await startPostgres({ home, say })
  try {
    const url = database?.url ?? embedded!.appUrl
    const adminUrl = database?.adminUrl ?? embedded!.ownerUrl
    const appRole = database ? roleOf(database) : APP_ROLE
    const { ran } = await migrate({ adminUrl, ...(appRole === null ? {} : { appRole }) }).catch((error: Error) => {
      throw database ? new Error(`DATABASE_URL: ${reachable(adminUrl)} does not serve: ${error.message}`, { cause: error }) : error
    })
    if (ran.length > 0) say(`migrated the ledger: ${ran.join(', ')}`)
    return {
      url,
      died: embedded ? embedded.died.then((words) => `Postgres ended by itself: ${words}`) : never,
      stop: async () => embedded?.stop(),
    }
  } catch (error) {
    await embedded?.stop().catch((trouble: Error) => say(`a service did not end: ${trouble.message}`))
    throw error
  }
}

/** The app's role, where it is another one than the owner's. */
function roleOf({ url, adminUrl }: NonNullable<Settings['database']>): string | null {
  const [role, owner] = [new URL(url).username, new URL(adminUrl).username]
  return role === owner ? null : decodeURIComponent(role)
}

/** An address without its secret. */
function reachable(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

async function openTemporal({ temporal }: Settings, home: string, say: (line: string) => void) {
  const configured = configuredTemporal(readEnvironment())
  if (!configured) {
    const embedded = await startTemporal({ home, say, namespace: temporal.namespace })
    const { address, namespace, uiUrl } = embedded
    return {
      at: { address, namespace, uiUrl },
      died: embedded.died.then((words) => `Temporal ended by itself: ${words}`),
      stop: embedded.stop,
    }
  }
  await prepareTemporal(configured)
  return { at: { ...configured, uiUrl: null }, died: never, stop: async () => {} }
}

/** Reaches a Temporal of the team's own and registers there what workers and dispatcher rest on. */
export async function prepareTemporal({ address, namespace, security }: TemporalAt): Promise<void> {
  const connection = await Connection.connect({ address, ...security, connectTimeout: '10s' }).catch((error: Error) => {
    throw new Error(`TEMPORAL_ADDRESS: ${address} does not answer (${error.message}): is the server running, and is the address right?`)
  })
  try {
    await ensureNamespace(connection, namespace, SEARCH_ATTRIBUTES)
  } finally {
    await connection.close()
  }
}
