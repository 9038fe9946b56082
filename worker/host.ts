/** What a state folder remembers for good, so that a restart finds it again. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

/** This machine's name in task queues: the same after a restart, another one for another state folder. */
export function hostName(home: string): string {
  return remembered(
    join(home, 'host'),
    () =>
      `${hostname()
        .toLowerCase()
        .replace(/[^a-z0-9-]/g, '-')
        .slice(0, 40)}-${randomBytes(3).toString('hex')}`,
  )
}

export function remembered(path: string, make: () => string): string {
  if (!existsSync(path)) writeFileSync(path, make(), { mode: 0o600 })
  return readFileSync(path, 'utf8')
}
