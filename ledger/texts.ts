/** Content-addressed texts: stored once, never changed, so they may be remembered for ever. */
import { createHash } from 'node:crypto'
import type { Database, Tx } from './database.ts'

export const shaOf = (body: string): Buffer => createHash('sha256').update(body, 'utf8').digest()

/** Postgres takes neither NUL nor lone surrogates: a NUL is written as its escape, a lone surrogate as U+FFFD. */
export const storable = (text: string): string => text.replaceAll('\0', '\\u0000').toWellFormed()

/** `storable` for a jsonb column, which refuses even the escapes of both, in names as in values. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value).replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (whole, what: string) =>
    what === 'u0000' ? '\\\\u0000' : what.startsWith('ud') ? '\uFFFD' : whole,
  )

/** Stores what is new of `bodies` and returns their hashes as hex, in the same order. `known` skips what this process stored before. */
export async function storeTexts(tx: Database | Tx, bodies: string[], known: Set<string>): Promise<string[]> {
  const hashed = bodies.map((body) => ({ body, sha: shaOf(body) }))
  const fresh = new Map(hashed.filter(({ sha }) => !known.has(sha.toString('hex'))).map((text) => [text.sha.toString('hex'), text]))
  if (fresh.size > 0) {
    const rows = [...fresh.values()].map(({ body, sha }) => ({ sha, body, bytes: Buffer.byteLength(body), purgedAt: null }))
    await tx
      .insertInto('text')
      .values(rows)
      .onConflict((on) => on.column('sha').doNothing())
      .execute()
  }
  return hashed.map(({ sha }) => sha.toString('hex'))
}

/** A text by its hash. Fails if it is unknown or was purged: a request is never built from less than was meant. */
export async function readText(db: Database | Tx, sha: Buffer): Promise<string> {
  const row = await db.selectFrom('text').select('body').where('sha', '=', sha).executeTakeFirst()
  if (!row) throw new Error(`text ${sha.toString('hex')} is not in the ledger`)
  if (row.body === null) throw new Error(`text ${sha.toString('hex')} was purged`)
  return row.body
}
