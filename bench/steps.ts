/**
 * What a model step with one tool call costs: time around the model, and what it leaves in the Temporal history. Beside it the
 * barest loop of two activities on the same server, with as many round trips to Postgres as ids and words must cost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { NativeConnection, Worker } from '@temporalio/worker'
import pg from 'pg'
import { pino } from 'pino'
import { createSandbox } from '../activities/workspace/sandbox.ts'
import { parseSettings } from '../core/deployment/settings.ts'
import { SEARCH_ATTRIBUTES } from '../core/ticket/search-attributes.ts'
import { connect, transaction } from '../ledger/database.ts'
import { deliver } from '../ledger/inbox.ts'
import { startTemporal } from '../worker/embedded/temporal.ts'
import { ensureNamespace } from '../worker/embedded/temporal-namespace.ts'
import { startProgram } from '../worker/program.ts'
import { benchPostgres, type Helper, helper, median, note, printTable, quantile, RUNS, scratch } from './house.ts'
import type { ModelRecord } from './model.ts'

const STEPS = Number(process.env.STEPS ?? 110)
/** The first ones carry the warm-up. */
const WARM = 10
const POINTS = [5, 100].filter((point) => point < STEPS)

interface Measured {
  /** Milliseconds of each step that were not the model's. */
  between: number[]
  /** What each step added to the history. */
  added: { events: number; bytes: number }[]
}

interface Place {
  address: string
  namespace: string
  databaseUrl: string
  model: Helper
  home: string
}

/** The product's own loop: the main Session with its whole prompt, its ledger and its guards. */
async function ours({ address, namespace, databaseUrl, model, home }: Place): Promise<Measured> {
  const { url } = await model.ask<ModelRecord>({ steps: STEPS })
  const parsed = parseSettings({}, { worker: { rollAfter: 1_000_000 } })
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  const free = { port: 0, chosen: true }
  const program = await startProgram({
    settings: { ...parsed.settings, panelPort: free, webhookPort: free },
    databaseUrl,
    temporal: { address, namespace },
    home,
    host: 'bench',
    github: null,
    model: { provider: 'openai-compatible', name: 'bench', mainName: 'bench', baseUrl: url, apiKey: null, contextTokens: 1_000_000 },
    sandbox: createSandbox({ mode: 'off', allowedHosts: [] }),
    log: pino({ level: 'error' }, process.stderr),
  })
  const ledger = connect(databaseUrl, { size: 1, onLost: (error) => note(error.message) })
  await transaction(ledger.db, (tx) => deliver(tx, [{ address: 'main', kind: 'notice', body: 'begin' }]))
  const ended = () => ledger.db.selectFrom('step').select('step').where('outcome', '=', 'end').executeTakeFirst()
  while (!(await ended())) await sleep(100)
  const measured = await readMeasured(address, namespace, 'main', model)
  await ledger.close()
  await program.stop()
  return measured
}

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

async function bare({ address, namespace, databaseUrl, model }: Place): Promise<Measured> {
  const { url } = await model.ask<ModelRecord>({ steps: STEPS })
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  await pool.query('create table bare (session text, step int, kind text, body text, primary key (session, step, kind))')
  const connection = await NativeConnection.connect({ address })
  const common = { connection, namespace }
  const workers = await Promise.all([
    Worker.create({ ...common, taskQueue: 'bare', workflowsPath: fileURLToPath(new URL('bare-workflow.ts', import.meta.url)) }),
    Worker.create({ ...common, taskQueue: 'bare-activities', activities: bareActivities(pool, url) }),
  ])
  const running = workers.map((worker) => worker.run())
  const clientConnection = await Connection.connect({ address })
  const client = new Client({ connection: clientConnection, namespace })
  await client.workflow.execute('bare', { taskQueue: 'bare', workflowId: 'bare', args: ['bare'] })
  const measured = await readMeasured(address, namespace, 'bare', model)
  for (const worker of workers) worker.shutdown()
  await Promise.all(running)
  await Promise.all([connection.close(), clientConnection.close(), pool.end()])
  return measured
}

async function readMeasured(address: string, namespace: string, workflow: string, model: Helper): Promise<Measured> {
  const { between } = await model.ask<ModelRecord>({})
  const connection = await Connection.connect({ address })
  const history = await new Client({ connection, namespace }).workflow.getHandle(workflow).fetchHistory()
  await connection.close()
  const added: Measured['added'] = []
  for (const event of history.events ?? []) {
    if (/modelStep$/i.test(event.activityTaskScheduledEventAttributes?.activityType?.name ?? '')) added.push({ events: 0, bytes: 0 })
    const step = added.at(-1)
    if (!step) continue
    step.events += 1
    step.bytes += proto.temporal.api.history.v1.HistoryEvent.encode(event).finish().length
  }
  return { between, added }
}

async function main(): Promise<void> {
  const home = scratch()
  const postgres = await benchPostgres(home)
  const temporal = await startTemporal({ home, say: note })
  const model = await helper('model.ts')
  const loops = { ours, bare }
  const found: Record<keyof typeof loops, Measured[]> = { ours: [], bare: [] }
  for (let run = 1; run <= RUNS; run++) {
    for (const name of ['ours', 'bare'] as const) {
      const { ownerUrl, appUrl } = await postgres.database(`${name}_${run}`)
      const namespace = `${name}-${run}`
      const connection = await Connection.connect({ address: temporal.address })
      await ensureNamespace(connection, namespace, SEARCH_ATTRIBUTES)
      await connection.close()
      const databaseUrl = name === 'bare' ? ownerUrl : appUrl
      const measured = await loops[name]({ address: temporal.address, namespace, databaseUrl, model, home })
      found[name].push(measured)
      note(`${name}, run ${run}: ${median(measured.between.slice(WARM)).toFixed(1)} ms a step`)
    }
  }
  await Promise.all([model.end(), postgres.stop(), temporal.stop()])

  const of = (name: keyof typeof loops, figure: (measured: Measured) => number) => median(found[name].map(figure))
  const steady = ({ between }: Measured) => between.slice(WARM)
  const around =
    (point: number) =>
    ({ between }: Measured) =>
      median(between.slice(Math.max(point - 3, 0), point + 2))
  const rows: [string, (measured: Measured) => number, number][] = [
    [`ms a step, median of steps ${WARM + 1}–${STEPS}`, (each) => median(steady(each)), 1],
    ['ms a step, p95', (each) => quantile(steady(each), 0.95), 1],
    ...POINTS.flatMap((point): [string, (measured: Measured) => number, number][] => [
      [`ms at step ${point} (median of five)`, around(point), 1],
      [`events that step ${point} adds`, ({ added }) => added[point - 1]!.events, 0],
      [`bytes that step ${point} adds`, ({ added }) => added[point - 1]!.bytes, 0],
    ]),
  ]
  printTable(
    `A model step with one tool call, without the model's time: the main Session's beside two bare activities, ${STEPS} steps on one Temporal and one Postgres`,
    ['', 'Switchyard', 'bare loop', 'ratio'],
    rows.map(([what, figure, digits]) => {
      const [mine, theirs] = [of('ours', figure), of('bare', figure)]
      return [what, mine.toFixed(digits), theirs.toFixed(digits), `${(mine / theirs).toFixed(2)}×`]
    }),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
