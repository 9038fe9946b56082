/**
 * Signed deliveries that are acknowledged in a second, each committed to Postgres first. Beside it the same listener that stores
 * nothing, and plain Probot, which has nowhere to store. Server, Postgres and load share the machine.
 */
import examples from '@octokit/webhooks-examples' with { type: 'json' }
import { pino } from 'pino'
import { connect } from '../ledger/database.ts'
import { createDeliveryStore, type NewDelivery } from '../ledger/deliveries.ts'
import { startServers } from '../server/servers.ts'
import { freePort } from '../worker/embedded/process.ts'
import { benchPostgres, helper, median, note, printTable, RUNS, scratch } from './house.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { peer } from './peers.ts'

const SECONDS = Number(process.env.SECONDS ?? 6)
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 32)
const SECRET = 'a secret of the benchmark'

/** The comment among GitHub's examples that is nearest to an ordinary one's size. */
const comments = (examples as unknown as { name: string; examples: { action?: string }[] }[]).find(({ name }) => name === 'issue_comment')!
const body = comments.examples
  .filter(({ action }) => action === 'created')
  .map((example) => JSON.stringify(example))
  .sort((a, b) => Math.abs(a.length - 10_240) - Math.abs(b.length - 10_240))[0]!

type Store = (delivery: NewDelivery) => Promise<'stored' | 'duplicate'>
type Name = 'stored' | 'not stored' | 'probot'

async function ours(store: Store): Promise<LoadResult> {
  const free = { port: 0, chosen: true }
  const servers = await startServers({
    host: '127.0.0.1',
    panelPort: free,
    webhookPort: free,
    webhookSecrets: [SECRET],
    store,
    isReady: async () => {},
    log: pino({ level: 'fatal' }),
  })
  const result = await measure(`${servers.webhookUrl}/webhooks/github`)
  await servers.close()
  return result
}

async function probot(): Promise<LoadResult> {
  const server = await peer('probot/server.mjs')
  const { url } = await server.ask<{ url: string }>({ secret: SECRET, port: await freePort() })
  const result = await measure(url)
  await server.end()
  return result
}

async function measure(url: string): Promise<LoadResult> {
  const load = await helper('load.ts')
  const order: LoadOrder = { url, secret: SECRET, body, connections: CONNECTIONS, seconds: 2 }
  const forged = await load.ask<LoadResult>({ ...order, secret: 'another one', connections: 1, seconds: 0.1 })
  if (forged.accepted > 0 || forged.refused === 0) throw new Error(`${url} takes forged signatures`)
  await load.ask(order)
  const result = await load.ask<LoadResult>({ ...order, seconds: SECONDS })
  await load.end()
  return result
}

const postgres = await benchPostgres(scratch())
const found: Record<Name, LoadResult[]> = { stored: [], 'not stored': [], probot: [] }
for (let run = 1; run <= RUNS; run++) {
  const { appUrl } = await postgres.database(`ingest_${run}`)
  const ledger = connect(appUrl, { onLost: (error) => note(error.message) })
  const servers: Record<Name, () => Promise<LoadResult>> = {
    probot,
    'not stored': () => ours(async () => 'stored'),
    stored: () => ours(createDeliveryStore(ledger.db)),
  }
  for (const name of ['probot', 'not stored', 'stored'] as const) {
    const result = await servers[name]()
    found[name].push(result)
    note(`${name}, run ${run}: ${(result.accepted / result.seconds).toFixed(0)}/s, refused ${result.refused}`)
  }
  const { count } = await ledger.db
    .selectFrom('delivery')
    .select((of) => of.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const acknowledged = found.stored.at(-1)!.accepted
  if (count < acknowledged) throw new Error(`${acknowledged} deliveries were acknowledged and only ${count} are stored`)
  await ledger.close()
}
await postgres.stop()

const of = (name: Name, figure: (result: LoadResult) => number) => median(found[name].map(figure))
const rows: [string, (result: LoadResult) => number, number][] = [
  ['acknowledged a second', ({ accepted, seconds }) => accepted / seconds, 0],
  ['p50 ms', ({ p50 }) => p50, 1],
  ['p99 ms', ({ p99 }) => p99, 1],
  ['longest ms', ({ longest }) => longest, 1],
  ['refused', ({ refused }) => refused, 0],
]
printTable(
  `Signed issue_comment deliveries of ${body.length} bytes over ${CONNECTIONS} connections for ${SECONDS} s`,
  ['', 'stored in Postgres', 'stored nowhere', 'ratio', 'Probot', 'ratio'],
  rows.map(([what, figure, digits]) => {
    const mine = of('stored', figure)
    const beside = (['not stored', 'probot'] as const).flatMap((name) => {
      const theirs = of(name, figure)
      return [theirs.toFixed(digits), theirs === 0 ? '–' : `${(mine / theirs).toFixed(2)}×`]
    })
    return [what, mine.toFixed(digits), ...beside]
  }),
)
