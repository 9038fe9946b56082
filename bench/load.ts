/** A load generator in a process of its own: signed deliveries over so many connections, each with one request under way. */
import { createHmac, randomUUID } from 'node:crypto'
import { connect } from 'node:net'

export interface LoadOrder {
  url: string
  secret: string
  body: string
  connections: number
  seconds: number
}
export interface LoadResult {
  seconds: number
  accepted: number
  refused: number
  /** Milliseconds. */
  p50: number
  p99: number
  longest: number
}

process.on('message', (order: LoadOrder) => {
  void shoot(order).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit(0))

async function shoot({ url, secret, body, connections, seconds }: LoadOrder): Promise<LoadResult> {
  const { hostname, port, pathname } = new URL(url)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const head = (guid: string) =>
    [
      `POST ${pathname} HTTP/1.1`,
      `host: ${hostname}`,
      'content-type: application/json',
      'x-github-event: issue_comment',
      `x-github-delivery: ${guid}`,
      'x-github-hook-id: 1',
      `x-hub-signature-256: sha256=${signature}`,
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n')

  const times: number[] = []
  let refused = 0
  const began = performance.now()
  const until = began + seconds * 1000
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname).setNoDelay(true)
      let sent = 0
      let answer = ''
      const next = () => {
        if (performance.now() >= until) return void socket.end()
        sent = performance.now()
        socket.write(head(randomUUID()))
      }
      socket.on('connect', next)
      socket.on('data', (data) => {
        answer += data.toString('latin1')
        if (!isWhole(answer)) return
        if (answer.startsWith('HTTP/1.1 20')) times.push(performance.now() - sent)
        else refused += 1
        answer = ''
        next()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve())
    })
  await Promise.all(Array.from({ length: connections }, one))
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN
  return { seconds: (performance.now() - began) / 1000, accepted: times.length, refused, p50: at(0.5), p99: at(0.99), longest: at(1) }
}

/** Fastify says how long its answer is, Node's own server sends it in chunks. */
function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer)?.[1]
  return length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= end + 4 + Number(length)
}
