/**
 * The program, put together: workers, dispatcher and HTTP servers over one ledger, all in one process, or each part in processes
 * of its own and in any number (spec O8). The services it needs (Postgres, Temporal, GitHub, a model) are running already; who
 * started them is the caller's business.
 */
import { Client, Connection } from '@temporalio/client'
import type { Logger } from 'pino'
import type { Deps, Model } from '../activities/deps.ts'
import { sendNotices } from '../activities/effects/notices.ts'
import { languageModel } from '../activities/model/provider.ts'
import { createDriftReader } from '../activities/read-drift.ts'
import type { Sandbox } from '../activities/workspace/sandbox.ts'
import { createWorkspaces } from '../activities/workspaces.ts'
import type { GithubSettings, ModelSettings, Settings } from '../core/deployment/settings.ts'
import { deploymentValues } from '../core/deployment/values.ts'
import type { Database } from '../ledger/database.ts'
import { connect } from '../ledger/database.ts'
import { createDeliveryStore } from '../ledger/deliveries.ts'
import { createConfigurationReader } from '../ledger/revisions.ts'
import { type Servers, startServers } from '../server/servers.ts'
import { within } from '../server/within.ts'
import { loadBuiltInTexts } from './built-in.ts'
import { type Closer, closeAll } from './close-all.ts'
import { startDispatcher } from './dispatcher.ts'
import { mustServe } from './embedded/temporal-namespace.ts'
import { type GithubAccess, openGithub } from './github.ts'
import { takeInPending } from './intake.ts'
import type { Loop } from './loop.ts'
import { startTakingMissed } from './missed.ts'
import type { TemporalAt } from './temporal.ts'
import { type RunningWorkers, startWorkers } from './worker.ts'

/** In the order in which they start; they stop in the opposite one. */
export const PARTS = ['worker', 'dispatcher', 'server'] as const
export type Part = (typeof PARTS)[number]

export interface ProgramGiven {
  settings: Settings
  databaseUrl: string
  temporal: TemporalAt
  /** State folder: mirrors and workspaces. */
  home: string
  /** This machine's name in task queues; the same after a restart. */
  host: string
  github: GithubSettings | null
  /** Null without a worker, which alone asks a model. */
  model: ModelSettings | null
  /** Null without a worker, which alone runs commands. */
  sandbox: Sandbox | null
  log: Logger
  /** Tests may be a day ahead. */
  now?: () => Date
  /** Tests replay every workflow task. */
  maxCachedWorkflows?: number
}

export interface Program {
  /** Health, and with the server the webhooks. */
  servers: Servers
  /** Rejects when a part gave up for good. */
  ended: Promise<void>
  /** In the order in which work ends: no new deliveries, no new wakes, then the workers, then the ledger. */
  stop(): Promise<void>
}

/** All of the program, or some parts of it. */
export async function startProgram({ parts = PARTS, ...given }: ProgramGiven & { parts?: readonly Part[] }): Promise<Program> {
  const { log } = given
  const ledger = connect(given.databaseUrl, { onLost: (error) => log.debug({ err: error }, 'Postgres ended an idle connection') })
  const closers: Closer[] = [ledger.close]
  const stop = () => closeAll(closers)
  const here: Here = { given, ledger, github: given.github && openGithub(given.github) }
  try {
    const workers = parts.includes('worker') ? await openWorkers(here) : null
    if (workers) closers.push(workers.stop)

    const connection = parts.includes('dispatcher') ? await connectTemporal(given) : null
    if (connection) {
      closers.push(() => connection.close())
      const dispatcher = await openDispatcher(here, connection)
      closers.push(dispatcher.stop)
    }

    // deliveries are missed exactly while the server is away, or cannot store
    const takesWebhooks = parts.includes('server')
    const missed = takesWebhooks ? openMissed(here) : null
    if (missed) closers.push(missed.stop)
    const servers = await openServers(here, { takesWebhooks, workers, connection, onLost: () => missed?.hint() })
    closers.push(servers.close)
    return { servers, ended: workers?.ended ?? never, stop }
  } catch (error) {
    // why it did not start is the news; what then did not close is in the log
    await stop().catch((trouble) => log.error({ err: trouble }, 'not everything closed after a start that failed'))
    throw error
  }
}

const never = new Promise<void>(() => {})

interface Here {
  given: ProgramGiven
  ledger: ReturnType<typeof connect>
  github: GithubAccess | null
}

async function openWorkers(here: Here) {
  const { temporal, log, maxCachedWorkflows } = here.given
  if (!here.given.model || !here.given.sandbox) throw new Error('a worker needs a model and a sandbox')
  return startWorkers({ temporal, deps: depsOf(here), log, ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }) })
}

const connectTemporal = ({ temporal }: ProgramGiven): Promise<Connection> =>
  Connection.connect({ address: temporal.address, ...temporal.security })

