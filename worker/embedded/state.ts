/** Small files that one process writes and another reads while it runs: always whole, never half. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { z } from 'zod'

/** The file's value, or null when there is none. A file that is not what we write is an error that says so. */
export function readState<T>(path: string, schema: z.ZodType<T>): T | null {
  const text = readText(path)
  if (text === null) return null
  const parsed = schema.safeParse(parseJson(text))
  if (!parsed.success) throw new Error(`${path} is not a file that this program wrote; put the right one back, or move it away`)
  return parsed.data
}

/** Replaces the file in one step; only our own user may read it. */
export function writeState(path: string, value: unknown): void {
  renameSync(written(path, value), path)
}

/** Writes the file unless it is there. Of several that try at once one wins, and all read the winner's. */
export function writeStateOnce(path: string, value: unknown): void {
  const draft = written(path, value)
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
}

function written(path: string, value: unknown): string {
  const draft = `${path}.${process.pid}.${performance.now()}`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  return draft
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    if (code === 'EACCES')
      throw new Error(`${path} cannot be read: it belongs to another user; run this as the user who started the services`)
    throw new Error(`${path} cannot be read: ${message}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the schema refuses it in words
  }
}
