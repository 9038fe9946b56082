/** The connection to the ledger, and the one place where a transaction that lost a race is tried again. */
import type { Socket } from 'node:net'
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

/** How long a Postgres that hangs is waited for; then it is an outage like any other, and what waited is tried again. */
export interface Patience {
  /** For a connection: a new one, or a free one of the pool. */
  connectMs: number
  /** For any word from the server while a query or a transaction has the connection. */
  silentMs: number
  /** What the server itself ends, so that no lock is held for somebody who is gone, and nothing runs on that nobody waits for. */
  statementMs: number
  idleInTransactionMs: number
}

/** Silence ends before a ledger activity does (30 s) and after the server had its say. No transaction of ours waits for anything but Postgres. */
const PATIENCE: Patience = { connectMs: 8_000, silentMs: 25_000, statementMs: 20_000, idleInTransactionMs: 60_000 }

export interface ConnectOptions {
  /** Connections at most. */
  size?: number
  /** Hears of idle connections that Postgres ended; without a listener that would end the process (57P01). */
  onLost: (error: Error) => void
  patience?: Partial<Patience>
}

export function connect(url: string, { size = 20, onLost, patience }: ConnectOptions): Connected {
  const { connectMs, silentMs, statementMs, idleInTransactionMs } = { ...PATIENCE, ...patience }
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    types: types as pg.CustomTypesConfig,
    application_name: 'switchyard',
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  })
  pool.on('error', onLost)
  // The driver's own `query_timeout` would give a connection back to the pool that still owes an answer: the next query waits behind it.
  pool.on('connect', (client) => {
    client.on('error', () => undefined) // a busy one's: its query rejects with it; unheard it would end the process
    const socket = socketOf(client)
    socket.on('timeout', () => socket.destroy(new Error(`Connection terminated: Postgres said nothing for ${silentMs} ms`)))
  })
  pool.on('acquire', (client) => socketOf(client).setTimeout(silentMs))
  pool.on('release', (_error, client) => socketOf(client).setTimeout(0))
  const db = new Kysely<Ledger>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  })
  return { db, pool, close: () => db.destroy() }
}

const socketOf = (client: pg.PoolClient) => (client as unknown as { connection: { stream: Socket } }).connection.stream

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
