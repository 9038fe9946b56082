import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { type Delivery, type WebhookListener, webhookCounters, webhookListener } from './webhooks.ts'

const secret = 'current-secret'
const previous = 'previous-secret'
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function listener(given: Partial<WebhookListener> = {}) {
  const stored: Delivery[] = []
  const logged: string[] = []
  const log = (facts: object, message: string) => logged.push(`${message} ${JSON.stringify(facts)}`)
  const counters = webhookCounters()
  const server = webhookListener({
    secrets: [secret, previous],
    store: async (delivery) => {
      stored.push(delivery)
      return 'stored'
    },
    log: { info: log, warn: log, error: log },
    counters,
    ...given,
  })
  closing.push(() => server.close())
  const post = (body: string | Buffer, headers: Record<string, string | string[] | undefined> = {}) =>
    server.inject({
      method: 'POST',
      url: '/webhooks/github',
      payload: Buffer.from(body),
      headers: headersFor(body, headers),
    } as InjectOptions)
  const open = async () => {
    await server.listen({ host: '127.0.0.1', port: 0 })
    return (server.server.address() as AddressInfo).port
  }
  return { server, stored, logged, counters, post, open }
}

const signed = (body: string | Buffer, key = secret) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`

function headersFor(body: string | Buffer, changed: Record<string, string | string[] | undefined> = {}): Record<string, string | string[]> {
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'watch',
    'x-github-delivery': randomUUID(),
    'x-github-hook-id': '292430182',
    'x-hub-signature-256': signed(body),
    ...changed,
  }
  return Object.fromEntries(Object.entries(headers as Record<string, string | string[]>).filter(([, value]) => value !== undefined))
}

const small = JSON.stringify({ action: 'started', text: 'a secret word: swordfish 🐟 你好' })
const pushBody = JSON.stringify({ ref: 'refs/heads/main', before: '0', after: '1', commits: [], repository: { id: 1 } })

describe('a delivery that is one', () => {
  test.each<[string, string | Buffer, Record<string, string>]>([
    ['[F006] with emoji and Chinese text', small, {}],
    ['[F005] signed with the previous secret', small, { 'x-hub-signature-256': signed(small, previous) }],
    ['[F008] with a byte order mark', `\uFEFF${small}`, {}],
    ['[F013] with a content type in capitals', small, { 'content-type': 'Application/JSON; charset=UTF-8' }],
    ['[F022] of an event named __proto__', small, { 'x-github-event': '__proto__' }],
    ['[F022] of an event named constructor', small, { 'x-github-event': 'constructor' }],
    ['[F030] of an event that nobody knows', small, { 'x-github-event': 'issue_dependencies' }],
    ['[N10] with the identity encoding', small, { 'content-encoding': 'identity' }],
    ['[N10] with a delivery id that is no GUID', small, { 'x-github-delivery': '1732924800000' }],
  ])('[M1] %s is stored, then acknowledged', async (_, body, headers) => {
    const { post, stored, counters } = listener()
    const answer = await post(body, headers)
    expect(answer.statusCode).toBe(202)
    expect(stored).toHaveLength(1)
    expect(stored[0]?.body).toBe(small)
    expect(stored[0]?.payload).toEqual(JSON.parse(small))
    expect(counters.stored).toBe(1)
    expect(counters['previous-secret']).toBe(headers['x-hub-signature-256'] ? 1 : 0)
  })

  test('[F014] as a form is decoded after its bytes were verified', async () => {
    const { post, stored } = listener()
    const form = `payload=${encodeURIComponent(small).replaceAll('%20', '+')}`
    expect((await post(form, { 'content-type': 'application/x-www-form-urlencoded' })).statusCode).toBe(202)
    expect(stored[0]?.body).toBe(small)
  })

  test('[F029] of a ping is stored and answered 200', async () => {
    const { post, stored } = listener()
    expect((await post('{"zen":"Keep it logically awesome."}', { 'x-github-event': 'ping' })).statusCode).toBe(200)
    expect(stored).toHaveLength(1)
  })

  test('[M2] that is known already is acknowledged and counted', async () => {
    const { post, counters } = listener({ store: async () => 'duplicate' })
    expect((await post(small)).statusCode).toBe(202)
    expect(counters).toMatchObject({ stored: 0, duplicate: 1 })
  })

  test('[F052] keeps ids beyond 2^53 exact', async () => {
    const { post, stored } = listener()
    await post('{"comment":{"id":9007199254740993}}')
    expect(stored[0]?.payload).toEqual({ comment: { id: '9007199254740993' } })
  })

  test('[M1] is not acknowledged before its delivery is stored', async () => {
    const committed = Promise.withResolvers<'stored'>()
    const { post } = listener({ store: () => committed.promise })
    let isAnswered = false
    const answer = post(small).then((response) => {
      isAnswered = true
      return response
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isAnswered).toBe(false)
    committed.resolve('stored')
    expect((await answer).statusCode).toBe(202)
  })
})

describe('what is refused, with nothing stored', () => {
  const lone = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])
  const upper = signed(small).replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase())
  const sha1 = `sha1=${createHmac('sha1', secret).update(small).digest('hex')}`
  const zipped = gzipSync(small)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  test.each<[string, number, string | Buffer, Record<string, string | string[] | undefined>]>([
    ['[F001] no signature', 401, small, { 'x-hub-signature-256': undefined }],
    ['[F002] one byte changed after signing', 401, small, { 'x-hub-signature-256': signed(small.replace('fish', 'fisk')) }],
    ['[F002] the signature of another secret', 401, small, { 'x-hub-signature-256': signed(small, 'guess') }],
    ['[F003] only the legacy signature', 401, small, { 'x-hub-signature-256': undefined, 'x-hub-signature': sha1 }],
    ['[F004] a signature in capitals', 401, small, { 'x-hub-signature-256': upper }],
    ['[F004] a signature of another length', 401, small, { 'x-hub-signature-256': 'sha256=abc' }],
    ['[F004] a signature that is no hex', 401, small, { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` }],
    ['[F004] an empty signature', 401, small, { 'x-hub-signature-256': '' }],
    ['[F021] two signatures, the first one right', 401, small, { 'x-hub-signature-256': [signed(small), signed('x')] }],
    ['[F021] two signatures in one header', 401, small, { 'x-hub-signature-256': `${signed(small)}, ${signed('x')}` }],
    ['[F009] a byte that is no UTF-8', 400, lone, {}],
    ['[F011] null', 400, 'null', {}],
    ['[F011] a number', 400, '1', {}],
    ['[F011] a text', 400, '"x"', {}],
    ['[F011] a list', 400, '[]', {}],
    ['[F012] JSON that is cut off', 400, '{"a":"b', {}],
    ['[N10] an empty body', 400, '', {}],
    ['[F014] a form without payload', 400, 'other=1', form],
    ['[F014] a form with bytes that are no UTF-8', 400, 'payload=%FF', form],
    ['[F015] no content type', 415, small, { 'content-type': undefined }],
    ['[F015] a content type of nothing', 415, small, { 'content-type': ';;' }],
    ['[F015] another content type', 415, small, { 'content-type': 'text/plain' }],
    ['[F016] a compressed body', 415, zipped, { 'content-encoding': 'gzip' }],
    ['[F022] an event of 5 KB', 400, small, { 'x-github-event': 'e'.repeat(5_000) }],
    ['[F022] an event with other characters', 400, small, { 'x-github-event': 'issues.opened' }],
    ['[N10] no event', 400, small, { 'x-github-event': undefined }],
    ['[N10] two events', 400, small, { 'x-github-event': ['push', 'issues'] }],
    ['[F024] no delivery id', 400, small, { 'x-github-delivery': undefined }],
    ['[F024] a delivery id of 100 characters', 400, small, { 'x-github-delivery': 'a'.repeat(100) }],
    ['[N10] two delivery ids', 400, small, { 'x-github-delivery': ['a', 'b'] }],
    ['[N10] a hook id that is no number', 400, small, { 'x-github-hook-id': '1; drop' }],
    ['[F023] a push labelled as a comment', 400, pushBody, { 'x-github-event': 'issue_comment' }],
    ['[F023] a comment labelled as an issue', 400, '{"action":"opened","issue":{},"comment":{}}', { 'x-github-event': 'issues' }],
    ['[F023] a pull request labelled as a push', 400, '{"pull_request":{},"before":"a","after":"b"}', { 'x-github-event': 'push' }],
  ])('[N10] %s: %i', async (_, status, body, headers) => {
    const { post, stored, logged, counters } = listener()
    const answer = await post(body, headers)
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-length']).toBe(String(answer.rawPayload.byteLength))
    expect(answer.json().message).toMatch(/^[A-Z].*\.$/)
    expect(stored).toEqual([])
    expect(logged.join()).not.toContain('swordfish')
    expect(Object.values(counters).reduce((sum, count) => sum + count)).toBe(1)
    expect((await post(small)).statusCode).toBe(202)
  })

  test('[M8] neither a refusal nor a failed store writes body, secret or signature to the log', async () => {
    const { post, logged } = listener({ store: () => Promise.reject(new Error('connection refused')) })
    await post(small)
    await post(small, { 'x-hub-signature-256': 'sha256=abc' })
    expect(logged).toHaveLength(2)
    expect(logged.join()).not.toMatch(/swordfish|sha256=|secret"|current-secret/)
  })
})

