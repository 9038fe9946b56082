/**
 * The offline GitHub: one HTTP server on the loopback that speaks REST, GraphQL and git as GitHub does, posts signed webhooks, and
 * keeps everything in files. The addresses follow the layout of GitHub Enterprise (`/api/v3`, `/api/graphql`, git at the root), so
 * that a client which is given the REST root finds the others by itself; the layout of github.com is understood, too.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { settleRefs } from './acts/pushes.ts'
import { type Actor, actorOf, credentialIn } from './auth.ts'
import { type Contract, createContract } from './contract.ts'
import { createFaults, type Faults, type RequestRule } from './faults.ts'
import { gitRequest, serveGit } from './git-http.ts'
import { answerGraphql } from './graphql.ts'
import { type Answer, type Method, type Route, refusalOf, refuse } from './http.ts'
import { after, before, type Met, outOfOrder } from './mishaps.ts'
import { createOperator, type Operator, operate } from './operator.ts'
import { createOutage } from './outage.ts'
import { pageAt } from './pages.ts'
import { bestMatch, compileTemplate, parametersIn } from './paths.ts'
import { accountRoutes } from './rest/accounts.ts'
import { appRoutes } from './rest/apps.ts'
import { checkRoutes } from './rest/checks.ts'
import { gitRoutes } from './rest/git.ts'
import { issueRoutes } from './rest/issues.ts'
import { pullRoutes } from './rest/pulls.ts'
import { reviewRoutes } from './rest/reviews.ts'
import { fullName } from './state.ts'
import { openStore } from './store.ts'
import { createWorld, type Watch, type World } from './world.ts'

export interface GithubOptions {
  folder: string
  port?: number
  host?: string
  /** Holds every request, answer and delivery against GitHub's description and gathers what differs. */
  contract?: boolean
  loud?: (line: string) => void
}

export interface OfflineGithub {
  url: string
  apiUrl: string
  graphqlUrl: string
  gitUrl: string
  operator: Operator
  contractFaults: string[]
  /** Calls that were answered 404 because nothing here serves them. */
  unserved: string[]
  close(): Promise<void>
}

export const ROUTES: readonly Route[] = [
  ...accountRoutes,
  ...appRoutes,
  ...issueRoutes,
  ...pullRoutes,
  ...reviewRoutes,
  ...gitRoutes,
  ...checkRoutes,
]

