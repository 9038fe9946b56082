/** What a state folder remembers for good, so that a restart finds it again. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { readState, writeStateOnce } from './embedded/state.ts'

/** This machine's name in task queues: the same after a restart, another one for another state folder. */
export function hostName(home: string): string {
  return remembered(
    join(home, 'host.json'),
    () =>
      `${hostname()
        .toLowerCase()
        .replace(/[^a-z0-9-]/g, '-')
        .slice(0, 40)}-${randomBytes(3).toString('hex')}`,
  )
}

export function remembered(path: string, make: () => string): string {
  if (!existsSync(path)) writeStateOnce(path, make())
  return readState(path, z.string().min(1))!
}
