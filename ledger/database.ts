/** The connection to the ledger, and the one place where a transaction that lost a race is tried again. */
import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import type { Ledger } from './schema.ts'

export type Database = Kysely<Ledger>
export type Tx = Transaction<Ledger>

/** int8 (counts, sums) as numbers: none of ours comes near 2^53. */
const types = { getTypeParser: (oid: number, format?: 'text' | 'binary') => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) }

export interface Connected {
  db: Database
  pool: pg.Pool
  close(): Promise<void>
}

/** `onLost` hears of idle connections that Postgres ended; without a listener that would end the process (57P01). */
export function connect(url: string, { size = 20, onLost }: { size?: number; onLost: (error: Error) => void }): Connected {
  const pool = new pg.Pool({ connectionString: url, max: size, types: types as pg.CustomTypesConfig, application_name: 'switchyard' })
  pool.on('error', onLost)
  const db = new Kysely<Ledger>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  })
  return { db, pool, close: () => db.destroy() }
}

const LOST_RACE = new Set(['40001', '40P01'])

/** Runs `work` in one transaction; a serialisation failure or deadlock starts it over, as often as it takes (at most 10 times). */
export async function transaction<Result>(
  db: Database,
  work: (tx: Tx) => Promise<Result>,
  isolation: 'read committed' | 'repeatable read' = 'read committed',
  access: 'read write' | 'read only' = 'read write',
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().setIsolationLevel(isolation).setAccessMode(access).execute(work)
    } catch (error) {
      if (attempt === 10 || !LOST_RACE.has((error as { code?: string }).code ?? '')) throw error
    }
  }
}
