/** A whole Switchyard for one test: its own database, namespace, offline GitHub, scripted model and state folder. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { createSandbox } from '../../activities/workspace/sandbox.ts'
import { parseSettings, type Settings } from '../../core/deployment/settings.ts'
import { type Connected, connect, transaction } from '../../ledger/database.ts'
import { type NewCommand, type Recorded, recordCommand } from '../../ledger/pauses.ts'
import { type OfflineGithub, startGithub } from '../../rehearsal/github/server.ts'
import type { Scenario } from '../../rehearsal/model/script.ts'
import { type Model, type ModelSettings as ModelServerSettings, startModel } from '../../rehearsal/model/server.ts'
import type { End, World } from '../../rehearsal/scenarios/world.ts'
import { type Operate, openIssue, pointHook, readEnd, setStage } from '../../rehearsal/stage.ts'
import { type Closer, closeAll } from '../../worker/close-all.ts'
import type { ProgramGiven } from '../../worker/program.ts'
import { type Gate, openGate } from '../gate.ts'
import { freshDatabase, freshNamespace, testFolder } from '../services.ts'
import { inChild, inThisProcess, type Run, type Running } from './running.ts'

export const SECRET = 'a secret for webhooks'

export interface House {
  ledger: Connected
  github: OfflineGithub
  operate: Operate
  model: Model
  client: Client
  namespace: string
  webhookUrl: string
  databaseUrl: string
  temporalAddress: string
  /** The state folder: mirrors and workspaces. */
  home: string
  /** What the program logged so far, all levels. */
  logged(): string
  /** Between the program and Temporal; only in a gated house. */
  gate: Gate
  panelUrl: string
  /** Ends the program as a SIGTERM does, and starts another one on the same state; variables given here change. */
  restart(environment?: Record<string, string>): Promise<void>
  stop(): Promise<void>
  /** SIGKILL; only for a house that runs in a child process. */
  kill(): Promise<void>
  /** Another program on the same state, after a stop or a kill. */
  start(): Promise<void>
  /** SIGKILL, then another program on the same state. */
  killAndRestart(): Promise<void>
  /** Another program on the same state while this one still works, which then ends as at a SIGTERM: a new version is rolled out. */
  takeOver(): Promise<void>
  /** Temporal's data are gone: another program on the same state, at an empty namespace. */
  loseTemporal(): Promise<void>
  /** A person's command from the terminal: the row, of which the dispatcher tells the workflows. */
  command(kind: NewCommand['kind'], scope: string, reason?: string): Promise<Recorded>
  openIssue(): Promise<number>
  end(issue: number): Promise<End>
}

export interface HouseGiven {
  world: World
  scenario: Scenario
  /** Variables as a deployment sets them, beside those that point to the scripted model. */
  environment?: Record<string, string>
  rollAfter?: number
  databaseUrl?: string
  maxCachedWorkflows?: number
  /** The key that the model server asks for. */
  modelKey?: string
  /** Looks at each request before the model answers it; `overloaded` makes the answer a 503. */
  beforeModel?: NonNullable<ModelServerSettings['before']>
  /** Something that stands between the product and the model server, and answers with its own address. */
  inFrontOfModel?: (url: string) => Promise<{ url: string; close(): Promise<unknown> }>
  /** Put a gate between the program and Temporal, which a test can shut; the test's own client passes beside it. */
  gated?: boolean
  /** Run the program as a process of its own, so that it can be killed. */
  child?: boolean
}

export async function openHouse(given: HouseGiven): Promise<House> {
  const { world } = given
  const folder = testFolder('house-')
  const closers: Closer[] = []
  let tellAll: (() => Promise<string>) | null = null
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail' && tellAll) console.error(await tellAll())
    await closeAll(closers)
  })
  const databaseUrl = given.databaseUrl ?? (await freshDatabase('house')).appUrl
  let temporal = await freshNamespace('house')
  const gate = given.gated ? await openGate(temporal.address) : null
  if (gate) closers.push(gate.close)
  const github = await startGithub({ folder: join(folder, 'github'), contract: true })
  closers.push(github.close)
  const model = await startModel({
    scenarios: [given.scenario],
    ...(given.modelKey ? { key: given.modelKey } : {}),
    ...(given.beforeModel ? { before: given.beforeModel } : {}),
  })
  closers.push(model.close)
  const between = await given.inFrontOfModel?.(model.url)
  if (between) closers.push(between.close)
  const operate: Operate = async (deed, facts = {}) =>
    (github.operator[deed as keyof typeof github.operator] as (facts: unknown) => unknown)(facts)
  const githubSettings = await setStage(operate, world, github, SECRET)

  const home = join(folder, 'home')
  mkdirSync(home)
  const lines: string[] = []
  const start = async (environment: Record<string, string>): Promise<Running> => {
    const settings = settingsOf(between?.url ?? model.url, environment, given.rollAfter)
    const run: Run = {
      settings,
      databaseUrl,
      temporal: { ...temporal, address: gate?.address ?? temporal.address },
      home,
      host: 'test',
      github: githubSettings,
      model: settings.model!,
      ...(given.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: given.maxCachedWorkflows }),
    }
    const started = given.child
      ? await inChild({ ...run, sandbox: await sandboxMode() }, (text) => lines.push(text))
      : await inThisProcess({ ...run, sandbox: createSandbox({ mode: await sandboxMode(), allowedHosts: [] }), log: logInto(lines) })
    await pointHook(operate, world, started.webhookUrl, SECRET)
    return started
  }
  let environment = given.environment ?? {}
  let running: Running | null = await start(environment)
  closers.push(async () => running?.stop())

  const ledger = connect(databaseUrl, { onLost: () => undefined })
  closers.push(ledger.close)
  const connection = await Connection.connect({ address: temporal.address })
  closers.push(() => connection.close())
  const stop = async () => {
    await running?.stop()
    running = null
  }

  const kill = async () => {
    await running?.kill()
    running = null
  }
  const present = () => {
    if (!running) throw new Error('the program of this house is stopped')
    return running
  }

  tellAll = () => situation({ ledger, model, logged: () => lines.join('') })

  return {
    ledger,
    github,
    operate,
    model,
    get client() {
      return new Client({ connection, namespace: temporal.namespace })
    },
    get namespace() {
      return temporal.namespace
    },
    databaseUrl,
    temporalAddress: temporal.address,
    home,
    get webhookUrl() {
      return present().webhookUrl
    },
    get panelUrl() {
      return present().panelUrl
    },
    get gate() {
      if (!gate) throw new Error('this house has no gate: open it with "gated"')
      return gate
    },
    logged: () => lines.join(''),
    stop,
    async restart(changed = {}) {
      await stop()
      environment = { ...environment, ...changed }
      running = await start(environment)
    },
    kill,
    async start() {
      running = await start(environment)
    },
    async killAndRestart() {
      await kill()
      running = await start(environment)
    },
    async takeOver() {
      const before = running
      running = await start(environment)
      await before?.stop()
    },
    async loseTemporal() {
      await stop()
      temporal = await freshNamespace('house')
      running = await start(environment)
    },
    command: (kind, scope, reason = 'a test says so') =>
      transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor: 'mara', transport: 'cli', reason })),
    openIssue: async () => (await openIssue(operate, world)).number,
    async end(issue) {
      const rows = await ledger.db
        .selectFrom('report')
        .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
        .select(['report.status', 'pullRequest.number'])
        .orderBy('report.id')
        .execute()
      const reports = rows.map(({ status, number }) => ({ status, pullRequest: number }))
      return readEnd(operate, world, github.apiUrl, issue, reports)
    },
  }
}

