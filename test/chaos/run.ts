/**
 * Chaos (spec M1–M4, I1–I3, O8): scenario 1 in several Tickets at once while the product's three processes and its two services are
 * killed with SIGKILL at moments drawn from a seed; then what must be true is counted.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { MAIN, ticketScope } from '../../core/ticket/scope.ts'
import { connect, type Database } from '../../ledger/database.ts'
import { migrate } from '../../ledger/migrate.ts'
import { world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { operateOver, pointHook, setStage } from '../../rehearsal/stage.ts'
import { type Closer, closeAll } from '../../worker/close-all.ts'
import { APP_ROLE } from '../../worker/embedded/postgres-roles.ts'
import { freePort } from '../../worker/embedded/process.ts'
import { startOutside } from '../../worker/outside.ts'
import { installWitness } from '../witness.ts'
import { type Invariant, invariants, processesAbout } from './invariants.ts'
import { command, followUp, openIssue, redeliverMissed, steadily } from './people.ts'
import { type Deed, plan, type Victim } from './plan.ts'
import { environment, type Supervised, startServices, supervise } from './processes.ts'

export interface ChaosGiven {
  kills: number
  seed: number
  /** How long all of it may take; then what is not there is missing. */
  minutes: number
  /** Empty, and another user may pass through it: as root, Postgres is another one. */
  folder: string
  say: (line: string) => void
}

/** Issues that are worked on at the same time while there are kills to come. */
const AT_ONCE = 3

export async function runChaos({ kills, seed, minutes, folder, say }: ChaosGiven): Promise<Invariant[]> {
  const until = Date.now() + minutes * 60_000
  const closers: Closer[] = []
  let counted: Invariant[]
  try {
    counted = await run({ kills, seed, until, folder, say, closers })
  } finally {
    await closeAll(closers)
  }
  await until5s(() => processesAbout(folder).length === 0)
  const orphans = processesAbout(folder)
  return [...counted, { name: 'orphan processes', found: orphans.length, wanted: 0, detail: orphans.join('\n') }]
}

interface Run extends Omit<ChaosGiven, 'minutes'> {
  until: number
  closers: Closer[]
}

async function run({ kills, seed, until, folder, say, closers }: Run): Promise<Invariant[]> {
  const services = await startServices(folder, say)
  closers.push(services.postgres.stop, services.temporal.stop)
  const { appUrl, ownerUrl } = services.postgres.first
  await migrate({ adminUrl: ownerUrl, appRole: APP_ROLE })
  await installWitness(ownerUrl)
  const outside = await startOutside(join(folder, 'rehearsal'))
  closers.push(outside.stop)

  const operate = operateOver(outside.github.url)
  const secret = randomBytes(16).toString('hex')
  const github = await setStage(operate, world, outside.github, secret)
  const webhookPort = await freePort()
  await pointHook(operate, world, `http://127.0.0.1:${webhookPort}`, secret)
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o711 })
  const temporal = services.temporal.first
  const env = await environment({ home, databaseUrl: appUrl, temporal, github, modelUrl: outside.modelUrl, webhookPort })
  const parts = {
    server: supervise('server', env, folder),
    worker: supervise('worker', env, folder),
    dispatcher: supervise('dispatcher', env, folder),
  }
  closers.push(...Object.values(parts).map(({ stop }) => stop))
  const victims: Record<Victim, Supervised> = { ...parts, ...services }

  const ledger = connect(appUrl, { size: 3, onLost: () => undefined })
  closers.push(ledger.close)
  const { db } = ledger
  const issues: number[] = []
  const held: { scope: string; deeds: number }[] = []
  const lift = async (due: typeof held) => {
    for (const each of due) {
      held.splice(held.indexOf(each), 1)
      say(`resume ${each.scope}`)
      await command(db, 'resume', each.scope)
    }
  }
  const act = async (deed: Deed, nth: number): Promise<void> => {
    switch (deed.kind) {
      case 'kill':
        say(`kill ${deed.victim}, down for ${deed.downMs} ms`)
        return victims[deed.victim].kill(deed.downMs)
      case 'comment': {
        const issue = issues[Math.floor(deed.pick * issues.length)]!
        say(`comment on #${issue}`)
        return followUp(operate, issue, nth)
      }
      case 'fault':
        say(`GitHub will: ${JSON.stringify(deed.rule)}`)
        return steadily(() => operate('setFaults', { rules: [deed.rule] }))
      case 'pause': {
        const busy = await busyScopes(db)
        const scope = deed.everything ? 'all' : busy[Math.floor(deed.pick * busy.length)]!
        if (held.some((each) => each.scope === scope)) return
        const paused = await command(db, 'pause', scope)
        say(`pause ${scope}${'refused' in paused ? `: ${paused.refused}` : ''}`)
        if (!('refused' in paused)) held.push({ scope, deeds: deed.deeds })
        return
      }
      default:
        return deed satisfies never
    }
  }

  const again = startRedelivering(() => redeliverMissed(db, operate, github), say)
  closers.push(again.stop)
  for (const [nth, { gapMs, deed }] of plan(seed, kills).entries()) {
    if (Date.now() > until) break
    for (const unfinished = await unfinishedIssues(db, issues); unfinished.length < AT_ONCE; ) {
      const issue = await openIssue(operate, issues.length + 1)
      issues.push(issue)
      unfinished.push(issue)
    }
    await sleep(gapMs)
    await act(deed, nth)
    for (const each of held) each.deeds -= 1
    await lift(held.filter(({ deeds }) => deeds < 0))
  }
  await steadily(() => operate('setFaults', { rules: [] }))
  await lift([...held])

  say(`no more kills; ${issues.length} issues are brought to their end`)
  const left = async () => [...(await unfinishedIssues(db, issues)), ...(await notYet(db, operate))]
  while ((await left()).length > 0 && Date.now() < until) await sleep(500)
  say(`${issues.length - (await unfinishedIssues(db, issues)).length} of ${issues.length} issues came to their end`)
  for (const [part, { gaveUp }] of Object.entries(parts))
    if (gaveUp() > 0) say(`the ${part} ended by itself ${gaveUp()} times and was started again`)

  const connection = await Connection.connect({ address: services.temporal.first.address })
  closers.push(() => connection.close())
  const client = new Client({ connection })
  const { apiUrl } = outside.github
  return invariants({ db, client, operate, apiUrl, issues })
}