describe('a store that fails', () => {
  test.each<[string, WebhookListener['store']]>([
    ['[F025] rejects', () => Promise.reject(new Error('the database is away'))],
    [
      '[F025] throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['[F026] does not answer in time', () => new Promise(() => undefined)],
  ])('[M1] %s: 503 and never a 2xx', async (_, store) => {
    const { post, counters } = listener({ store, storeTimeoutMs: 30 })
    const answer = await post(small)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect(counters['store-failed']).toBe(1)
  })
})

describe('on a real socket', () => {
  test.each([
    ['GET', '/webhooks/github', 405],
    ['HEAD', '/webhooks/github', 405],
    ['PROPFIND', '/webhooks/github', 405],
    ['POST', '/webhooks/github/', 404],
    ['POST', '/webhook', 404],
    ['GET', '/', 404],
  ])('[F027] %s %s is answered %i at once', async (method, path, status) => {
    const port = await listener().open()
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: headersFor(small) as Record<string, string>,
      ...(method === 'POST' ? { body: small } : {}),
    })
    expect(answer.status).toBe(status)
  })

  test('[F018] a body above 25 MB with an honest length is refused before it is sent', async () => {
    const { open, stored, counters } = listener()
    const answer = await talk(await open(), (socket) => {
      socket.write(head({ 'content-length': '27000000' }))
    })
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    expect(stored).toEqual([])
    expect(counters['too-large']).toBe(1)
  })

  test('[F018] a body above 25 MB without a length is refused too', async () => {
    const { open, stored } = listener()
    const port = await open()
    let left = 40
    const body = new ReadableStream({
      pull(controller) {
        left -= 1
        if (left >= 0) controller.enqueue(new Uint8Array(1024 * 1024))
        else controller.close()
      },
    })
    const outcome = await fetch(`http://127.0.0.1:${port}/webhooks/github`, {
      method: 'POST',
      headers: headersFor('') as Record<string, string>,
      body,
      duplex: 'half',
    } as RequestInit).then(
      (answer) => answer.status,
      () => 'cut off',
    )
    expect([413, 'cut off']).toContain(outcome)
    expect(stored).toEqual([])
  })

  test('[F017] a body of 25 MB is taken whole', async () => {
    const { open, stored } = listener()
    const port = await open()
    const body = JSON.stringify({ text: 'x'.repeat(25_000_000 - 20) })
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/github`, {
      method: 'POST',
      headers: headersFor(body) as Record<string, string>,
      body,
    })
    expect(answer.status).toBe(202)
    expect(stored[0]?.body.length).toBe(body.length)
  })

  test('[F020] both a length and chunks: 400', async () => {
    const { open, stored } = listener()
    const answer = await talk(await open(), (socket) => {
      socket.write(`${head({ 'content-length': '5', 'transfer-encoding': 'chunked' })}5\r\nhello\r\n0\r\n\r\n`)
    })
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(stored).toEqual([])
  })

  test('[F019] headers that come one byte at a time are cut off with 408', async () => {
    const { open, stored } = listener()
    const answer = await talk(await open(), (socket) => {
      const bytes = head({ 'content-length': '5' })
      let sent = 0
      const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(bytes.charAt(sent++))), 250)
      socket.once('close', () => clearInterval(timer))
    })
    expect(answer).toMatch(/^HTTP\/1.1 408 /)
    expect(stored).toEqual([])
  }, 30_000)

  test('[N10] a connection that ends inside the body stores nothing and the next one is served', async () => {
    const { open, stored, post } = listener()
    const port = await open()
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`${head({ 'content-length': '1000' })}{"a":`, () => socket.destroy())
      })
      socket.once('close', () => resolve())
    })
    expect((await post(small)).statusCode).toBe(202)
    expect(stored).toHaveLength(1)
  })

  test('[M2] a character that is split over two segments arrives whole', async () => {
    const { open, stored } = listener()
    const bytes = Buffer.from(small)
    const middle = bytes.indexOf(Buffer.from('你')) + 1
    const answer = await talk(await open(), async (socket) => {
      socket.setNoDelay()
      socket.write(head({ ...(headersFor(small) as Record<string, string>), 'content-length': String(bytes.length), connection: 'close' }))
      socket.write(bytes.subarray(0, middle))
      await new Promise((resolve) => setTimeout(resolve, 30))
      socket.write(bytes.subarray(middle))
    })
    expect(answer).toMatch(/^HTTP\/1.1 202 /)
    expect(stored[0]?.body).toBe(small)
  })

  test('[M1] above the bytes in flight the next delivery is told to come again, and room is given back', async () => {
    const first = Promise.withResolvers<'stored'>()
    const { open, counters } = listener({ store: () => first.promise, maxBytesInFlight: 100 })
    const port = await open()
    const send = () =>
      fetch(`http://127.0.0.1:${port}/webhooks/github`, {
        method: 'POST',
        headers: headersFor(small) as Record<string, string>,
        body: small,
      })
    const answers = [send(), send(), send()]
    const refused = await Promise.race(answers)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    first.resolve('stored')
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toContain(202)
    expect(counters['too-busy']).toBeGreaterThan(0)
    expect((await send()).status).toBe(202)
  })
})

