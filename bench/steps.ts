/**
 * What a model step with one tool call costs: time around the model, and what it leaves in the Temporal history. Beside it, on the
 * same servers, the barest loop of two activities and the loop of `@temporalio/ai-sdk`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { pino } from 'pino'
import { createSandbox } from '../activities/workspace/sandbox.ts'
import { parseSettings } from '../core/deployment/settings.ts'
import { SEARCH_ATTRIBUTES } from '../core/ticket/search-attributes.ts'
import { connect, transaction } from '../ledger/database.ts'
import { deliver } from '../ledger/inbox.ts'
import { storeTexts } from '../ledger/texts.ts'
import { ensureNamespace } from '../worker/embedded/temporal-namespace.ts'
import { startProgram } from '../worker/program.ts'
import { bare } from './bare.ts'
import { benchPostgres, benchTemporal, helper, median, note, printTable, quantile, RUNS, scratch } from './house.ts'
import type { ModelRecord } from './model.ts'
import { peer } from './peers.ts'

const STEPS = Number(process.env.STEPS ?? 205)
/** The first ones carry the warm-up. */
const WARM = 10
const POINTS = [5, 50, 200].filter((point) => point + 2 <= STEPS)

/** Where a loop runs. Its workflow is called `main`. */
export interface Place {
  address: string
  namespace: string
  ownerUrl: string
  appUrl: string
  modelUrl: string
}

interface Measured {
  /** Milliseconds of each step that were not the model's. */
  between: number[]
  /** Bytes that the model was sent at each step. */
  sizes: number[]
  /** What each step added to the history. */
  added: { events: number; bytes: number }[]
}

const LOOPS = { ours, bare, aisdk }
type Name = keyof typeof LOOPS

/** What a step's tool call brings, in every loop: the Policy, which the main Session reads again and again. */
const RESULT_BYTES = 2_000
const PROMPT_BYTES = 16_000

/** The product's own loop: the main Session with its whole prompt, its ledger and its guards. */
async function ours({ address, namespace, ownerUrl, appUrl, modelUrl }: Place): Promise<void> {
  await writePolicy(ownerUrl)
  const parsed = parseSettings({}, { worker: { rollAfter: 1_000_000 } })
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  const free = { port: 0, chosen: true }
  const program = await startProgram({
    settings: { ...parsed.settings, panelPort: free, webhookPort: free },
    databaseUrl: appUrl,
    temporal: { address, namespace },
    home,
    host: 'bench',
    github: null,
    model: { provider: 'openai-compatible', name: 'bench', mainName: 'bench', baseUrl: modelUrl, apiKey: null, contextTokens: 1_000_000 },
    sandbox: createSandbox({ mode: 'off', allowedHosts: [] }),
    log: pino({ level: 'error' }, process.stderr),
  })
  const ledger = connect(appUrl, { size: 1, onLost: (error) => note(error.message) })
  await transaction(ledger.db, (tx) => deliver(tx, [{ address: 'main', kind: 'notice', body: 'begin' }]))
  const ended = () => ledger.db.selectFrom('step').select('step').where('outcome', '=', 'end').executeTakeFirst()
  while (!(await ended())) await sleep(100)
  await ledger.close()
  await program.stop()
}

async function writePolicy(ownerUrl: string): Promise<void> {
  const owner = connect(ownerUrl, { size: 1, onLost: (error) => note(error.message) })
  const rule = { id: 'R-1', name: 'A rule', instruction: 'x'.repeat(RESULT_BYTES - 60), enabled: true }
  const document = JSON.stringify({ mode: 'explicit', rules: [rule] })
  const [sha] = await storeTexts(owner.db, [document], new Set())
  const row = { version: 2, predecessor: 1, origin: 'panel', actor: 'bench', note: null, restored: null } as const
  await owner.db
    .insertInto('policyVersion')
    .values({ ...row, document: Buffer.from(sha!, 'hex') })
    .execute()
  await owner.close()
}

/** As the package documents it. */
async function aisdk({ address, namespace, modelUrl }: Place): Promise<void> {
  const { outcome } = await theirs.ask<{ outcome: string }>({
    ...{ address, namespace, modelUrl, steps: STEPS, workflowId: 'main' },
    ...{ instructions: 'x'.repeat(PROMPT_BYTES), result: 'x'.repeat(RESULT_BYTES) },
  })
  note(`ai-sdk ${outcome}`)
}