async function openDispatcher(here: Here, connection: Connection) {
  const { given, ledger, github } = here
  const { settings, log } = given
  const deps = depsOf(here)
  return startDispatcher({
    db: ledger.db,
    databaseUrl: given.databaseUrl,
    client: new Client({ connection, namespace: given.temporal.namespace }),
    takeIn:
      github &&
      ((signal) =>
        takeInPending(
          {
            db: ledger.db,
            ...github,
            repositories: given.github?.repositories ?? [],
            tellOutsiders: settings.file.github.tellOutsiders,
            log,
            now: deps.now,
          },
          signal,
        )),
    rollAfter: settings.file.worker.rollAfter,
    sendNotices: (signal) => sendNotices(deps, signal),
    log,
  })
}

/** Null: GitHub is off. */
function openMissed({ given, ledger, github }: Here): Loop | null {
  if (!github) return null
  const store = createDeliveryStore(ledger.db)
  const repositories = given.github?.repositories ?? []
  return startTakingMissed({
    db: ledger.db,
    client: github.client,
    repositories,
    store,
    log: given.log,
    now: given.now ?? (() => new Date()),
  })
}

interface Listening {
  takesWebhooks: boolean
  /** Null without the part that needs it. */
  workers: RunningWorkers | null
  connection: Connection | null
  onLost: () => void
}

/** Each part says of itself whether it works; a server stores deliveries whether Temporal answers or not. */
function openServers({ given, ledger }: Here, { takesWebhooks, workers, connection, onLost }: Listening): Promise<Servers> {
  const { settings, log } = given
  const store = createDeliveryStore(ledger.db)
  return startServers({
    host: settings.host,
    panelPort: settings.panelPort,
    webhookPort: settings.webhookPort,
    webhookSecrets: takesWebhooks ? (given.github?.webhookSecrets ?? []) : [],
    store: (delivery) =>
      store(delivery).catch((error) => {
        onLost()
        throw error
      }),
    isReady: async () => {
      await answers('the ledger', ledger.db.selectFrom('pause').select('scope').limit(1).execute())
      if (workers) await answers('Temporal', workers.isPolling())
      if (connection) await answers('Temporal', mustServe(connection))
    },
    log,
  })
}

/** Whoever asks for health gives up sooner than a service that hangs answers: a reason now is better. */
const ANSWER_WITHIN_MS = 2_000

async function answers(service: string, question: Promise<unknown>): Promise<void> {
  try {
    await within(ANSWER_WITHIN_MS, 'no answer', question)
  } catch (error) {
    throw new Error(`${service}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function depsOf({ given, ledger, github }: Here): Deps {
  const readConfiguration = createConfigurationReader()
  const builtIn = loadBuiltInTexts(given.settings.file.personas)
  return {
    db: ledger.db,
    readConfiguration,
    storedTexts: new Set(),
    builtIn,
    readDrift: createDriftReader(builtIn, given.log),
    maxConfigBytes: given.settings.maxConfigBytes,
    model: given.model ? modelOf(given.model) : noModel,
    github,
    workspaces: createWorkspaces({
      home: given.home,
      sandbox: given.sandbox ?? noSandbox,
      github: github?.client ?? null,
      author: () => commitAuthor(ledger.db, readConfiguration, github),
    }),
    host: given.host,
    ticketBudgetTokens: given.settings.ticketBudgetTokens,
    environment: deploymentValues(given),
    log: given.log,
    now: given.now ?? (() => new Date()),
  }
}

function modelOf(model: ModelSettings): Model {
  const nameFor = (role: 'main' | 'executor') => (role === 'main' ? model.mainName : model.name)
  return {
    provider: model.provider,
    nameFor,
    languageModel: (role, fetch) => languageModel(model, nameFor(role), fetch),
    contextTokens: model.contextTokens,
  }
}

const notHere = (): never => {
  throw new Error('this process runs no worker: it asks no model and runs no command')
}
const noModel: Model = { provider: 'none', nameFor: notHere, languageModel: notHere, contextTokens: 0 }
const noSandbox: Sandbox = { mode: 'off', run: notHere, available: notHere, close: async () => undefined }

/** The team's `commitAuthor`, else the agent account's no-reply address, made of its account's id (spec A1, F300). */
async function commitAuthor(
  db: Database,
  readConfiguration: Deps['readConfiguration'],
  github: GithubAccess | null,
): Promise<{ name: string; email: string }> {
  const { document } = await readConfiguration(db)
  const written = document.sections.delivery?.commitAuthor
  if (written) return written
  if (!github) throw new Error('GitHub is off: there is no account to commit as')
  const { login, noReplyEmail } = await github.identity()
  return { name: login, email: noReplyEmail }
}
