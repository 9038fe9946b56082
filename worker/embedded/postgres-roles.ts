/**
 * Who may do what in the embedded Postgres: the superuser makes roles, the owner holds the database and its schema, the app role
 * may connect and gets what the migrations grant.
 */
import pg from 'pg'

export interface Passwords {
  superuser: string
  owner: string
  app: string
}

export interface DatabaseUrls {
  ownerUrl: string
  appUrl: string
}

export const DATABASE = 'switchyard'
export const OWNER_ROLE = 'switchyard_owner'
export const APP_ROLE = 'switchyard_app'

/** Any number that every start of ours shares. */
const SETUP_LOCK = 5_891_207

/** The address of a database on this machine. Said outright: no encryption, whatever PGSSLMODE of the environment asks for. */
export function urlFor(port: number, role: string, password: string, database: string): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
}

export function urlsFor(port: number, { owner, app }: Passwords): DatabaseUrls {
  return { ownerUrl: urlFor(port, OWNER_ROLE, owner, DATABASE), appUrl: urlFor(port, APP_ROLE, app, DATABASE) }
}

/** Makes roles and database where they are missing: a start that was killed in the middle is finished by the next. */
export async function ensureDatabase(port: number, passwords: Passwords): Promise<void> {
  await asked(urlFor(port, 'postgres', passwords.superuser, 'postgres'), async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [SETUP_LOCK])
    await ensureRole(client, OWNER_ROLE, passwords.owner, 'CREATEDB')
    await ensureRole(client, APP_ROLE, passwords.app, 'NOCREATEDB')
    // The owner may end the app's sessions: without it DROP DATABASE … FORCE is refused.
    await client.query(`GRANT ${APP_ROLE} TO ${OWNER_ROLE}`)
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE} OWNER ${OWNER_ROLE}`)
    await closeDatabase(client, DATABASE, APP_ROLE)
  })
}

/** A new database on the same server, empty or a copy of `template` (which nobody may be connected to). */
export async function createDatabase(server: DatabaseUrls, name: string, template?: string): Promise<DatabaseUrls> {
  const app = decodeURIComponent(new URL(server.appUrl).username)
  await asked(server.ownerUrl, async (client) => {
    const from = template === undefined ? '' : ` TEMPLATE ${client.escapeIdentifier(template)}`
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}${from}`)
    await closeDatabase(client, name, app) // a copy does not inherit who may connect
  })
  return { ownerUrl: onDatabase(server.ownerUrl, name), appUrl: onDatabase(server.appUrl, name) }
}

/** Drops a database and ends the sessions in it. */
export async function dropDatabase({ ownerUrl }: DatabaseUrls, name: string): Promise<void> {
  await asked(ownerUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`))
}

async function ensureRole(client: pg.Client, role: string, password: string, right: 'CREATEDB' | 'NOCREATEDB'): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role])
  if (rowCount === 0) await client.query(`CREATE ROLE ${role} LOGIN ${right} PASSWORD ${client.escapeLiteral(password)}`)
}

/** By default everybody may connect and make temporary tables. */
async function closeDatabase(client: pg.Client, name: string, app: string): Promise<void> {
  const database = client.escapeIdentifier(name)
  await client.query(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`)
  await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${client.escapeIdentifier(app)}`)
}

async function asked(connectionString: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

function onDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${encodeURIComponent(name)}`
  return changed.href
}
