/** The way of a command to the ledger: settings, address, a look whether it answers, and one sentence for each way in which it does not. */
import pg from 'pg'
import { connect, type Database } from '../ledger/database.ts'
import type { DatabaseUrls } from '../worker/embedded/postgres-roles.ts'
import { homeFolder, readSettings } from '../worker/environment.ts'
import { complain, type ExitCode, faultsText } from './terminal.ts'

/** Runs `work` with the ledger and closes it. What keeps it from that is said, and makes exit code 1. */
export async function withLedger(work: (db: Database) => Promise<ExitCode>): Promise<ExitCode> {
  const urls = await configuredDatabase()
  if ('problem' in urls) return refuse(urls.problem)
  const answers = await databaseAnswers(urls.appUrl)
  if ('problem' in answers) return refuse(answers.problem)

  const ledger = connect(urls.appUrl, { size: 2, onLost: ({ message }) => complain(`a connection to the database was lost: ${message}`) })
  try {
    return await work(ledger.db)
  } catch (error) {
    const problem = databaseProblem(error, urls.appUrl)
    if (problem === null) throw error
    return refuse(problem)
  } finally {
    await ledger.close()
  }
}

/** Owner's and app's address of the database that is configured, or of the one that runs here. */
export async function configuredDatabase(): Promise<DatabaseUrls | { problem: string }> {
  const parsed = readSettings()
  if ('faults' in parsed) return { problem: faultsText(parsed.faults) }
  const { database, home } = parsed.settings
  if (database) return { ownerUrl: database.adminUrl, appUrl: database.url }
  const folder = homeFolder(home)
  const { runningPostgres } = await import('../worker/embedded/postgres.ts')
  return (
    (await runningPostgres(folder)) ?? {
      problem: `Switchyard is not running here (no database answers for ${folder}). Start it with npm start, or set DATABASE_URL.`,
    }
  )
}

/** People wait at a terminal for this one. */
const PATIENCE_MS = 5_000

/** Postgres' version as a number, e.g. 150004. */
export async function databaseAnswers(url: string): Promise<{ version: number } | { problem: string }> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
    application_name: 'switchyard',
  })
  try {
    await client.connect()
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version_num') as version`)
    return { version: Number(rows[0]!.version) }
  } catch (error) {
    return { problem: databaseProblem(error, url) ?? `the database at ${placeOf(url)} cannot be used: ${(error as Error).message}` }
  } finally {
    await client.end()
  }
}

/** What people can cause and mend, in one sentence; null: something else. */
export function databaseProblem(error: unknown, url: string): string | null {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const place = placeOf(url)
  const { user, name } = namesOf(url)
  switch (code) {
    case 'ECONNREFUSED':
      return `no database answers at ${place}: start it, or correct DATABASE_URL`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host of the database is not known (${place}): correct DATABASE_URL`
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `the database at ${place} cannot be reached: look at the network, or correct DATABASE_URL`
    case 'ECONNRESET':
    case '57P01':
    case '57P02':
      return `the database at ${place} ended the connection: try again once it is up`
    case '57P03':
      return `the database at ${place} is starting or stopping: try again in a moment`
    case '53300':
      return `the database at ${place} takes no more connections: raise its max_connections, or end others`
    case '28P01':
    case '28000':
      return `the database at ${place} refuses the user ${user}: correct the user or password in DATABASE_URL (${message})`
    case '3D000':
      return `there is no database ${name} at ${place}: create it, or correct DATABASE_URL`
    case '42P01':
    case '42703':
      return `the database ${name} at ${place} lacks what this version of Switchyard needs: run switchyard migrate`
    case '42501':
      return `the user ${user} may not do this in the database ${name} at ${place}: run switchyard migrate as its owner (DATABASE_ADMIN_URL)`
    default:
      // pg's own errors carry no code
      if (/timeout expired|timeout exceeded|read timeout|Connection terminated/.test(message))
        return `the database at ${place} does not answer, or ended the connection: look at the network, or correct DATABASE_URL`
      if (/does not support SSL/.test(message)) return `the database at ${place} speaks no SSL: add sslmode=disable to DATABASE_URL`
      return null
  }
}

/** The user that an address names, or the one that Postgres' client takes without. */
export function namesOf(url: string): { user: string; name: string } {
  const { username, pathname } = new URL(url)
  const user = decodeURIComponent(username) || process.env.PGUSER || process.env.USER || 'of this system'
  return { user, name: decodeURIComponent(pathname.slice(1)) || user }
}

const placeOf = (url: string): string => `${new URL(url).hostname || 'localhost'}:${new URL(url).port || '5432'}`

function refuse(problem: string): ExitCode {
  complain(problem)
  return 1
}
