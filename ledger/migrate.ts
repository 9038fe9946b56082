/** Brings a database to the shape of `migrations/*.sql` (forward only), and lets the app's role use it without owning it. */
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url))

export interface Migrated {
  /** Names of the migrations that ran now, in order; empty if the database was up to date. */
  ran: string[]
}

/**
 * `adminUrl` connects as the owner of the tables. `appRole` is the role that the program runs as; it may insert and update,
 * never delete, truncate or alter. Safe to run from several processes at once: the runner takes an advisory lock and waits.
 */
export async function migrate({ adminUrl, appRole }: { adminUrl: string; appRole?: string }): Promise<Migrated> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtext('switchyard migrate'))`)
    const done = await runner({ dbClient: client, dir: FOLDER, direction: 'up', migrationsTable: 'migration', log: () => {}, noLock: true })
    if (appRole) await grant(client, appRole)
    return { ran: done.map(({ name }) => name) }
  } finally {
    await client.end()
  }
}

async function grant(client: pg.Client, role: string): Promise<void> {
  const name = pg.escapeIdentifier(role)
  await client.query(`
    grant usage on schema public to ${name};
    grant select, insert, update on all tables in schema public to ${name};
    grant usage on all sequences in schema public to ${name};
    revoke insert, update, delete, truncate on migration from ${name};
  `)
}
