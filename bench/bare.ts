/** The barest loop that keeps ids only in its history, with as many round trips to Postgres as ids and words must cost. */
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import pg from 'pg'
import type { Place } from './steps.ts'

export function bareActivities(pool: pg.Pool, modelUrl: string) {
  return {
    async bareModelStep({ session, step }: { session: string; step: number }): Promise<boolean> {
      await pool.query('select body from bare where session = $1 and step < $2', [session, 0])
      await pool.query('insert into bare (session, step, kind, body) values ($1, $2, $3, $4)', [
        session,
        step,
        'request',
        'x'.repeat(2_000),
      ])
      const response = await fetch(modelUrl, { method: 'POST', headers: { 'x-step': String(step) }, body: 'x'.repeat(16_000) })
      const { call } = (await response.json()) as { call: boolean }
      await pool.query('insert into bare (session, step, kind, body) values ($1, $2, $3, $4)', [session, step, 'answer', 'x'.repeat(500)])
      return call
    },
    async bareRunTool({ session, step }: { session: string; step: number }): Promise<string> {
      await pool.query('select body from bare where session = $1 and step = $2', [session, step])
      await pool.query('insert into bare (session, step, kind, body) values ($1, $2, $3, $4)', [session, step, 'result', 'x'.repeat(2_000)])
      return 'done'
    },
  }
}

export async function bare({ address, namespace, ownerUrl, modelUrl }: Place): Promise<void> {
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 })
  await pool.query('create table bare (session text, step int, kind text, body text, primary key (session, step, kind))')
  const connection = await NativeConnection.connect({ address })
  const common = { connection, namespace }
  const workers = await Promise.all([
    Worker.create({ ...common, taskQueue: 'bare', workflowsPath: fileURLToPath(new URL('bare-workflow.ts', import.meta.url)) }),
    Worker.create({ ...common, taskQueue: 'bare-activities', activities: bareActivities(pool, modelUrl) }),
  ])
  const running = workers.map((worker) => worker.run())
  const clientConnection = await Connection.connect({ address })
  const client = new Client({ connection: clientConnection, namespace })
  await client.workflow.execute('bare', { taskQueue: 'bare', workflowId: 'main', args: ['bare'] })
  for (const worker of workers) worker.shutdown()
  await Promise.all(running)
  await Promise.all([connection.close(), clientConnection.close(), pool.end()])
}
