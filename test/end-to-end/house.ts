/** A whole Switchyard for one test: its own database, namespace, offline GitHub, scripted model and state folder. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { createSandbox } from '../../activities/workspace/sandbox.ts'
import { type GithubSettings, type ModelSettings, parseSettings } from '../../core/deployment/settings.ts'
import { type Connected, connect } from '../../ledger/database.ts'
import { type OfflineGithub, startGithub } from '../../rehearsal/github/server.ts'
import type { Scenario } from '../../rehearsal/model/script.ts'
import { type Model, startModel } from '../../rehearsal/model/server.ts'
import type { End, World } from '../../rehearsal/scenarios/world.ts'
import { type Operate, openIssue, pointHook, readEnd, setStage } from '../../rehearsal/stage.ts'
import { type Program, startProgram } from '../../worker/program.ts'
import { freshDatabase, freshNamespace, testFolder } from '../services.ts'

export const SECRET = 'a secret for webhooks'

export interface House {
  ledger: Connected
  github: OfflineGithub
  operate: Operate
  model: Model
  client: Client
  program: Program
  webhookUrl: string
  databaseUrl: string
  /** Ends the program as a SIGTERM does, and starts another one on the same state. */
  restart(): Promise<void>
  stop(): Promise<void>
  openIssue(): Promise<number>
  end(issue: number): Promise<End>
}

export interface HouseGiven {
  world: World
  scenario: Scenario
  rollAfter?: number
  databaseUrl?: string
  maxCachedWorkflows?: number
  /** Set on the model server and on the product. */
  modelKey?: string
}

export async function openHouse(given: HouseGiven): Promise<House> {
  const { world } = given
  const folder = testFolder('house-')
  const closers: (() => Promise<unknown>)[] = []
  onTestFinished(async () => {
    for (const close of closers.reverse()) await close()
  })
  const database = given.databaseUrl ? null : await freshDatabase('house')
  const databaseUrl = given.databaseUrl ?? database!.appUrl
  const temporal = await freshNamespace('house')
  const github = await startGithub({ folder: join(folder, 'github'), contract: true })
  closers.push(github.close)
  const model = await startModel({ scenarios: [given.scenario], ...(given.modelKey ? { key: given.modelKey } : {}) })
  closers.push(model.close)
  const operate: Operate = async (deed, facts = {}) =>
    (github.operator[deed as keyof typeof github.operator] as (facts: unknown) => unknown)(facts)
  const settings = await setStage(operate, world, github, SECRET)
  const modelSettings: ModelSettings = {
    provider: 'openai-compatible',
    name: 'scripted',
    mainName: 'scripted',
    baseUrl: model.url,
    apiKey: given.modelKey ?? null,
    contextTokens: 128_000,
  }

  const home = join(folder, 'home')
  mkdirSync(home)
  const log = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' })
  const sandbox = createSandbox({ mode: await sandboxMode(), allowedHosts: [] })
  const start = (githubSettings: GithubSettings) =>
    startProgram({
      settings: settingsOf(given.rollAfter),
      databaseUrl,
      temporal,
      home,
      host: 'test',
      github: githubSettings,
      model: modelSettings,
      sandbox,
      log,
      ...(given.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: given.maxCachedWorkflows }),
    })
  let program = await start(settings)
  let running = true
  closers.push(async () => {
    if (running) await program.stop()
  })
  await pointHook(operate, world, program.servers.webhookUrl!, SECRET)

  const ledger = connect(databaseUrl, { onLost: () => {} })
  closers.push(ledger.close)
  const connection = await Connection.connect({ address: temporal.address })
  closers.push(() => connection.close())

  return {
    ledger,
    github,
    operate,
    model,
    client: new Client({ connection, namespace: temporal.namespace }),
    databaseUrl,
    get program() {
      return program
    },
    get webhookUrl() {
      return program.servers.webhookUrl!
    },
    async stop() {
      running = false
      await program.stop()
    },
    async restart() {
      if (running) await program.stop()
      program = await start(settings)
      running = true
      await pointHook(operate, world, program.servers.webhookUrl!, SECRET)
    },
    openIssue: async () => (await openIssue(operate, world)).number,
    async end(issue) {
      const rows = await ledger.db
        .selectFrom('report')
        .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
        .select(['report.status', 'pullRequest.number'])
        .orderBy('report.id')
        .execute()
      return readEnd(
        operate,
        world,
        github.apiUrl,
        issue,
        rows.map(({ status, number }) => ({ status, pullRequest: number })),
      )
    },
  }
}

function settingsOf(rollAfter: number | undefined) {
  const parsed = parseSettings({}, rollAfter === undefined ? {} : { worker: { rollAfter } })
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  return { ...parsed.settings, panelPort: { port: 0, chosen: true }, webhookPort: { port: 0, chosen: true } }
}

let mode: Promise<'bubblewrap' | 'off'> | null = null
/** Without bubblewrap (an ordinary user's machine) the scripted model runs unsandboxed, as the rehearsal does. */
function sandboxMode(): Promise<'bubblewrap' | 'off'> {
  mode ??= createSandbox({ mode: 'bubblewrap', allowedHosts: [] })
    .available()
    .then(({ ok }) => (ok ? 'bubblewrap' : 'off'))
  return mode
}

/** Waits until a question to the ledger has an answer; says what it waited for when it never comes. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | null | undefined | false>,
  ms = 45_000,
): Promise<Answer> {
  for (const until = Date.now() + ms; Date.now() < until; await sleep(50)) {
    const answer = await ask()
    if (answer) return answer
  }
  throw new Error(`it never came to this: ${what}`)
}
