/** A tiny listener for webhooks, for this folder's tests: keeps what it is sent and answers with the status it was told. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  headers: IncomingHttpHeaders
  raw: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever a payload holds
  payload: any
}

export interface Receiver {
  url: string
  received: Received[]
  answer: number
  /** What was heard as `event.action`, in order. */
  heard(): string[]
  close(): Promise<void>
}

export async function listen(): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const raw = Buffer.concat(chunks)
    received.push({ headers: request.headers, raw, payload: JSON.parse(raw.toString()) })
    response.writeHead(receiver.answer).end('noted')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/github`,
    received,
    answer: 202,
    heard: () => received.map(({ headers, payload }) => [headers['x-github-event'], payload.action].filter(Boolean).join('.')),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}
