/**
 * What the effects' tests share: a ledger, the offline GitHub with a repository and an issue, and a proxy in front of it that can
 * lose an answer after GitHub has done what was asked.
 */
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { createGithubClient } from '../../channels/github/client.ts'
import { openLedger, type TestLedger } from '../../ledger/fixture.ts'
import { createConfigurationReader } from '../../ledger/revisions.ts'
import { type OfflineGithub, startGithub } from '../../rehearsal/github/server.ts'
import { world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { openIssue, setStage } from '../../rehearsal/stage.ts'
import { testFolder } from '../../test/services.ts'
import type { Deps } from '../deps.ts'
import { createSandbox } from '../workspace/sandbox.ts'
import { createWorkspaces } from '../workspaces.ts'

/** What the proxy does with a request: GitHub always gets it, but for `refuse`, which answers in its place. */
export type Mishap =
  | { kind: 'answer 502' }
  | { kind: 'reset' }
  | { kind: 'be late' }
  /** Before GitHub gets it, somebody else does something. */
  | { kind: 'first'; act: () => Promise<unknown> }
  | { kind: 'refuse'; status: number; headers?: Record<string, string>; message: string }

export interface EffectsHouse {
  ledger: TestLedger
  github: OfflineGithub
  deps: Deps
  issue: number
  /** Once for the next request that matches, `POST …/comments` by its beginning and end. */
  once(request: RegExp, mishap: Mishap): void
  /** Every matching request until `calm`. */
  always(request: RegExp, mishap: Mishap): void
  calm(): void
  /** Requests as the proxy saw them since the last `calm`, `POST /repos/…`. */
  seen(request: RegExp): string[]
  close(): Promise<void>
}

export const REPOSITORY = world.repository.fullName

/** How long the client waits for an answer that will be late; for any other as long as it always does. */
const PATIENCE_MS = 1_000
const USUAL_PATIENCE_MS = 20_000

export async function openEffectsHouse(): Promise<EffectsHouse> {
  const folder = testFolder('effects-')
  const ledger = await openLedger()
  const github = await startGithub({ folder: join(folder, 'github') })
  const operate = async (deed: string, facts = {}) =>
    (github.operator[deed as keyof typeof github.operator] as (facts: unknown) => unknown)(facts)
  const { auth } = await setStage(operate, world, github, 'a secret')
  const { number: issue } = await openIssue(operate, world)
  const proxy = await startProxy(github.url)
  const client = createGithubClient(
    { apiUrl: `${proxy.url}/api/v3`, account: auth },
    {
      now: () => new Date(),
      fetch: (input, init) =>
        fetch(input, { ...init, signal: AbortSignal.any([AbortSignal.timeout(proxy.patience()), ...(init?.signal ? [init.signal] : [])]) }),
    },
  )
  const identity = await client.whoAmI()
  const unasked = () => {
    throw new Error('an effect asks no model')
  }
  const deps: Deps = {
    db: ledger.db,
    readConfiguration: createConfigurationReader(),
    storedTexts: new Set(),
    builtIn: {},
    readDrift: () => [],
    maxConfigBytes: 262_144,
    model: { provider: 'none', nameFor: unasked, languageModel: unasked, contextTokens: 0 },
    github: { client, identity: async () => identity },
    workspaces: createWorkspaces({
      home: join(folder, 'home'),
      sandbox: createSandbox({ mode: 'off', allowedHosts: [] }),
      github: client,
      author: async () => ({ name: 'agent', email: 'agent@example.invalid' }),
    }),
    host: 'test',
    ticketBudgetTokens: 1,
    environment: [],
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  }
  return {
    ledger,
    github,
    deps,
    issue,
    ...proxy,
    async close() {
      await proxy.close()
      await github.close()
      await ledger.drop()
    },
  }
}

async function startProxy(target: string) {
  const rules: { request: RegExp; mishap: Mishap; left: number }[] = []
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    const line = `${request.method} ${request.url}`
    seen.push(line)
    const rule = rules.find(({ request: pattern, left }) => left > 0 && pattern.test(line))
    if (rule) rule.left -= 1
    const mishap = rule?.mishap
    const body = Buffer.concat(await request.toArray())
    if (mishap?.kind === 'refuse') {
      response.writeHead(mishap.status, { 'content-type': 'application/json', ...mishap.headers })
      return response.end(JSON.stringify({ message: mishap.message }))
    }
    if (mishap?.kind === 'first') await mishap.act()
    const { answer, text } = await forwarded(target, request, body)
    switch (mishap?.kind) {
      case 'answer 502':
        return response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>')
      case 'reset':
        return request.socket.resetAndDestroy()
      case 'be late':
        return // GitHub has done it, and the client hangs up
      default:
        return response.writeHead(answer.statusCode!, answer.headers).end(text)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    patience: () => (rules.some(({ mishap, left }) => left > 0 && mishap.kind === 'be late') ? PATIENCE_MS : USUAL_PATIENCE_MS),
    once: (request: RegExp, mishap: Mishap) => void rules.push({ request, mishap, left: 1 }),
    always: (request: RegExp, mishap: Mishap) => void rules.push({ request, mishap, left: Number.POSITIVE_INFINITY }),
    calm() {
      rules.length = 0
      seen.length = 0
    },
    seen: (request: RegExp) => seen.filter((line) => request.test(line)),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function forwarded(target: string, request: IncomingMessage, body: Buffer): Promise<{ answer: IncomingMessage; text: Buffer }> {
  const { method, headers, url } = request
  return new Promise((resolve, reject) => {
    const onward = send(new URL(url!, target), { method, headers: { ...headers, connection: 'close' } }, async (answer) => {
      resolve({ answer, text: Buffer.concat(await answer.toArray()) })
    })
    onward.on('error', reject)
    onward.end(body)
  })
}