test('[M5] every example payload of GitHub, signed, is stored and acknowledged', async () => {
  const file = createRequire(import.meta.url).resolve('@octokit/webhooks-examples/api.github.com/index.json')
  const events = JSON.parse(readFileSync(file, 'utf8')) as { name: string; examples: unknown[] }[]
  const unique = new Map(events.flatMap(({ name, examples }) => examples.map((example) => [JSON.stringify(example), name] as const)))
  const { post, stored } = listener()
  for (const [body, name] of unique) expect((await post(body, { 'x-github-event': name })).statusCode, name).toBeLessThan(300)
  expect(unique.size).toBe(324)
  expect(stored).toHaveLength(324)
}, 60_000)

test('[F005] without a secret there is no listener', () => {
  expect(() => listener({ secrets: [''] })).toThrow(/GITHUB_WEBHOOK_SECRET/)
})

function head(headers: Record<string, string>): string {
  const all = { host: 'localhost', 'content-type': 'application/json', 'x-github-event': 'watch', 'x-github-delivery': 'd-1', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return ['POST /webhooks/github HTTP/1.1', ...lines, '', ''].join('\r\n')
}

/** What the server says until it closes the connection. */
function talk(port: number, speak: (socket: ReturnType<typeof connect>) => void): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => speak(socket))
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk.toString()
    })
    socket.on('error', (error) => {
      heard += `\n${error.message}`
    })
    socket.once('close', () => resolve(heard))
  })
}
