/**
 * `switchyard start`: everything in one go. Services that are not configured are embedded; with no GitHub configured the
 * rehearsal is staged and one issue comes in through the public webhook address.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import type { GithubSettings, ModelSettings, Settings } from '../core/deployment/settings.ts'
import { connect, type Database } from '../ledger/database.ts'
import { expected as fixExpected, fixFailingTest, world as fixWorld } from '../rehearsal/scenarios/fix-failing-test.ts'
import { expected as secondExpected, secondServer, world as secondWorld } from '../rehearsal/scenarios/second-server.ts'
import { type Expectation, faultsOf, type World } from '../rehearsal/scenarios/world.ts'
import { openIssue, operateOver, pointHook, readEnd, setStage } from '../rehearsal/stage.ts'
import { takeHome } from '../worker/embedded/home.ts'
import { homeFolder, readSettings } from '../worker/environment.ts'
import { hostName, remembered } from '../worker/host.ts'
import { type Outside, startOutside } from '../worker/outside.ts'
import { startProgram } from '../worker/program.ts'
import { startServices } from '../worker/services.ts'
import { follow } from './live/follow.ts'
import { renderTicketEvents } from './live/render.ts'
import { styleFor } from './live/style.ts'
import { whatNext } from './live/what-next.ts'
import { openSandbox } from './sandbox.ts'

export interface StartOptions {
  /** End after the rehearsal, with 0 only if its end is correct. */
  once?: boolean
  scenario?: string | undefined
}

/** The rehearsal's scenarios by the name that `--scenario` takes. */
const REHEARSALS: Readonly<Record<string, { world: World; expected: readonly Expectation[] }>> = {
  [fixFailingTest.name]: { world: fixWorld, expected: fixExpected },
  [secondServer.name]: { world: secondWorld, expected: secondExpected },
}

const COMMAND = 'npx switchyard'
/** A process that was killed a moment ago may still be letting go of the state folder. */
const PATIENCE_MS = 15_000

export async function start({ once = false, scenario = fixFailingTest.name }: StartOptions): Promise<number> {
  const began = performance.now()
  const say = (line: string) => console.log(`switchyard: ${line}`)
  const parsed = readSettings()
  if ('faults' in parsed) return refuseFaults(parsed.faults)
  const { settings } = parsed
  const rehearsal = REHEARSALS[scenario]
  if (!rehearsal) return refuse(`there is no scenario "${scenario}"; there are ${Object.keys(REHEARSALS).join(', ')}`)
  if (once && settings.github)
    return refuse('--once runs the rehearsal, and GitHub is configured: unset GITHUB_APP_ID and GITHUB_TOKEN first')

  const stopping = new AbortController()
  // the first says stop, the second that it shall not take its time
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()))
  process.once('disconnect', () => stopping.abort()) // npm, or whoever started us, is gone
  process.channel?.unref()

  const closers: (() => Promise<unknown> | unknown)[] = []
  try {
    const home = openHome(homeFolder(settings.home), once)
    const lock = await takeHome(home, { patience: PATIENCE_MS })
    closers.push(() => lock.release())
    return await run({ settings, home, once, rehearsal, say, stopping: stopping.signal, closers, began })
  } catch (error) {
    if (stopping.signal.aborted) return 130
    return refuse(error instanceof Error ? error.message : String(error))
  } finally {
    if (closers.length > 1) say('stopping …')
    for (const close of closers.reverse()) await close()
  }
}

interface Run {
  settings: Settings
  home: string
  once: boolean
  rehearsal: { world: World; expected: readonly Expectation[] }
  say: (line: string) => void
  stopping: AbortSignal
  closers: (() => Promise<unknown> | unknown)[]
  began: number
}

