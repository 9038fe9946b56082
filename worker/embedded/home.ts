/**
 * One process at a time works in a state folder. The lock is one that the operating system holds for us (an exclusive SQLite
 * transaction), so a kill -9 frees it and two that take over at once cannot both win, which a file with a pid allows. The pid and
 * the start time lie beside it, for people.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { isAlive } from './process.ts'
import { readState, writeState } from './state.ts'

export const Holder = z.strictObject({ pid: z.int(), since: z.string() })
const SQLITE_BUSY = 5

/**
 * Creates the folder and takes it, or throws a sentence that names the process which has it. `patience` (milliseconds) waits for
 * one that is about to end, such as the child of a start that was killed.
 */
export async function takeHome(home: string, { patience = 0 } = {}): Promise<{ release(): void }> {
  // Others may pass through, not look: Postgres runs as another user when we are root.
  mkdirSync(home, { recursive: true, mode: 0o711 })
  for (const until = Date.now() + patience; ; await sleep(100)) {
    const lock = tryLock(join(home, 'lock.db'))
    if (lock) {
      writeState(join(home, 'holder.json'), { pid: process.pid, since: new Date().toISOString() })
      return { release: () => lock.close() }
    }
    if (Date.now() >= until) throw new Error(refusal(home))
  }
}

function tryLock(path: string): DatabaseSync | null {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null
    throw error
  }
}

function refusal(home: string): string {
  const holder = readState(join(home, 'holder.json'), Holder)
  const alive = holder !== null && isAlive(holder.pid) // a dead one is the holder before
  const who = alive ? `process ${holder.pid}, since ${holder.since}` : 'a process that is just starting'
  return `${home} is in use by ${who}: stop it${alive ? ` (kill ${holder.pid})` : ''}, or set SWITCHYARD_HOME to another folder`
}
