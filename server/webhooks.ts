/**
 * The public listener for webhooks (spec M1, N10): bounded, checked, stored, and only then acknowledged. It stands on a port of its
 * own and serves one address; everything else is refused before its body is read. Bodies are never logged.
 */
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { createVerifier, type Delivery, REJECTIONS, type Rejection } from '../channels/github/verify.ts'
import { within } from './within.ts'

export type { Delivery } from '../channels/github/verify.ts'

/** Everything that can become of a request, each counted. */
export type WebhookOutcome =
  | 'stored'
  | 'duplicate'
  | 'previous-secret'
  | 'store-failed'
  | 'too-busy'
  | 'too-large'
  | 'unreadable'
  | 'unknown-address'
  | 'wrong-method'
  | 'failed'
  | `rejected-${Rejection}`

export type WebhookCounters = Record<WebhookOutcome, number>

export interface WebhookListener {
  /** Accepted secrets, the current one first. */
  secrets: readonly string[]
  /** Answers once the delivery is committed, or throws; then GitHub is told 503 and the delivery is fetched later (spec M3). */
  store(delivery: Delivery): Promise<'stored' | 'duplicate'>
  log: {
    info(facts: object, message: string): void
    warn(facts: object, message: string): void
    error(facts: object, message: string): void
  }
  counters: WebhookCounters
  /** Bodies are held in memory before anything is authenticated, so their sum is bounded (default 128 MiB). */
  maxBytesInFlight?: number
  /** GitHub waits ten seconds; an answer that would come later is 503 now (default 8.5 s). */
  storeTimeoutMs?: number
}

const PATH = '/webhooks/github'
/** GitHub's own cap: it delivers nothing larger. */
const BODY_LIMIT = 25 * 1024 * 1024
const MAX_BYTES_IN_FLIGHT = 128 * 1024 * 1024
const STORE_TIMEOUT_MS = 8_500

/** The caller listens and closes. */
export function webhookListener(given: WebhookListener): FastifyInstance {
  const verify = createVerifier(given.secrets)
  const { counters, log } = given
  const server = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: 10_000,
    // Timeouts are only looked at this often; the default of 30 s would let a slow client stay that long.
    http: { connectionsCheckingInterval: 1_000, headersTimeout: 5_000, requestTimeout: 10_000 },
    exposeHeadRoutes: false,
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const answer = (reply: FastifyReply, status: number, outcome: WebhookOutcome, message: string) => {
    counters[outcome] += 1
    return reply.code(status).send({ message })
  }

  const isFull = admission(given.maxBytesInFlight ?? MAX_BYTES_IN_FLIGHT)
  server.addHook('onRequest', async (request, reply) => {
    const isKnown = request.url.split('?', 1)[0] === PATH
    if (!isKnown) return answer(reply, 404, 'unknown-address', `Webhooks are received at ${PATH} only.`)
    if (request.method !== 'POST') return answer(reply.header('allow', 'POST'), 405, 'wrong-method', 'Webhooks are received by POST only.')
    if (isFull(request, reply))
      return answer(reply.header('retry-after', '5'), 503, 'too-busy', 'Too many deliveries at once; send this one again.')
    return undefined
  })

  server.post(PATH, async (request, reply) => {
    const verdict = await verify(request.headers, Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
    if (!verdict.ok) {
      log.warn({ reason: verdict.reason, status: verdict.status }, 'a webhook request was refused')
      return answer(reply, verdict.status, `rejected-${verdict.reason}`, verdict.message)
    }
    const { delivery } = verdict
    if (delivery.secretIndex > 0) counters['previous-secret'] += 1
    try {
      const outcome = await within(given.storeTimeoutMs ?? STORE_TIMEOUT_MS, 'not stored', given.store(delivery))
      const message = outcome === 'stored' ? 'The delivery is stored.' : 'The delivery is known already.'
      return answer(reply, delivery.event === 'ping' ? 200 : 202, outcome, message)
    } catch (error) {
      log.error({ event: delivery.event, guid: delivery.guid, error: reasonOf(error) }, 'a delivery could not be stored')
      return answer(reply.header('retry-after', '30'), 503, 'store-failed', 'The delivery cannot be stored now; send it again.')
    }
  })

  server.setErrorHandler((error: Error & { statusCode?: number; code?: string }, _request, reply) => {
    const status = error.statusCode ?? 500
    // The rest of the body is on its way; nobody will read it.
    if (status === 413) return answer(reply.header('connection', 'close'), 413, 'too-large', `A body may have at most ${BODY_LIMIT} bytes.`)
    if (status === 415) return answer(reply, 415, 'rejected-content-type', REJECTIONS['content-type'][1])
    if (status < 500) return answer(reply, status, 'unreadable', 'The request is malformed.')
    log.error({ error: reasonOf(error) }, 'the webhook listener failed')
    return answer(reply, 500, 'failed', 'The request failed.')
  })
  return server
}

export function webhookCounters(): WebhookCounters {
  const rejections = (Object.keys(REJECTIONS) as Rejection[]).map((reason) => [`rejected-${reason}` as const, 0] as const)
  return {
    stored: 0,
    duplicate: 0,
    'previous-secret': 0,
    'store-failed': 0,
    'too-busy': 0,
    'too-large': 0,
    unreadable: 0,
    'unknown-address': 0,
    'wrong-method': 0,
    failed: 0,
    ...(Object.fromEntries(rejections) as Record<`rejected-${Rejection}`, number>),
  }
}

/** A body without a length may become as large as the limit. What was taken is given back when the connection is done with it, whatever the end. */
function admission(limit: number): (request: FastifyRequest, reply: FastifyReply) => boolean {
  let inFlight = 0
  return (request, reply) => {
    const declared = Number(request.headers['content-length'])
    const bytes = Number.isSafeInteger(declared) && declared >= 0 ? Math.min(declared, BODY_LIMIT) : BODY_LIMIT
    if (inFlight + bytes > limit) return true
    inFlight += bytes
    reply.raw.once('close', () => {
      inFlight -= bytes
    })
    return false
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
