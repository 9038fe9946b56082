/** The run's own services: a test gets a migrated database with the app's few rights, and a namespace that is ready at once. */
import { randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import pg from 'pg'
import { expect, test } from 'vitest'
import { freshDatabase, freshNamespace } from './services.ts'

test('databases of one run are migrated, apart from each other, and gone after their drop', async () => {
  const [one, two] = await Promise.all([freshDatabase('one'), freshDatabase('two')])
  expect(one.appUrl).not.toBe(two.appUrl)
  const client = new pg.Client({ connectionString: one.appUrl })
  client.on('error', () => 'the drop ends this session on purpose')
  await client.connect()
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migration')
  expect(rows.length).toBeGreaterThan(0)
  await one.drop()
  const again = new pg.Client({ connectionString: one.appUrl })
  await expect(again.connect()).rejects.toMatchObject({ code: '3D000' })
  await two.drop()
})

test('a workflow with search attributes starts in a fresh namespace without waiting', async () => {
  const { address, namespace } = await freshNamespace('attributes')
  const connection = await Connection.connect({ address })
  const client = new Client({ connection, namespace })
  const workflowId = randomUUID()
  await client.workflow.start('nobody-runs-this', {
    taskQueue: 'none',
    workflowId,
    searchAttributes: { SyState: ['running'], SyPaused: [false] },
  })
  const { searchAttributes } = await client.workflow.getHandle(workflowId).describe()
  expect(searchAttributes.SyState).toEqual(['running'])
  await connection.close()
})