async function run({ settings, home, once, rehearsal, say, stopping, closers, began }: Run): Promise<number> {
  const services = await startServices(settings, home, say)
  closers.push(services.stop)
  const needsOutside = !settings.github || !settings.model
  const outside = needsOutside ? await startOutside(join(home, 'rehearsal')) : null
  if (outside) closers.push(outside.stop)
  const secret = outside ? rememberedSecret(home) : ''
  const staged =
    settings.github === null && outside ? await setStage(operateOver(outside.github.url), rehearsal.world, outside.github, secret) : null
  const sandbox = await openSandbox(settings, say)
  closers.push(() => sandbox.close())
  stopping.throwIfAborted()

  const program = await startProgram({
    settings,
    databaseUrl: services.databaseUrl,
    temporal: services.temporal,
    home,
    host: hostName(home),
    github: settings.github ?? (staged as GithubSettings),
    model: settings.model ?? scriptedModel(outside!),
    sandbox,
    log: openLog(settings, home),
  })
  closers.push(program.stop)
  const ledger = connect(services.databaseUrl, { size: 4, onLost: () => undefined })
  closers.push(ledger.close)
  say(`ready after ${((performance.now() - began) / 1000).toFixed(1)} s`)
  say(
    `webhooks ${program.servers.webhookUrl}/webhooks/github · health ${program.servers.panelUrl}/healthz · Temporal UI ${services.temporal.uiUrl ?? 'at your server'}`,
  )

  const broken = Promise.race([
    services.died,
    ...(outside ? [outside.died.then((words) => `the rehearsal's outside world ended: ${words}`)] : []),
    program.ended.then(() => 'the workers ended'),
  ])
  const stopped = new Promise<null>((resolve) => stopping.addEventListener('abort', () => resolve(null), { once: true }))
  if (!staged || !outside) return waitForEnd(stopped, broken)

  const operate = operateOver(outside.github.url)
  await pointHook(operate, rehearsal.world, program.servers.webhookUrl!, secret)
  const told = tellStory(ledger.db, stopping)
  closers.push(told.stop)
  const issue = await openIssue(operate, rehearsal.world)
  if (!issue.isNew) say('the rehearsal goes on where it was; its issue was opened before')
  const done = finished(ledger.db, stopping)
  const first = await Promise.race([done, broken, stopped])
  if (first === null) return 130
  if (typeof first === 'string') return refuse(first)
  await told.stop()

  const end = await readEnd(operate, rehearsal.world, outside.github.apiUrl, issue.number, await reportsOf(ledger.db))
  const faults = faultsOf(rehearsal.expected, end)
  for (const fault of faults) console.error(`switchyard: the end is not right: ${fault}`)
  const pull = await ledger.db.selectFrom('pullRequest').select(['url', 'ticket']).orderBy('id', 'desc').limit(1).executeTakeFirst()
  console.log(
    `\n${whatNext(
      {
        pullRequestUrl: pull?.url ?? null,
        issueUrl: `${outside.github.url}/${rehearsal.world.repository.fullName}/issues/${issue.number}`,
        temporalUi: services.temporal.uiUrl,
        panel: null,
        ticket: pull ? `T-${pull.ticket}` : null,
        session: pull ? `t${pull.ticket}-1` : null,
        command: COMMAND,
        staysUp: !once,
      },
      styleFor(process.stdout, process.env, Date.now()),
    )}\n`,
  )
  if (once) {
    say(
      faults.length === 0
        ? 'the rehearsal ended as it should: the pull request exists, is correct and was reported'
        : 'the rehearsal did not end as it should',
    )
    return faults.length === 0 ? 0 : 1
  }
  return waitForEnd(stopped, broken)
}

async function waitForEnd(stopped: Promise<null>, broken: Promise<string>): Promise<number> {
  const words = await Promise.race([stopped, broken])
  return words === null ? 0 : refuse(words)
}

/** A run that ends by itself starts from nothing, beside whatever else the state folder holds. */
function openHome(home: string, once: boolean): string {
  if (!once) return home
  const fresh = join(home, 'once')
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true, mode: 0o711 })
  return fresh
}

/** The rehearsal's webhook secret: the offline GitHub keeps it in its state, so it is kept here too. */
function rememberedSecret(home: string): string {
  return remembered(join(home, 'rehearsal-secret'), () => randomBytes(24).toString('hex'))
}

function scriptedModel({ modelUrl }: Outside): ModelSettings {
  return { provider: 'openai-compatible', name: 'scripted', mainName: 'scripted', baseUrl: modelUrl, apiKey: null, contextTokens: 128_000 }
}

/** To a file: the terminal tells the story. */
function openLog(settings: Settings, home: string): pino.Logger {
  return pino({ level: settings.logLevel }, pino.destination({ dest: join(home, 'switchyard.log'), mkdir: true, sync: false }))
}

function tellStory(db: Database, stopping: AbortSignal): { stop(): Promise<void> } {
  const stop = new AbortController()
  const style = styleFor(process.stdout, process.env, Date.now())
  const following = follow(
    db,
    new Date(Date.now() - 1_000),
    (event) => console.log(renderTicketEvents(event, style)),
    AbortSignal.any([stop.signal, stopping]),
  )
  return {
    async stop() {
      stop.abort()
      await following
    },
  }
}

/** The Ticket has reported its end, and nothing waits to be read: the story is told. */
async function finished(db: Database, stopping: AbortSignal): Promise<true> {
  while (!stopping.aborted) {
    const last = await db
      .selectFrom('report')
      .select('status')
      .where('status', 'in', ['done', 'cannot_complete', 'yielded'])
      .limit(1)
      .executeTakeFirst()
    const unread = await db
      .selectFrom('inbox')
      .select('id')
      .where('session', 'is', null)
      .where('dropped', 'is', null)
      .limit(1)
      .executeTakeFirst()
    const working = await db.selectFrom('ticket').select('id').where('state', '=', 'working').limit(1).executeTakeFirst()
    const alarm = await db.selectFrom('alarm').select('id').where('endedAt', 'is', null).limit(1).executeTakeFirst()
    if ((last || alarm) && !unread && !working) return true
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return true
}

async function reportsOf(db: Database) {
  const rows = await db
    .selectFrom('report')
    .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
    .select(['report.status', 'pullRequest.number'])
    .orderBy('report.id')
    .execute()
  return rows.map(({ status, number }) => ({ status, pullRequest: number }))
}

function refuse(sentence: string): number {
  console.error(`switchyard: ${sentence}`)
  return 1
}

function refuseFaults(faults: readonly { name: string; message: string }[]): number {
  const width = Math.max(...faults.map(({ name }) => name.length))
  console.error(`switchyard: ${faults.length} problem${faults.length === 1 ? '' : 's'} in the configuration`)
  for (const { name, message } of faults) console.error(`  ${name.padEnd(width)}  ${message}`)
  return 1
}
