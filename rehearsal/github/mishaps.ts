/** Carries out a request's rule on its real socket: before the work is done, or after it was done and before anybody hears of it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pause, type RequestRule } from './faults.ts'
import type { World } from './world.ts'

export interface Met {
  rule: RequestRule
  request: IncomingMessage
  response: ServerResponse
  token: string | null
  /** Which of GitHub's doors: each says the same thing in its own way. */
  door: 'rest' | 'graphql' | 'git'
  world: World
  closing: AbortSignal
}

/** Whether the work is to be done at all; if not, the request has had its end. */
export async function before(met: Met): Promise<boolean> {
  const { rule, response } = met
  switch (rule.does) {
    case 'delay':
      await pause(rule.ms, met.closing)
      // a server that died while it waited has done nothing
      if (met.closing.aborted) reset(met)
      return !met.closing.aborted
    case 'hang':
      await pause(rule.ms, met.closing)
      reset(met)
      return false
    case 'reset before':
      reset(met)
      return false
    case '502 before':
      outOfOrder(response, 502)
      return false
    case 'secondary limit':
      refuseJson(response, 403, SECONDARY, { 'retry-after': String(rule.seconds ?? 60) })
      return false
    case 'primary limit':
      refusePrimary(met, rule.seconds ?? 3600)
      return false
    case 'token expired':
      expire(met)
      return false
    case '502 after commit':
    case 'reset after commit':
    case 'hang after commit':
    case 'truncate':
      return true
  }
}

/** The work is done: whether its answer is lost, and the request has had another end. */
export async function after(met: Met): Promise<boolean> {
  switch (met.rule.does) {
    case '502 after commit':
      outOfOrder(met.response, 502)
      return true
    case 'hang after commit':
      await pause(met.rule.ms, met.closing)
      reset(met)
      return true
    case 'reset after commit':
      reset(met)
      return true
    default:
      return false
  }
}

const PAGE = { 502: 'Bad Gateway', 503: 'Service Unavailable' } as const

/** As GitHub's front servers answer for a back end that does not: a page, no JSON. */
export function outOfOrder(response: ServerResponse, status: 502 | 503): void {
  const page = `<html><head><title>${status} ${PAGE[status]}</title></head><body><h1>${status} ${PAGE[status]}</h1></body></html>\n`
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(page)
}

function reset({ request }: Met): void {
  request.socket.resetAndDestroy()
}

const LIMITS = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api'
const SECONDARY = {
  message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
  documentation_url: `${LIMITS}#about-secondary-rate-limits`,
}

function refusePrimary({ response, door }: Met, seconds: number): void {
  const headers = {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-used': '5000',
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + seconds),
    'x-ratelimit-resource': door === 'graphql' ? 'graphql' : 'core',
  }
  const message = 'API rate limit exceeded for installation.'
  // GraphQL refuses with status 200, as it does everything
  if (door === 'graphql') refuseJson(response, 200, { errors: [{ type: 'RATE_LIMITED', message }] }, headers)
  else refuseJson(response, 403, { message, documentation_url: LIMITS }, headers)
}

/** The token has ended for good; the next one is another. */
function expire({ world, token, response, door }: Met): void {
  const row = world.state.tokens.find((candidate) => candidate.token === token)
  world.change(() => {
    if (row?.installation) row.installation.expiresAt = new Date(0).toISOString()
  })
  if (door === 'git') {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'www-authenticate': 'Basic realm="GitHub"' }
    response.writeHead(401, headers).end('Invalid username or token.\n')
  } else {
    refuseJson(response, 401, { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest', status: '401' }, {})
  }
}

function refuseJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string>): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(body))
}