async function readMeasured({ address, namespace }: Place): Promise<Measured> {
  const { between, sizes } = await model.ask<ModelRecord>({})
  // a history that holds the conversation is larger than a client receives unasked
  const connection = await Connection.connect({ address, channelArgs: { 'grpc.max_receive_message_length': -1 } })
  const history = await new Client({ connection, namespace }).workflow.getHandle('main').fetchHistory()
  await connection.close()
  const added: Measured['added'] = []
  for (const event of history.events ?? []) {
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name ?? ''
    if (/modelStep$|^invokeModel$/i.test(activity)) added.push({ events: 0, bytes: 0 })
    const step = added.at(-1)
    if (!step) continue
    step.events += 1
    step.bytes += proto.temporal.api.history.v1.HistoryEvent.encode(event).finish().length
  }
  return { between, sizes, added }
}

const home = scratch()
const theirs = await peer('aisdk/loop.mjs')
const postgres = await benchPostgres(home)
const temporal = await benchTemporal(home)
const model = await helper('model.ts')
const found: Record<Name, Measured[]> = { ours: [], bare: [], aisdk: [] }
for (let run = 1; run <= RUNS; run++) {
  for (const name of Object.keys(LOOPS) as Name[]) {
    const { ownerUrl, appUrl } = await postgres.database(`${name}_${run}`)
    const { address } = temporal
    const namespace = `${name}-${run}`
    const connection = await Connection.connect({ address })
    await ensureNamespace(connection, namespace, SEARCH_ATTRIBUTES)
    await connection.close()
    const { url: modelUrl } = await model.ask<ModelRecord>({ steps: STEPS })
    const place = { address, namespace, modelUrl, ownerUrl, appUrl }
    await LOOPS[name](place)
    const measured = await readMeasured(place)
    found[name].push(measured)
    note(
      `${name}, run ${run}: ${median(measured.between.slice(WARM)).toFixed(1)} ms a step, sends ${measured.sizes.at(-1)} bytes at its end`,
    )
  }
}
await Promise.all([model.end(), theirs.end(), postgres.stop(), temporal.stop()])

/** Null: the loop has not come so far. */
type Figure = (measured: Measured) => number | null

const steady = ({ between }: Measured) => between.slice(WARM)
const around =
  (point: number): Figure =>
  ({ between }) =>
    between.length < point + 2 ? null : median(between.slice(point - 3, point + 2))
/** The last step that has a next one: what a loop that was ended in a step has added there is not whole. */
const addedAt = ({ added }: Measured, point: number) => (point < added.length ? added[point - 1]! : null)
const upTo = ({ added }: Measured, point: number) =>
  point < added.length ? added.slice(0, point).reduce((sum, { bytes }) => sum + bytes, 0) / 1024 : null

const ROWS: [string, Figure, number][] = [
  ['steps done', ({ between }) => between.length, 0],
  [`ms a step, median from step ${WARM + 1} on`, (each) => median(steady(each)), 1],
  ['ms a step, p95', (each) => quantile(steady(each), 0.95), 1],
  ...POINTS.flatMap((point): [string, Figure, number][] => [
    [`step ${point}: ms (median of five)`, around(point), 1],
    [`step ${point}: events it adds`, (each) => addedAt(each, point)?.events ?? null, 0],
    [`step ${point}: bytes it adds`, (each) => addedAt(each, point)?.bytes ?? null, 0],
    [`step ${point}: KB of history so far`, (each) => upTo(each, point), 0],
    [`step ${point}: KB sent to the model`, ({ sizes }) => (sizes[point] === undefined ? null : sizes[point] / 1024), 0],
  ]),
]
printTable(
  `A model step with one tool call, without the model's time: the main Session's, two bare activities, \`generateText\` of @temporalio/ai-sdk 1.23; ${STEPS} steps on one Temporal and one Postgres`,
  ['', 'Switchyard', 'bare loop', 'ratio', 'ai-sdk', 'ratio'],
  ROWS.map(([what, figure, digits]) => {
    const [mine, floor, peers] = (['ours', 'bare', 'aisdk'] as const).map((name) => medianOf(found[name].map(figure)))
    const shown = (value: number | null | undefined) => value?.toFixed(digits) ?? 'not reached'
    const ratio = (other: number | null | undefined) => (mine && other ? `${(mine / other).toFixed(2)}×` : '–')
    return [what, shown(mine), shown(floor), ratio(floor), shown(peers), ratio(peers)]
  }),
)

/** Null where a run did not come so far. */
function medianOf(values: (number | null)[]): number | null {
  return values.includes(null) ? null : median(values.filter((value) => value !== null))
}
