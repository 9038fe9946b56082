/** What a test asks of the run's services: a database, a namespace, a folder of its own. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { createDatabase, type DatabaseUrls, dropDatabase } from '../worker/embedded/postgres-roles.ts'

/** What the run's global set-up hands to every test file. */
declare module 'vitest' {
  interface ProvidedContext {
    postgres: DatabaseUrls
    temporal: { address: string; namespace: string }
  }
}

/** A migrated database that nobody connects to: `freshDatabase` copies it. */
export const TEMPLATE = 'switchyard_template'

export interface TestDatabase extends DatabaseUrls {
  /** Ends the sessions in it and removes it; not needed for the run's end, which removes the server. */
  drop(): Promise<void>
}

/** A migrated, empty database that nobody else uses. `name` only helps to recognise it in the server's log. */
export async function freshDatabase(name = 'test'): Promise<TestDatabase> {
  const server = inject('postgres')
  const unique = uniqueName(name)
  const urls = await createDatabase(server, unique, TEMPLATE)
  return { ...urls, drop: () => dropDatabase(server, unique) }
}

/** A namespace with the search attributes registered, on the run's dev server. */
export async function freshNamespace(name = 'test'): Promise<{ address: string; namespace: string }> {
  // Loaded here: a unit that needs no Temporal does not wait for its client.
  const { Connection } = await import('@temporalio/client')
  const { SEARCH_ATTRIBUTES } = await import('../core/ticket/search-attributes.ts')
  const { ensureNamespace } = await import('../worker/embedded/temporal-namespace.ts')
  const { address } = inject('temporal')
  const namespace = uniqueName(name)
  const connection = await Connection.connect({ address })
  try {
    await ensureNamespace(connection, namespace, SEARCH_ATTRIBUTES)
  } finally {
    await connection.close()
  }
  return { address, namespace }
}

/** How the folders begin in which tests keep state folders; the id of the process follows, so that a killed run's are found. */
export const TEST_FOLDER = 'switchyard-test-'

/** A new folder for state folders. Others may pass through it: as root the tests' Postgres is another user. */
export function testFolder(name = ''): string {
  const folder = mkdtempSync(join(tmpdir(), `${TEST_FOLDER}${process.pid}-${name}`))
  chmodSync(folder, 0o711)
  return folder
}

const uniqueName = (name: string) => `${name.replace(/[^a-z0-9]+/gi, '_').toLowerCase()}_${randomBytes(5).toString('hex')}`