export async function startGithub(options: GithubOptions): Promise<OfflineGithub> {
  const contract = options.contract ? createContract() : null
  const contractFaults: string[] = []
  const unserved: string[] = []
  const loud = options.loud ?? ((line: string) => process.stderr.write(`${line}\n`))
  const watch: Watch = {
    delivery: (event, action, payload) => contractFaults.push(...(contract?.delivery(event, action, payload) ?? [])),
    loud,
  }
  let url = ''
  const closing = new AbortController()
  const answering = new Set<ServerResponse>()
  const outage = createOutage(
    {
      cut() {
        server.close()
        server.closeIdleConnections()
        for (const response of answering) response.destroy()
      },
      async restore() {
        server.listen(Number(new URL(url).port), options.host ?? '127.0.0.1')
        await once(server, 'listening')
      },
    },
    loud,
  )
  const faults = createFaults(outage)
  const world = createWorld(openStore(options.folder), () => url, watch, faults, closing.signal)
  const operator = createOperator(world, faults)
  const serving: Serving = {
    world,
    operator,
    contract,
    contractFaults,
    unserved,
    watch,
    limits: new Map(),
    faults,
    answering,
    closing: closing.signal,
  }

  const underWay = new Set<Promise<void>>()
  const server = createServer((request, response) => {
    const served = serve(serving, request, response).catch((error: unknown) => {
      loud(`offline GitHub: ${request.method} ${request.url} failed: ${error instanceof Error ? error.stack : String(error)}`)
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ message: 'Server Error' }))
    })
    underWay.add(served)
    void served.finally(() => underWay.delete(served))
  })
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`

  // What moved in git while nobody could tell it, and what was raised but never sent.
  for (const repository of world.state.repositories)
    await world.alone(repository, () => settleRefs(world, repository, repository.lastPusherId))
  world.change(() => undefined)

  return {
    url,
    apiUrl: `${url}/api/v3`,
    graphqlUrl: `${url}/api/graphql`,
    gitUrl: url,
    operator,
    contractFaults,
    unserved,
    async close() {
      closing.abort(new Error('the offline GitHub is closing'))
      outage.stop()
      server.close()
      server.closeAllConnections()
      // nobody hears them any more, but what they still write must not fall upon the state of the next start
      await Promise.all(underWay)
      await world.close()
    },
  }
}

interface Serving {
  world: World
  operator: Operator
  contract: Contract | null
  contractFaults: string[]
  unserved: string[]
  watch: Watch
  limits: Map<string, { used: number; reset: number }>
  faults: Faults
  /** What an outage tears off: everything but the operator's deeds. */
  answering: Set<ServerResponse>
  closing: AbortSignal
}

async function serve(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://offline.invalid')
  const deed = /^\/_rehearsal\/([A-Za-z]+)$/.exec(url.pathname)?.[1]
  // the operator may do and read everything without a token, so only from this machine, wherever the server listens
  const local = LOOPBACK.test(request.socket.remoteAddress ?? '')
  if (deed && local) {
    const body = await readBody(request)
    const answer = parseJson(body)
    const done =
      answer === undefined
        ? { status: 400, body: { message: 'the body is no JSON object' } }
        : await operate(serving.operator, deed, answer)
    // a connection that is kept alive would outlive the cut
    return send(response, done.status, done.body, serving.faults.outage.isOn() ? { connection: 'close' } : {})
  }
  if (serving.faults.outage.isOn()) return outOfOrder(response, 503)
  serving.answering.add(response)
  response.on('close', () => serving.answering.delete(response))

  const git = gitRequest(url)
  if (git) {
    const token = credentialIn(request.headers.authorization)
    const rule = serving.faults.request({ kind: 'git', method: request.method ?? 'GET', path: url.pathname, token })
    const met = rule && meeting(serving, rule, 'git', request, response)
    if (met && !(await before(met))) return
    return serveGit(serving.world, git, request, response, met && (() => after(met)))
  }
  const page = request.method === 'GET' && local ? await pageAt(serving.world, url.pathname) : null
  if (page !== null) {
    response
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      })
      .end(page)
    return
  }
  return serveApi(serving, url, request, response)
}

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

async function serveApi(serving: Serving, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { contract, contractFaults, world } = serving
  const method = (request.method ?? 'GET') as Method
  const path = url.pathname.replace(/^\/api\/v3(?=\/)/, '').replace(/^\/api\/graphql$/, '/graphql')
  const text = await readBody(request)
  const body = parseJson(text)
  const described = path !== '/graphql'
  const graphql = described ? null : String(body?.query)
  const rule = serving.faults.request({ kind: 'api', method, path, graphql, token: credentialIn(request.headers.authorization) })
  const met = rule && meeting(serving, rule, described ? 'rest' : 'graphql', request, response)
  if (met && !(await before(met))) return
  if (contract && described) contractFaults.push(...contract.request(method, path, url.searchParams, text === '' ? undefined : body))

  const headers: Record<string, string> = {
    'x-github-request-id': randomUUID().toUpperCase(),
    'x-github-media-type': 'github.v3; format=json',
  }
  let answer: Answer
  try {
    const actor = actorOf(world.state, request.headers.authorization)
    Object.assign(headers, rateLimit(serving, actor))
    if (body === undefined) refuse(400, 'Problems parsing JSON')
    refuseMedia(serving, request)
    answer =
      path === '/graphql' && method === 'POST'
        ? await answerGraphql(world, actor, body, serving.watch)
        : await route(serving, { actor, method, path, url, body })
  } catch (error) {
    const refused = refusalOf(error)
    if (!refused) throw error
    answer = refused
  }
  if (contract && described) contractFaults.push(...contract.response(method, path, answer.status, answer.body))
  if (met && (await after(met))) return
  send(response, answer.status, answer.body, { ...headers, ...answer.headers }, rule?.does === 'truncate')
}

function meeting(
  { world, closing }: Serving,
  rule: RequestRule,
  door: Met['door'],
  request: IncomingMessage,
  response: ServerResponse,
): Met {
  return { rule, door, request, response, world, closing, token: credentialIn(request.headers.authorization) }
}

/** GitHub would answer in another form (a diff, raw text, rendered HTML); JSON in its place would be a lie. */
function refuseMedia({ watch, unserved }: Serving, request: IncomingMessage): void {
  const asked = /\bvnd\.github\.(?:v3\.)?(?:raw|diff|patch|html|text|full|sha)\b/.exec(request.headers.accept ?? '')
  if (!asked) return
  unserved.push(`${request.method} ${request.url} as ${asked[0]}`)
  watch.loud(`offline GitHub: ${request.method} ${request.url} was asked as ${asked[0]}, which the rehearsal does not serve`)
  refuse(415, `Unsupported 'Accept' header: ${asked[0]}. Must accept 'application/json'.`)
}

const COMPILED = ROUTES.map((route) => ({ ...compileTemplate(route.path), route }))

async function route(
  serving: Serving,
  at: { actor: Actor; method: Method; path: string; url: URL; body: Record<string, unknown> },
): Promise<Answer> {
  const { world } = serving
  const path = byNumber(world, at.path)
  const match = bestMatch(
    COMPILED.filter(({ route }) => route.method === at.method),
    path,
  )
  if (!match) {
    const line = `${at.method} ${at.path}`
    serving.unserved.push(line)
    serving.watch.loud(`offline GitHub: ${line} is not served by the rehearsal; it was answered with 404`)
    return refuse(404, 'Not Found')
  }
  const params = parametersIn(match, path)
  return match.route.handle({ world, actor: at.actor, method: at.method, path: at.path, params, query: at.url.searchParams, body: at.body })
}

/** `/repositories/{id}` and all below it mean the repository, however it is called today. */
function byNumber(world: World, path: string): string {
  return path.replace(/^\/repositories\/(\d+)/, (whole, id: string) => {
    const repository = world.state.repositories.find((row) => row.id === Number(id))
    return repository ? `/repos/${fullName(world.state, repository)}` : whole
  })
}

const HOURLY = 5000

function rateLimit(serving: Serving, actor: Actor): Record<string, string> {
  const key = actor.kind === 'nobody' ? 'nobody' : actor.kind === 'app' ? `app ${actor.app.id}` : `account ${actor.account.id}`
  const at = Math.floor(Date.now() / 1000)
  const known = serving.limits.get(key)
  const window = known && known.reset > at ? known : { used: 0, reset: at + 3600 }
  serving.limits.set(key, window)
  window.used++
  return {
    'x-ratelimit-limit': String(HOURLY),
    // shown, never enforced: a rehearsal that runs dry would prove nothing
    'x-ratelimit-remaining': String(Math.max(0, HOURLY - window.used)),
    'x-ratelimit-used': String(window.used),
    'x-ratelimit-reset': String(window.reset),
    'x-ratelimit-resource': 'core',
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Undefined: no JSON object. An empty body is an empty one. */
function parseJson(text: string): Record<string, unknown> | undefined {
  if (text === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string>, isCut = false): void {
  const whole = body === undefined ? '' : JSON.stringify(body)
  const text = isCut ? whole.slice(0, whole.length / 2) : whole
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }
  response.writeHead(status, { server: 'offline-github', ...type, ...headers }).end(text)
}
