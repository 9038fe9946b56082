/**
 * The program, put together: ledger, workers, dispatcher and HTTP servers, in one process. The services it needs (Postgres,
 * Temporal, GitHub, a model) are running already; who started them is the caller's business.
 */
import { Client, Connection } from '@temporalio/client'
import type { Logger } from 'pino'
import type { Deps } from '../activities/deps.ts'
import { sendNotices } from '../activities/effects/notices.ts'
import { languageModel } from '../activities/model/provider.ts'
import type { Sandbox } from '../activities/workspace/sandbox.ts'
import { createWorkspaces } from '../activities/workspaces.ts'
import type { GithubSettings, ModelSettings, Settings } from '../core/deployment/settings.ts'
import { connect } from '../ledger/database.ts'
import { createDeliveryStore } from '../ledger/deliveries.ts'
import { createConfigurationReader } from '../ledger/revisions.ts'
import { type Servers, startServers } from '../server/servers.ts'
import { loadBuiltInTexts } from './built-in.ts'
import { startDispatcher } from './dispatcher.ts'
import { openGithub } from './github.ts'
import { takeInPending } from './intake.ts'
import type { TemporalAt } from './temporal.ts'
import { startWorkers } from './worker.ts'

export interface ProgramGiven {
  settings: Settings
  databaseUrl: string
  temporal: TemporalAt
  /** State folder: mirrors and workspaces. */
  home: string
  /** This machine's name in task queues; the same after a restart. */
  host: string
  github: GithubSettings | null
  model: ModelSettings
  sandbox: Sandbox
  log: Logger
  /** Tests replay every workflow task. */
  maxCachedWorkflows?: number
}

export interface Program {
  servers: Servers
  /** Rejects when a part gave up for good. */
  ended: Promise<void>
  /** In the order in which work ends: no new deliveries, no new wakes, then the workers, then the ledger. */
  stop(): Promise<void>
}

export async function startProgram(given: ProgramGiven): Promise<Program> {
  const { settings, log } = given
  const ledger = connect(given.databaseUrl, { onLost: (error) => log.debug({ err: error }, 'Postgres ended an idle connection') })
  const closers: (() => Promise<unknown>)[] = [ledger.close]
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const github = given.github && openGithub(given.github)
    const deps: Deps = {
      db: ledger.db,
      readConfiguration: createConfigurationReader(),
      storedTexts: new Set(),
      builtIn: loadBuiltInTexts(),
      model: {
        provider: given.model.provider,
        nameFor: (role) => (role === 'main' ? given.model.mainName : given.model.name),
        languageModel: (role) => languageModel(given.model, role === 'main' ? given.model.mainName : given.model.name),
        contextTokens: given.model.contextTokens,
      },
      github,
      workspaces: createWorkspaces({
        home: given.home,
        sandbox: given.sandbox,
        github: github?.client ?? null,
        author: () => commitAuthor(github),
      }),
      host: given.host,
      ticketBudgetTokens: settings.ticketBudgetTokens,
      environment: deploymentValues(given),
      log,
      now: () => new Date(),
    }
    const workers = await startWorkers({
      temporal: given.temporal,
      deps,
      log,
      ...(given.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: given.maxCachedWorkflows }),
    })
    closers.push(workers.stop)

    const connection = await Connection.connect({ address: given.temporal.address, ...given.temporal.security })
    closers.push(() => connection.close())
    const dispatcher = await startDispatcher({
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
    closers.push(dispatcher.stop)

    const servers = await startServers({
      host: settings.host,
      panelPort: settings.panelPort,
      webhookPort: settings.webhookPort,
      webhookSecrets: given.github?.webhookSecrets ?? [],
      store: createDeliveryStore(ledger.db),
      isReady: async () => {
        await ledger.db.selectFrom('pause').select('scope').limit(1).execute()
        await connection.healthService.check({ service: 'temporal.api.workflowservice.v1.WorkflowService' })
      },
      log,
    })
    closers.push(servers.close)
    return { servers, ended: workers.ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Commits carry the agent account's no-reply address, made of its account's id (spec A1, F300). */
async function commitAuthor(github: ReturnType<typeof openGithub> | null): Promise<{ name: string; email: string }> {
  if (!github) throw new Error('GitHub is off: there is no account to commit as')
  const { login, noReplyEmail } = await github.identity()
  return { name: login, email: noReplyEmail }
}

/** What the main Session is told of its deployment, in this order (spec C5). */
function deploymentValues({ github, model }: ProgramGiven) {
  return [
    { name: 'GitHub', value: github ? 'on' : 'off' },
    ...(github && github.repositories.length > 0 ? [{ name: 'Repositories', value: github.repositories.join(', ') }] : []),
    { name: 'Model', value: model.mainName },
  ]
}
