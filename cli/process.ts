/**
 * `switchyard server | worker | dispatcher`: one part of the program as a process of its own, beside services of the team's own, in
 * any number (spec O8). It runs until SIGTERM, or until its worker gives up; whoever supervises it starts it again. The ledger's
 * shape is `switchyard migrate`'s business: of many processes none must be the one that changes it.
 */
import { pino } from 'pino'
import type { Settings } from '../core/deployment/settings.ts'
import { type Closer, closeAll } from '../worker/close-all.ts'
import { takeHome } from '../worker/embedded/home.ts'
import { homeFolder, readEnvironment, readSettings } from '../worker/environment.ts'
import { hostName } from '../worker/host.ts'
import { type Part, startProgram } from '../worker/program.ts'
import { prepareTemporal } from '../worker/services.ts'
import { configuredTemporal, type TemporalAt } from '../worker/temporal.ts'
import { databaseAnswers, databaseProblem } from './ledger.ts'
import { openSandbox } from './sandbox.ts'
import { complain, type ExitCode, faultsText } from './terminal.ts'

/** A worker that was killed a moment ago may still be letting go of the state folder. */
const PATIENCE_MS = 15_000

export async function runPart(part: Part): Promise<ExitCode> {
  const stopping = stopSignal()
  const closers: Closer[] = []
  const code = await runUntilEnd(part, stopping, closers)
  try {
    await closeAll(closers)
    if (code === 0) return code
  } catch (error) {
    complain(`not everything of the ${part} ended as it should: ${(error as Error).message}`)
  }
  return process.exit(1) // what gave up may never let go of the process, and nobody starts again what has not ended
}

async function runUntilEnd(part: Part, stopping: AbortSignal, closers: Closer[]): Promise<ExitCode> {
  let databaseUrl: string | null = null
  try {
    const configured = configuredFor(part)
    if ('problem' in configured) {
      complain(configured.problem)
      return 1
    }
    databaseUrl = configured.databaseUrl
    return await run(part, configured, stopping, closers)
  } catch (error) {
    if (stopping.aborted) return 0
    const problem = databaseUrl === null ? null : databaseProblem(error, databaseUrl)
    complain(problem ?? (error instanceof Error ? error.message : String(error)))
    return 1
  }
}

interface Configured {
  settings: Settings
  databaseUrl: string
  temporal: TemporalAt
}

/** What a process of its own cannot do without, all of it in one sentence. */
function configuredFor(part: Part): Configured | { problem: string } {
  const parsed = readSettings()
  if ('faults' in parsed) return { problem: faultsText(parsed.faults) }
  const { settings } = parsed
  const temporal = configuredTemporal(readEnvironment())
  const missing = [
    ...(settings.database ? [] : ['DATABASE_URL']),
    ...(temporal ? [] : ['TEMPORAL_ADDRESS']),
    ...(part === 'worker' && !settings.model ? ['MODEL_PROVIDER'] : []),
    ...(part === 'server' && !settings.github ? ['GITHUB_APP_ID or GITHUB_TOKEN'] : []),
  ]
  if (settings.database && temporal && missing.length === 0) return { settings, databaseUrl: settings.database.url, temporal }
  return {
    problem: `switchyard ${part} runs beside services of your own: set ${missing.join(' and ')}, or start everything with npm start`,
  }
}

async function run(part: Part, given: Configured, stopping: AbortSignal, closers: Closer[]): Promise<ExitCode> {
  const { settings, databaseUrl, temporal } = given
  const say = (line: string) => process.stderr.write(`switchyard: ${line}\n`)
  // a server stores deliveries whether Temporal answers or not, and answers 503 until the ledger takes them
  if (part !== 'server') await prepareTemporal(temporal)
  const answers = await databaseAnswers(databaseUrl)
  if ('problem' in answers) say(`${answers.problem}; it is tried again until it answers`)
  const home = homeFolder(settings.home)
  if (part === 'worker') {
    const lock = await takeHome(home, { patience: PATIENCE_MS })
    closers.push(() => lock.release())
  }
  const sandbox = part === 'worker' ? await openSandbox(settings, say) : null
  if (sandbox) closers.push(() => sandbox.close())
  stopping.throwIfAborted()

  const program = await startProgram({
    parts: [part],
    settings,
    databaseUrl,
    temporal,
    home,
    host: part === 'worker' ? hostName(home) : '',
    github: settings.github,
    model: settings.model,
    sandbox,
    log: pino({ level: settings.logLevel }, pino.destination({ dest: 1, sync: false })),
  })
  closers.push(program.stop)
  stopping.throwIfAborted() // a signal during the start is no event any more for who listens from here on
  const { webhookUrl, panelUrl } = program.servers
  say(`the ${part} is ready: ${webhookUrl ? `webhooks ${webhookUrl}/webhooks/github · ` : ''}health ${panelUrl}/healthz`)

  const stopped = new Promise<ExitCode>((resolve) => stopping.addEventListener('abort', () => resolve(0), { once: true }))
  const gaveUp = program.ended.then(
    () => 'its workers ended',
    (error: Error) => `its workers gave up: ${error.message}`,
  )
  const first = await Promise.race([stopped, gaveUp])
  if (first === 0 || stopping.aborted) return 0
  complain(`the ${part} ends: ${first}`)
  return 1
}

/** Aborts at the first signal that says stop, and when whoever started us is gone; at a second signal the process ends at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()))
  process.once('disconnect', () => stopping.abort())
  process.channel?.unref()
  return stopping.signal
}
