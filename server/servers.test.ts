/** What ops ask of the listeners, over a real socket. */
import { connect } from 'node:net'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { type Servers, startServers } from './servers.ts'

let servers: Servers
afterEach(() => servers.close())

const port = { port: 0, chosen: true }
const start = async (isReady: () => Promise<void>) => {
  servers = await startServers({
    host: '127.0.0.1',
    panelPort: port,
    webhookPort: port,
    webhookSecrets: ['a secret'],
    store: async () => 'stored',
    isReady,
    log: pino({ level: 'silent' }),
  })
}

test('[F010] [M1] a refusal in Chinese arrives whole, and its length counts bytes', async () => {
  const reason = '数据库正在关闭，请稍后再试 🐟'
  await start(() => Promise.reject(new Error(reason)))
  const raw = await askRaw(servers.panelUrl, '/healthz')
  const end = raw.indexOf('\r\n\r\n')
  const body = raw.subarray(end + 4)
  expect(raw.toString()).toMatch(/^HTTP\/1\.1 503 /)
  expect(Number(/content-length: (\d+)/i.exec(raw.subarray(0, end).toString())?.[1])).toBe(body.byteLength)
  expect(JSON.parse(body.toString())).toEqual({ status: 'not ready', reason })
  expect(body.byteLength).toBeGreaterThan(body.toString().length)
})

test('[F010] an address in Chinese is refused by both listeners with a body that is whole', async () => {
  await start(async () => undefined)
  for (const base of [servers.panelUrl, servers.webhookUrl!]) {
    const answer = await fetch(`${base}/网络钩子?说=你好`, { method: 'POST', body: '你好' })
    expect(answer.status).toBe(404)
    const body = await answer.arrayBuffer()
    expect(Number(answer.headers.get('content-length'))).toBe(body.byteLength)
    expect(JSON.parse(Buffer.from(body).toString())).toHaveProperty('message')
  }
})

/** All bytes of the answer. */
function askRaw(base: string, path: string): Promise<Buffer> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const heard: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`))
    socket.on('data', (chunk) => heard.push(chunk))
    socket.once('error', reject)
    socket.once('close', () => resolve(Buffer.concat(heard)))
  })
}
