/** Which nested AGENTS.md a Session has been shown, and by which call: each comes once, with the first call that asked for it (N12). */
import type { CallAddress } from './calls.ts'
import type { Database } from './database.ts'

export interface ShownFile {
  path: string
  bytes: number
  /** This call is the one that shows it, also when it runs again. */
  mine: boolean
}

export async function shownFiles(db: Database, at: CallAddress): Promise<ShownFile[]> {
  const rows = await db.selectFrom('instructionFile').selectAll().where('session', '=', at.session).orderBy('path').execute()
  return rows.map(({ path, bytes, step, call }) => ({ path, bytes, mine: step === at.step && call === at.call }))
}

/** Of two calls side by side that meet the same file one shows it. Returns the paths that are this call's. */
export async function showFiles(db: Database, at: CallAddress, files: readonly { path: string; bytes: number }[]): Promise<Set<string>> {
  if (files.length === 0) return new Set()
  const rows = await db
    .insertInto('instructionFile')
    .values(files.map(({ path, bytes }) => ({ ...at, path, bytes })))
    .onConflict((on) => on.columns(['session', 'path']).doNothing())
    .returning('path')
    .execute()
  return new Set(rows.map(({ path }) => path))
}
