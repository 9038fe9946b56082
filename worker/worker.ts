/** The Temporal workers of this process: one polls workflows, the others each one kind of activity (design §4, task queues). */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  bundleWorkflowCode,
  DefaultLogger,
  type LogLevel,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker'
import type { Logger } from 'pino'
import { createActivities } from '../activities/create.ts'
import type { Deps } from '../activities/deps.ts'
import { pollingHosts } from '../activities/hosts.ts'
import { QUEUES, workspaceQueue } from '../workflows/protocol.ts'
import type { TemporalAt } from './temporal.ts'

export interface RunningWorkers {
  /** Rejects when a worker gives up; the process should end then, and be started again. */
  ended: Promise<void>
  /** Rejects, with the reason, while a worker of this process does not poll, by its own word and by Temporal's. */
  isPolling(): Promise<void>
  stop(): Promise<void>
}

export interface WorkersGiven {
  temporal: TemporalAt
  deps: Deps
  log: Logger
  /** 0 in tests: every workflow task replays its history. */
  maxCachedWorkflows?: number
}

/** How many activities of a kind run at the same time. */
const CONCURRENCY = { ledger: 20, model: 50, channel: 20, workspace: 20 } as const

/** How long running activities may go on after a stop before they are cut off. */
const GRACE_MS = 5_000

let installed = false

/** Temporal's runtime and the AI SDK's warnings are one for the process; the first caller's logger is the one. */
function installLoggers(log: Logger): void {
  if (installed) return
  installed = true
  globalThis.AI_SDK_LOG_WARNINGS = ({ warnings, provider, model }) =>
    log.warn({ warnings, provider, model }, 'the AI SDK warns about a request')
  const LEVELS: Readonly<Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
    TRACE: 'trace',
    DEBUG: 'debug',
    INFO: 'info',
    WARN: 'warn',
    ERROR: 'error',
  }
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => log[LEVELS[level]](meta ?? {}, message)),
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }), forward: {} } },
    shutdownSignals: [],
  })
}

export async function startWorkers({ temporal, deps, log, maxCachedWorkflows = 500 }: WorkersGiven): Promise<RunningWorkers> {
  installLoggers(log)
  const connection = await NativeConnection.connect({ address: temporal.address, ...temporal.security })
  try {
    const common = {
      connection,
      namespace: temporal.namespace,
      identity: deps.host,
      shutdownGraceTime: GRACE_MS,
      shutdownForceTime: '20s',
      maxHeartbeatThrottleInterval: '5s',
    } as const
    const activities = { ...createActivities(deps) }
    const activityWorker = (taskQueue: string, kind: keyof typeof CONCURRENCY) =>
      Worker.create({ ...common, taskQueue, activities, maxConcurrentActivityTaskExecutions: CONCURRENCY[kind] })
    const workers = await Promise.all([
      Worker.create({
        ...common,
        taskQueue: QUEUES.workflows,
        workflowBundle: await workflowBundle(log),
        maxCachedWorkflows,
        maxConcurrentWorkflowTaskExecutions: 40,
      }),
      activityWorker(QUEUES.ledger, 'ledger'),
      activityWorker(QUEUES.model, 'model'),
      activityWorker(QUEUES.channel, 'channel'),
      activityWorker(workspaceQueue(deps.host), 'workspace'),
    ])
    const running = workers.map((worker) => worker.run())
    const ended = Promise.all(running).then(() => undefined)
    let failed = false
    // whoever waits for it hears of it; until somebody does, it must not end the process without a sentence
    ended.catch(() => {
      failed = true
    })
    return {
      ended,
      async isPolling() {
        const idle = workers.find((worker) => worker.getState() !== 'RUNNING')
        if (idle) throw new Error(`the worker of the queue ${idle.options.taskQueue} does not poll: ${idle.getState().toLowerCase()}`)
        const polling = await pollingHosts(connection.workflowService, temporal.namespace)
        if (!polling.includes(deps.host)) throw new Error(`Temporal knows of no worker of this host, ${deps.host}, that polls`)
      },
      async stop() {
        for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
        const settled = Promise.allSettled(running)
        // once one has failed, the others' runs may never settle, and while they have not, the connection does not close
        if (failed) return void (await Promise.race([settled, sleep(GRACE_MS, undefined, { ref: false })]))
        await settled
        await connection.close()
      },
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

let bundled: Promise<{ code: string }> | null = null

/** Made once for a process, from the workflow files as they are. */
export function workflowBundle(log: Logger): Promise<{ code: string }> {
  bundled ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('WARN', ({ message }) => log.warn(message)),
  })
  return bundled
}
