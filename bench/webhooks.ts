/**
 * Signed deliveries that are acknowledged in a second, each committed to Postgres first. Beside it the same listener that stores
 * nothing. Server, Postgres and load share the machine.
 */
import examples from '@octokit/webhooks-examples' with { type: 'json' }
import { pino } from 'pino'
import { connect } from '../ledger/database.ts'
import { createDeliveryStore, type NewDelivery } from '../ledger/deliveries.ts'
import { startServers } from '../server/servers.ts'
import { benchPostgres, helper, median, note, printTable, RUNS, scratch } from './house.ts'
import type { LoadOrder, LoadResult } from './load.ts'

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

async function measure(store: Store): Promise<LoadResult> {
  const free = { port: 0, chosen: true }
  const servers = await startServers({
    host: '127.0.0.1',
    panelPort: free,
    webhookPort: free,
    webhookSecrets: [SECRET],
    store,
    isReady: async () => {},
    log: pino({ level: 'error' }),
  })
  const load = await helper('load.ts')
  const order: LoadOrder = { url: servers.webhookUrl!, secret: SECRET, body, connections: CONNECTIONS, seconds: 2 }
  await load.ask(order)
  const result = await load.ask<LoadResult>({ ...order, seconds: SECONDS })
  await load.end()
  await servers.close()
  return result
}

const postgres = await benchPostgres(scratch())
const found: Record<'stored' | 'not stored', LoadResult[]> = { stored: [], 'not stored': [] }
for (let run = 1; run <= RUNS; run++) {
  const { appUrl } = await postgres.database(`webhooks_${run}`)
  const ledger = connect(appUrl, { onLost: (error) => note(error.message) })
  const stores: Record<keyof typeof found, Store> = { 'not stored': async () => 'stored', stored: createDeliveryStore(ledger.db) }
  for (const name of ['not stored', 'stored'] as const) {
    const result = await measure(stores[name])
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

const of = (name: keyof typeof found, figure: (result: LoadResult) => number) => median(found[name].map(figure))
const rows: [string, (result: LoadResult) => number, number][] = [
  ['acknowledged a second', ({ accepted, seconds }) => accepted / seconds, 0],
  ['p50 ms', ({ p50 }) => p50, 1],
  ['p99 ms', ({ p99 }) => p99, 1],
  ['longest ms', ({ longest }) => longest, 1],
  ['refused', ({ refused }) => refused, 0],
]
printTable(
  `Signed issue_comment deliveries of ${body.length} bytes over ${CONNECTIONS} connections for ${SECONDS} s`,
  ['', 'stored in Postgres', 'stored nowhere', 'ratio'],
  rows.map(([what, figure, digits]) => {
    const [mine, theirs] = [of('stored', figure), of('not stored', figure)]
    return [what, mine.toFixed(digits), theirs.toFixed(digits), theirs === 0 ? '–' : `${(mine / theirs).toFixed(2)}×`]
  }),
)