function settingsOf(modelUrl: string, environment: Record<string, string>, rollAfter: number | undefined): Settings {
  const variables = { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'scripted', MODEL_BASE_URL: modelUrl, ...environment }
  const parsed = parseSettings(variables, rollAfter === undefined ? {} : { worker: { rollAfter } })
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  return { ...parsed.settings, panelPort: { port: 0, chosen: true }, webhookPort: { port: 0, chosen: true } }
}

function logInto(lines: string[]): ProgramGiven['log'] {
  return pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
}

let mode: Promise<'bubblewrap' | 'off'> | null = null
/** Without bubblewrap (an ordinary user's machine) the scripted model runs unsandboxed, as the rehearsal does. */
export function sandboxMode(): Promise<'bubblewrap' | 'off'> {
  mode ??= createSandbox({ mode: 'bubblewrap', allowedHosts: [] })
    .available()
    .then(({ ok }) => (ok ? 'bubblewrap' : 'off'))
  return mode
}

/** Waits until a question has an answer; says what it waited for when it never comes. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | null | undefined | false>,
  ms = 60_000,
): Promise<Answer> {
  for (const until = Date.now() + ms; Date.now() < until; await sleep(50)) {
    const answer = await ask()
    if (answer) return answer
  }
  throw new Error(`it never came to this: ${what}`)
}

/** The Ticket has reported `done`, everything said was delivered and decided, and every Session has ended its turn. */
export async function finished(house: House): Promise<void> {
  await eventually('the Ticket reports done', () =>
    house.ledger.db.selectFrom('report').select('id').where('status', '=', 'done').executeTakeFirst(),
  )
  await idle(house)
}

/** Nothing is on its way: GitHub has posted all, all is decided, every inbox is read, and every Session's last step ended its turn. */
export async function idle({ ledger, operate }: House): Promise<void> {
  await operate('delivered')
  await eventually('everything is decided, read and ended', async () => {
    const pending = await ledger.db.selectFrom('delivery').select('id').where('state', '=', 'pending').executeTakeFirst()
    const unread = await ledger.db
      .selectFrom('inbox')
      .select('id')
      .where('session', 'is', null)
      .where('dropped', 'is', null)
      .executeTakeFirst()
    if (pending || unread) return false
    const last = await ledger.db
      .selectFrom('step')
      .distinctOn('session')
      .select(['session', 'outcome'])
      .orderBy('session')
      .orderBy('step', 'desc')
      .execute()
    return last.length > 0 && last.every(({ outcome }) => outcome === 'end')
  })
}

/** For a failure's message: alarms, what every Session did last, and what the model did not understand. */
async function situation({ ledger, model, logged }: Pick<House, 'ledger' | 'model' | 'logged'>): Promise<string> {
  const alarms = await ledger.db.selectFrom('alarm').select(['kind', 'subject', 'body', 'endedAt']).execute()
  const calls = await ledger.db
    .selectFrom('toolCall')
    .select(['session', 'step', 'tool', 'outcome', 'fault', 'startedAt', 'endedAt'])
    .orderBy('session')
    .orderBy('step')
    .execute()
  const requests = await ledger.db
    .selectFrom('request')
    .select(['session', 'step', 'outcome', 'error', 'openedAt', 'endedAt'])
    .orderBy('id', 'desc')
    .limit(4)
    .execute()
  const inbox = await ledger.db
    .selectFrom('inbox')
    .leftJoin('trigger', 'trigger.id', 'inbox.trigger')
    .select(['inbox.id', 'inbox.address', 'inbox.kind', 'trigger.event', 'inbox.createdAt', 'inbox.session', 'inbox.step', 'inbox.dropped'])
    .orderBy('inbox.id')
    .execute()
  return JSON.stringify({ alarms, calls, inbox, requests, unexpected: model.unexpected() }, null, 1) + logged().slice(-3_000)
}
