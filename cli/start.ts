/**
 * `switchyard start`: everything in one go. Services that are not configured are embedded; with no GitHub configured the
 * rehearsal is staged and one issue comes in through the public webhook address.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import type { GithubSettings, ModelSettings, Settings } from '../core/deployment/settings.ts'
import { connect, type Database } from '../ledger/database.ts'
import { expected as fixExpected, fixFailingTest, world as fixWorld } from '../rehearsal/scenarios/fix-failing-test.ts'
import { expected as secondExpected, secondServer, world as secondWorld } from '../rehearsal/scenarios/second-server.ts'
import { type Expectation, faultsOf, type World } from '../rehearsal/scenarios/world.ts'
import { openIssue, operateOver, pointHook, readEnd, setStage } from '../rehearsal/stage.ts'
import { type Closer, closeAll } from '../worker/close-all.ts'
import { takeHome } from '../worker/embedded/home.ts'
import { homeFolder, readSettings } from '../worker/environment.ts'
import { hostName, remembered } from '../worker/host.ts'
import { type Outside, startOutside } from '../worker/outside.ts'
import { startProgram } from '../worker/program.ts'
import { startServices } from '../worker/services.ts'
import { databaseProblem } from './ledger.ts'
import { follow } from './live/follow.ts'
import { renderTicketEvents } from './live/render.ts'
import { styleFor } from './live/style.ts'
import { whatNext } from './live/what-next.ts'
import { onceFolder, removeDeadRuns, removeRun } from './once.ts'
import { LIMIT_MINUTES, rehearsalEnd } from './rehearsal.ts'
import { openSandbox } from './sandbox.ts'
import { complain, faultsText } from './terminal.ts'

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
  if ('faults' in parsed) return refuse(faultsText(parsed.faults))
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

  const base = homeFolder(settings.home)
  const home = once ? onceFolder(base, process.pid) : base
  const closers: Closer[] = []
  const code = await startIn({ settings, base, home, once, rehearsal, say, stopping: stopping.signal, closers, began })
  if (closers.length > 1) say('stopping …')
  try {
    await closeAll(closers)
    if (once && code !== 1) await removeRun(home)
  } catch (error) {
    complain(`not everything ended as it should: ${(error as Error).message}`)
    process.exit(1)
  }
  if (once && code === 1 && existsSync(home)) say(`the state of this run is kept in ${home} until the next start`)
  return code === 1 ? process.exit(1) : code // what gave up may never let go of the process, and nobody starts again what has not ended
}

async function startIn({ base, ...given }: Run & { base: string }): Promise<number> {
  const { settings, home, say, stopping, closers } = given
  try {
    await removeDeadRuns(base, say)
    const lock = await takeHome(home, { patience: PATIENCE_MS })
    closers.push(() => lock.release())
    return await run(given)
  } catch (error) {
    return stopping.aborted ? 130 : refuse(sentenceOf(error, settings, home))
  }
}

interface Run {
  settings: Settings
  home: string
  once: boolean
  rehearsal: { world: World; expected: readonly Expectation[] }
  say: (line: string) => void
  stopping: AbortSignal
  closers: Closer[]
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
  stopping.throwIfAborted() // a signal during the start is no event any more for who listens from here on
  const ledger = connect(services.databaseUrl, { size: 4, onLost: () => undefined })
  closers.push(ledger.close)
  say(`ready after ${((performance.now() - began) / 1000).toFixed(1)} s`)
  say(
    `webhooks ${program.servers.webhookUrl}/webhooks/github · health ${program.servers.panelUrl}/healthz · Temporal UI ${services.temporal.uiUrl ?? 'at your server'}`,
  )

  const broken = Promise.race([
    services.died,
    ...(outside ? [outside.died.then((words) => `the rehearsal's outside world ended: ${words}`)] : []),
    program.ended.then(
      () => 'the workers ended',
      (error: Error) => `the workers gave up: ${error.message}`,
    ),
  ])
  const stopped = new Promise<null>((resolve) => stopping.addEventListener('abort', () => resolve(null), { once: true }))
  if (!staged || !outside) return waitForEnd(stopped, broken)

  const operate = operateOver(outside.github.url)
  await pointHook(operate, rehearsal.world, program.servers.webhookUrl!, secret)
  const told = tellStory(ledger.db, stopping)
  closers.push(told.stop)
  const issue = await openIssue(operate, rehearsal.world)
  if (!issue.isNew) say('the rehearsal goes on where it was; its issue was opened before')
  const over = rehearsalEnd(ledger.db, stopping).then((end) => ({ end }))
  const first = await Promise.race([over, broken, stopped])
  if (first === null || stopping.aborted) return 130
  if (typeof first === 'string') return refuse(first)
  await told.stop()
  if (first.end === 'quiet') complain('the work came to rest without a Report or an alarm')
  if (first.end === 'too long') complain(`the rehearsal did not end within ${LIMIT_MINUTES} minutes, and is not waited for any longer`)

  const end = await readEnd(operate, rehearsal.world, outside.github.apiUrl, issue.number, await reportsOf(ledger.db))
  const faults = faultsOf(rehearsal.expected, end)
  for (const fault of faults) complain(`the end is not right: ${fault}`)
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
    const isRight = faults.length === 0 && first.end === 'told'
    say(
      isRight
        ? 'the rehearsal ended as it should: the pull request exists, is correct and was reported'
        : 'the rehearsal did not end as it should',
    )
    return isRight ? 0 : 1
  }
  return waitForEnd(stopped, broken)
}

async function waitForEnd(stopped: Promise<null>, broken: Promise<string>): Promise<number> {
  const words = await Promise.race([stopped, broken])
  return words === null ? 0 : refuse(words)
}

/** The rehearsal's webhook secret: the offline GitHub keeps it in its state, so it is kept here too. */
function rememberedSecret(home: string): string {
  return remembered(join(home, 'rehearsal-secret.json'), () => randomBytes(24).toString('hex'))
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

async function reportsOf(db: Database) {
  const rows = await db
    .selectFrom('report')
    .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
    .select(['report.status', 'pullRequest.number'])
    .orderBy('report.id')
    .execute()
  return rows.map(({ status, number }) => ({ status, pullRequest: number }))
}

/** A database's error is told as what people can mend; one of the embedded database is not theirs to mend in DATABASE_URL. */
function sentenceOf(error: unknown, { database }: Settings, home: string): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  // other errors have causes too, which are not the database's
  const origin = message.startsWith('DATABASE_URL: ') ? cause : error
  const problem = databaseProblem(origin, database?.adminUrl ?? 'postgres://127.0.0.1')
  if (problem === null) return message
  return database ? problem : `the embedded Postgres does not serve (${message}): look into ${join(home, 'postgres.log')}`
}

function refuse(sentence: string): number {
  complain(sentence)
  return 1
}
