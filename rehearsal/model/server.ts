/**
 * The scripted model as a real HTTP server that speaks OpenAI's chat completions, streaming or not (the rehearsal's model, and
 * the tests'). It keeps nothing that decides an answer: a repeated request gets the same one, also after a restart.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Role } from '../../core/tool/tool.ts'
import { type ApiFault, type ChatRequest, cachedCharacters, chunks, completion, errorBody, parseRequest, type Stamp } from './protocol.ts'
import { choose, type Scenario } from './script.ts'
import { type View, viewOf } from './view.ts'

export interface ModelSettings {
  scenarios: readonly Scenario[]
  /** 0, the default: a free one. */
  port?: number
  /** The bearer key that every request must carry; without it none is asked for. */
  key?: string
  /** One line for each request that was answered. */
  log?: (line: string) => void
  /** Where an unexpected request is shown; standard error unless said otherwise. */
  complain?: (text: string) => void
  /** Looks at each request before it is answered; `overloaded` answers it with 503. Tests let things happen in between. */
  before?: (view: View) => Promise<'overloaded' | undefined> | 'overloaded' | undefined
  /** Milliseconds since 1970. */
  now?: () => number
}

export interface RecordedRequest {
  at: number
  role: Role
  step: number
  stream: boolean
  /** The line that answered, `<scenario>, "<line>"`; null for a request that was not expected, or not answered. */
  line: string | null
  body: ChatRequest
  /** The body as it came in. */
  text: string
}

export interface Model {
  /** The base address that a client is given, `http://127.0.0.1:<port>/v1`. */
  url: string
  /** Well-formed requests in the order in which they came, the last thousand. */
  requests(): readonly RecordedRequest[]
  /** What was said about each request that no line expected, and each that the protocol refuses. */
  unexpected(): readonly string[]
  close(): Promise<void>
}

const MODEL_NAME = 'scripted'
const RECORDED = 1_000
const OVERLOADED: ApiFault = { status: 503, code: 'overloaded', message: 'the scripted model is told to be overloaded' }
const BODY_BYTES = 64 * 1024 * 1024

export async function startModel(settings: ModelSettings): Promise<Model> {
  const now = settings.now ?? Date.now
  const complain = settings.complain ?? ((text: string) => void process.stderr.write(`scripted model: ${text}\n`))
  const requests: RecordedRequest[] = []
  const unexpected: string[] = []

  const refuse = (response: ServerResponse, fault: ApiFault): void => {
    if (fault.status !== 401) {
      unexpected.push(fault.message)
      complain(fault.message)
    }
    sendJson(response, fault.status, errorBody(fault))
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://model').pathname
    if (settings.key !== undefined && request.headers.authorization !== `Bearer ${settings.key}`) {
      return refuse(response, {
        status: 401,
        code: 'invalid_api_key',
        message: 'the bearer key is missing or not the one this server expects',
      })
    }
    if (path === '/v1/models' && request.method === 'GET') {
      return sendJson(response, 200, { object: 'list', data: [{ id: MODEL_NAME, object: 'model', created: 0, owned_by: 'rehearsal' }] })
    }
    if (path !== '/v1/chat/completions' || request.method !== 'POST') {
      const message = `${request.method} ${path} is not served; there are GET /v1/models and POST /v1/chat/completions`
      return refuse(response, { status: 404, code: 'unknown_url', message })
    }

    const body = await readBody(request)
    if ('fault' in body) return refuse(response, body.fault)
    const parsed = parseRequest(body.value)
    if ('fault' in parsed) return refuse(response, parsed.fault)

    const view = viewOf(parsed.request)
    const isOverloaded = (await settings.before?.(view)) === 'overloaded'
    const choice = choose(settings.scenarios, view)
    const line = isOverloaded || 'unexpected' in choice ? null : `${choice.scenario}, "${choice.line}"`
    const stream = parsed.request.stream === true
    requests.push({ at: now(), role: view.role, step: view.step, stream, line, body: parsed.request, text: body.text })
    if (requests.length > RECORDED) requests.shift()
    if (isOverloaded) return sendJson(response, OVERLOADED.status, errorBody(OVERLOADED))
    if ('unexpected' in choice) return refuse(response, { status: 400, code: 'unexpected_request', message: choice.unexpected })
    settings.log?.(`${view.role} step ${view.step}: ${line}`)

    const stamp: Stamp = {
      digest: createHash('sha256').update(body.text).digest('hex'),
      model: parsed.request.model,
      created: Math.floor(now() / 1000),
      promptCharacters: body.text.length,
      cachedCharacters: cachedCharacters(parsed.request),
    }
    if (!parsed.request.stream) {
      await thinking(response, choice.delayMs)
      if (response.destroyed) return
      return sendJson(response, 200, completion(choice.answer, stamp))
    }
    const [first, ...rest] = chunks(choice.answer, stamp, parsed.request.stream_options?.include_usage === true).map(event)
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    response.write(first)
    await thinking(response, choice.delayMs)
    if (response.destroyed) return
    for (const chunk of rest) response.write(chunk)
    response.end('data: [DONE]\n\n')
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.destroyed) return // the client left while it sent: nobody is there to answer
      const message = `the scripted model itself failed: ${error instanceof Error ? error.stack : String(error)}`
      if (!response.headersSent) return refuse(response, { status: 500, code: 'server_error', message })
      complain(message)
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => requests,
    unexpected: () => unexpected,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<{ value: unknown; text: string } | { fault: ApiFault }> {
  const parts: Buffer[] = []
  let bytes = 0
  // Leaving the loop must not destroy the socket that the refusal goes out on.
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    bytes += part.length
    if (bytes > BODY_BYTES) return { fault: { status: 413, code: 'request_too_large', message: `the body is above ${BODY_BYTES} bytes` } }
    parts.push(part)
  }
  const text = Buffer.concat(parts).toString('utf8')
  try {
    return { value: JSON.parse(text), text }
  } catch (error) {
    return { fault: { status: 400, code: 'invalid_json', message: `the body is no JSON: ${(error as Error).message}` } }
  }
}

/** Ends early when the client leaves, so that a cancelled request holds no timer. */
async function thinking(response: ServerResponse, ms: number): Promise<void> {
  if (ms === 0) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function event(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
  response.end(body)
}
