/**
 * What Tickets cost that do nothing: memory and CPU of the product, and what it asks of Postgres. A thousand that ended their turn,
 * then a hundred more that people hold while messages wait for them; beside an empty installation. At the end the product is killed
 * and started again, and the hundred must still be held.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import pg from 'pg'
import { parseSettings } from '../core/deployment/settings.ts'
import { MAIN, ticketScope } from '../core/ticket/scope.ts'
import { SEARCH_ATTRIBUTES } from '../core/ticket/search-attributes.ts'
import { type Connected, connect, type Database, transaction } from '../ledger/database.ts'
import { delivered, judged, notice } from '../ledger/fixture.ts'
import { takeIn } from '../ledger/intake.ts'
import { recordCommand } from '../ledger/pauses.ts'
import { startTicket } from '../ledger/tickets.ts'
import { ensureNamespace } from '../worker/embedded/temporal-namespace.ts'
import { benchPostgres, benchTemporal, type Helper, helper, median, note, printTable, RUNS, scratch } from './house.ts'
import type { ModelRecord } from './model.ts'
import type { ProgramOrder, Taken } from './program.ts'

const IDLE = Number(process.env.IDLE ?? 1_000)
const PAUSED = Number(process.env.PAUSED ?? 100)
const SECONDS = Number(process.env.SECONDS ?? 60)
/** GitHub is on, so that all loops run, and nobody asks it anything. */
const NOWHERE = 'http://127.0.0.1:9'
/** Until what a turn left behind in Temporal and Postgres has calmed down. */
const CALM_MS = 10_000

interface Measured {
  heapBytes: number
  residentBytes: number
  /** Milliseconds in a second. */
  cpu: number
  transactions: number
  databaseMs: number
  rowsRead: number
}
interface Held {
  held: number
  requests: number
  wentOn: number
}
interface Place {
  ledger: Connected
  owner: pg.Pool
  client: Client
  model: Helper
  start(): Promise<Helper>
}

async function measureRun(place: Place): Promise<Record<Phase, Measured> & { after: Held }> {
  const { ledger, start } = place
  let program = await start()
  await notice(ledger.db, MAIN)
  await allIdle(place, 0)
  const empty = await measure(place, program)

  await startTickets(place, 1, IDLE)
  const idle = await measure(place, program)

  const held = await startTickets(place, IDLE + 1, PAUSED)
  for (const ticket of held) {
    const command = { kind: 'pause', scope: ticketScope(ticket), actor: 'bench', transport: 'cli', reason: 'bench' } as const
    await transaction(ledger.db, (tx) => recordCommand(tx, command))
    await notice(ledger.db, ticketScope(ticket))
  }
  while ((await countHeld(place, held)) < held.length) await sleep(500)
  const paused = await measure(place, program)

  await program.kill()
  program = await start()
  const after = await heldAfterKill(place, held)
  await program.end()
  return { empty, idle, paused, after }
}

/** Each takes one turn and ends it. */
async function startTickets(place: Place, from: number, count: number): Promise<number[]> {
  const tickets: number[] = []
  for (let number = from; number < from + count; number++) tickets.push(await startOne(place.ledger.db, number))
  await allIdle(place, from - 1 + count)
  return tickets
}

/** All in one transaction: the product runs, and would take in the delivery itself and show the candidate to the main Session. */
async function startOne(db: Database, issue: number): Promise<number> {
  const said = await judged(db, { number: issue })
  return transaction(db, async (tx) => {
    const [taken] = (await takeIn(tx, await delivered(tx), [said])) ?? []
    const { id: candidate } = await tx.selectFrom('candidate').select('id').where('trigger', '=', taken!.trigger).executeTakeFirstOrThrow()
    const result = await startTicket(tx, { candidate, title: 'Fix it', note: '', decidedBy: 'bench' })
    if ('refused' in result) throw new Error(result.refused)
    // as if the main Session had read the card in its first step
    await tx.updateTable('inbox').set({ session: 'main-1', step: 1 }).where('candidate', '=', candidate).execute()
    // it stands on a commit already: nothing is fetched
    await tx
      .updateTable('session')
      .set({ baseCommit: 'a'.repeat(40) })
      .where('ticket', '=', result.ticket)
      .execute()
    return result.ticket
  })
}

async function allIdle({ ledger }: Place, tickets: number): Promise<void> {
  for (;;) {
    const unread = ledger.db.selectFrom('inbox').select('id').where('session', 'is', null).where('dropped', 'is', null).limit(1)
    const last = await ledger.db
      .selectFrom('step')
      .distinctOn('session')
      .select(['session', 'outcome'])
      .orderBy('session')
      .orderBy('step', 'desc')
      .execute()
    const ended = last.filter(({ outcome }) => outcome === 'end').length
    if (ended === tickets + 1 && !(await unread.executeTakeFirst())) return
    await sleep(500)
  }
}

async function measure({ owner }: Place, program: Helper): Promise<Measured> {
  await sleep(CALM_MS)
  const [began, before] = [await program.ask<Taken>({}), await counters(owner)]
  await sleep(SECONDS * 1000)
  const [taken, after] = [await program.ask<Taken>({}), await counters(owner)]
  const aSecond = (name: keyof typeof after) => (after[name] - before[name]) / SECONDS
  const { memory } = await program.ask<Taken>({ memory: true })
  return {
    ...memory!,
    cpu: (taken.cpuMs - began.cpuMs) / SECONDS,
    transactions: aSecond('transactions'),
    databaseMs: aSecond('milliseconds'),
    rowsRead: aSecond('rows'),
  }
}