/** The main Session and the Tickets at work: a pause of one that only waits would prove little. */
async function busyScopes(db: Database): Promise<string[]> {
  const tickets = await steadily(() => db.selectFrom('ticket').select('id').where('state', '=', 'working').orderBy('id').execute())
  return [MAIN, ...tickets.map(({ id }) => ticketScope(id))]
}

/** Issues whose Ticket has not reported its end, or has not ended its turn since. */
async function unfinishedIssues(db: Database, issues: readonly number[]): Promise<number[]> {
  const done = await steadily(() =>
    db
      .selectFrom('report')
      .innerJoin('ticket', 'ticket.id', 'report.ticket')
      .innerJoin('thread', 'thread.id', 'ticket.origin')
      .innerJoin('step', (join) => join.onRef('step.session', '=', 'report.session').onRef('step.step', '>', 'report.step'))
      .select('thread.number')
      .distinct()
      .where('report.status', '=', 'done')
      .where('step.outcome', '=', 'end')
      .execute(),
  )
  return issues.filter((issue) => !done.some(({ number }) => number === issue))
}

/** What is on its way still: events that the ledger has not decided, and rows that nobody has read or sent. */
async function notYet(db: Database, operate: (deed: string) => Promise<{ deliveries: { guid: string }[] }>): Promise<string[]> {
  const { deliveries } = await steadily(() => operate('state'))
  const decided = await steadily(() => db.selectFrom('delivery').select('guid').where('state', '!=', 'pending').execute())
  const unread = await steadily(() =>
    db.selectFrom('inbox').select('address').where('session', 'is', null).where('dropped', 'is', null).execute(),
  )
  const unsent = await steadily(() =>
    db.selectFrom('outbox').select('key').where('state', 'not in', ['confirmed', 'failed', 'dropped']).execute(),
  )
  const known = new Set(decided.map(({ guid }) => guid))
  return [
    ...deliveries.map(({ guid }) => guid).filter((guid) => !known.has(guid)),
    ...unread.map(({ address }) => address),
    ...unsent.map(({ key }) => key),
  ]
}

/** Once a second, as long as the run lasts. */
function startRedelivering(once: () => Promise<string | null>, say: (line: string) => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const loop = async () => {
    while (!stopping.signal.aborted) {
      const outcome = await once().catch((error) => `deliveries cannot be asked for again now: ${error}`)
      if (outcome) say(outcome)
      await sleep(1_000)
    }
  }
  const looping = loop()
  return {
    async stop() {
      stopping.abort()
      await looping
    },
  }
}

async function until5s(done: () => boolean): Promise<void> {
  for (const until = Date.now() + 5_000; !done() && Date.now() < until; ) await sleep(100)
}

/** The run's folder and, as root, the database that lies elsewhere. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
