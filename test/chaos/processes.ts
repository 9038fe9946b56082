/** The product as an installation runs it: three processes and two services, each of which can be killed and comes back. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createSandbox } from '../../activities/workspace/sandbox.ts'
import type { GithubSettings } from '../../core/deployment/settings.ts'
import { startPostgres } from '../../worker/embedded/postgres.ts'
import { gone } from '../../worker/embedded/process.ts'
import { startTemporal } from '../../worker/embedded/temporal.ts'
import type { Part } from '../../worker/program.ts'

export interface Supervised {
  /** SIGKILL, some time without it, and a new start. */
  kill(downMs: number): Promise<void>
  stop(): Promise<void>
  /** How often it ended by itself and was started again. */
  gaveUp(): number
}

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
/** Before a process that ended by itself is started again. */
const RESTART_MS = 500

/** `switchyard <part>`, started again whenever it ends. Its words go to `<folder>/<part>.log`. */
export function supervise(part: Part, env: Readonly<Record<string, string>>, folder: string): Supervised {
  let stopping = false
  let restartMs = RESTART_MS
  let gaveUp = 0
  let child = spawnPart(part, env, folder)
  const watch = async (): Promise<void> => {
    while (!stopping) {
      const [, signal] = await once(child, 'exit')
      if (stopping) return
      if (signal !== 'SIGKILL') gaveUp += 1
      await sleep(restartMs)
      restartMs = RESTART_MS
      if (!stopping) child = spawnPart(part, env, folder)
    }
  }
  const watching = watch()
  return {
    gaveUp: () => gaveUp,
    async kill(downMs) {
      restartMs = downMs
      child.kill('SIGKILL')
    },
    async stop() {
      stopping = true
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await watching
    },
  }
}

export function spawnPart(part: Part, env: Readonly<Record<string, string>>, folder: string): ChildProcess {
  const log = openSync(join(folder, `${part}.log`), 'a')
  // the channel is its life line: it ends when this process does, however that died
  const child = spawn(process.execPath, [MAIN, part], { env, cwd: folder, stdio: ['ignore', log, log, 'ipc'] })
  closeSync(log)
  return child
}

type Embedded = Awaited<ReturnType<typeof startPostgres>> | Awaited<ReturnType<typeof startTemporal>>

/** Its addresses must stay: the processes that use it were told once. */
async function superviseService<Service extends Embedded>(
  start: () => Promise<Service>,
  addressOf: (service: Service) => string,
): Promise<Supervised & { first: Service }> {
  const first = await start()
  let current = first
  return {
    first,
    gaveUp: () => 0,
    async kill(downMs) {
      process.kill(current.pid, 'SIGKILL')
      await gone(current.pid, 10_000)
      await sleep(downMs)
      current = await start()
      if (addressOf(current) !== addressOf(first))
        throw new Error(`${addressOf(first)} came back as ${addressOf(current)}: its port was taken`)
    },
    stop: () => current.stop(),
  }
}

export async function startServices(folder: string, say: (line: string) => void) {
  const home = join(folder, 'services')
  mkdirSync(home, { mode: 0o711 })
  const postgres = await superviseService(
    () => startPostgres({ home, say }),
    ({ appUrl }) => new URL(appUrl).host,
  )
  try {
    const temporal = await superviseService(
      () => startTemporal({ home, say }),
      ({ address }) => address,
    )
    return { postgres, temporal }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

export interface EnvironmentGiven {
  /** The worker's state folder. */
  home: string
  databaseUrl: string
  temporal: { address: string; namespace: string }
  github: GithubSettings
  modelUrl: string
  webhookPort: number
}

/** What an installation sets, and nothing of this process's own. */
export async function environment(given: EnvironmentGiven): Promise<Record<string, string>> {
  const { auth, apiUrl, graphqlUrl, gitUrl, webhookSecrets } = given.github
  const confined = await createSandbox({ mode: 'bubblewrap', allowedHosts: [] }).available()
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    DATABASE_URL: given.databaseUrl,
    TEMPORAL_ADDRESS: given.temporal.address,
    TEMPORAL_NAMESPACE: given.temporal.namespace,
    SWITCHYARD_HOME: given.home,
    SWITCHYARD_WEBHOOK_PORT: String(given.webhookPort),
    GITHUB_API_URL: apiUrl,
    GITHUB_GRAPHQL_URL: graphqlUrl ?? '',
    GITHUB_GIT_URL: gitUrl ?? '',
    ...(auth.kind === 'app' ? { GITHUB_APP_ID: auth.appId, GITHUB_APP_PRIVATE_KEY: auth.privateKey } : {}),
    GITHUB_WEBHOOK_SECRET: webhookSecrets.join(' '),
    MODEL_PROVIDER: 'openai-compatible',
    MODEL_NAME: 'scripted',
    MODEL_BASE_URL: given.modelUrl,
    SANDBOX: confined.ok ? 'bubblewrap' : 'off',
  }
}