/** What Postgres itself has counted for this database; in a loop that finds nothing to do every query is its own transaction. */
async function counters(owner: pg.Pool) {
  const { rows } = await owner.query<{ transactions: number; milliseconds: number; rows: number }>(
    `select (xact_commit + xact_rollback)::float8 as transactions, active_time as milliseconds, tup_returned::float8 as rows
     from pg_stat_database where datname = current_database()`,
  )
  return rows[0]!
}

async function countHeld({ client }: Place, tickets: number[]): Promise<number> {
  const asked = tickets.map((ticket) => client.workflow.getHandle(ticketScope(ticket)).query<{ held: boolean }>('status'))
  return (await Promise.allSettled(asked)).filter((answer) => answer.status === 'fulfilled' && answer.value.held).length
}

/** The messages that wait must wait, and go on once people say so: then it was the hold that kept them. */
async function heldAfterKill(place: Place, tickets: number[]): Promise<Held> {
  const { ledger, model } = place
  const requests = async () => (await model.ask<ModelRecord>({})).sizes.length
  const before = await requests()
  await sleep(CALM_MS)
  const held = await countHeld(place, tickets)
  const asked = (await requests()) - before
  await transaction(ledger.db, async (tx) => {
    for (const ticket of tickets)
      await recordCommand(tx, { kind: 'resume', scope: ticketScope(ticket), actor: 'bench', transport: 'cli', reason: 'bench' })
  })
  await allIdle(place, IDLE + PAUSED)
  return { held, requests: asked, wentOn: (await requests()) - before }
}

const home = scratch()
const postgres = await benchPostgres(home)
const temporal = await benchTemporal(home)
const model = await helper('model.ts')
const connection = await Connection.connect({ address: temporal.address })
type Phase = 'empty' | 'idle' | 'paused'
const found: Awaited<ReturnType<typeof measureRun>>[] = []
for (let run = 1; run <= RUNS; run++) {
  const { ownerUrl, appUrl } = await postgres.database(`idle_${run}`)
  const namespace = `idle-${run}`
  await ensureNamespace(connection, namespace, SEARCH_ATTRIBUTES)
  const { url: baseUrl } = await model.ask<ModelRecord>({ steps: 0 })
  const parsed = parseSettings({}, {})
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  const free = { port: 0, chosen: true }
  const order: ProgramOrder = {
    start: {
      settings: { ...parsed.settings, panelPort: free, webhookPort: free },
      databaseUrl: appUrl,
      temporal: { address: temporal.address, namespace },
      home,
      host: 'bench',
      github: {
        apiUrl: NOWHERE,
        graphqlUrl: NOWHERE,
        gitUrl: NOWHERE,
        auth: { kind: 'token', token: 'none' },
        webhookSecrets: [],
        repositories: [],
      },
      model: { provider: 'openai-compatible', name: 'bench', mainName: 'bench', baseUrl, apiKey: null, contextTokens: 1_000_000 },
    },
  }
  const start = async () => {
    const program = await helper('program.ts')
    await program.ask(order)
    return program
  }
  const onLost = (error: Error) => note(error.message)
  const ledger = connect(appUrl, { size: 4, onLost })
  const owner = new pg.Pool({ connectionString: ownerUrl, max: 1 })
  found.push(await measureRun({ ledger, owner, client: new Client({ connection, namespace }), model, start }))
  note(`run ${run}: ${JSON.stringify(found.at(-1))}`)
  await Promise.all([ledger.close(), owner.end()])
}
await Promise.all([model.end(), connection.close(), postgres.stop(), temporal.stop()])

const of = (phase: Phase, figure: (measured: Measured) => number) => median(found.map((run) => figure(run[phase])))
const rows: [string, (measured: Measured) => number, number, number][] = [
  ['heap in use, MB', ({ heapBytes }) => heapBytes / 2 ** 20, 1, 1024],
  ['resident memory, MB', ({ residentBytes }) => residentBytes / 2 ** 20, 0, 1024],
  ['CPU of the product, ms a second', ({ cpu }) => cpu, 1, 1],
  ['queries a second', ({ transactions }) => transactions, 1, 1],
  ['database, ms a second', ({ databaseMs }) => databaseMs, 2, 1],
  ['rows and index entries read a second', ({ rowsRead }) => rowsRead, 0, 1],
]
printTable(
  `Tickets that do nothing, over ${SECONDS} s: ${IDLE} whose turn has ended, then ${PAUSED} more that are paused while a message waits for each`,
  ['', 'empty', `${IDLE} idle`, 'ratio', 'a Ticket', `and ${PAUSED} paused`, 'ratio'],
  rows.map(([what, figure, digits, smaller]) => {
    const [empty, idle, paused] = (['empty', 'idle', 'paused'] as const).map((phase) => of(phase, figure)) as [number, number, number]
    const ratio = (value: number) => `${(value / empty).toFixed(2)}×`
    const each = smaller === 1 ? '' : `${(((idle - empty) * smaller) / IDLE).toFixed(1)} KB`
    return [what, empty.toFixed(digits), idle.toFixed(digits), ratio(idle), each, paused.toFixed(digits), ratio(paused)]
  }),
)
const after = (figure: keyof Held) => found.map((run) => run.after[figure]).join(', ')
console.log(
  `\nAfter kill -9 and a new start, in each run: held ${after('held')} of ${PAUSED}; the model was asked ${after('requests')} times ` +
    `while they were held, and ${after('wentOn')} times once they were resumed.`,
)
