/** Stands in front of Temporal's frontend and passes everything on, until it is told to refuse: then as for a key that was revoked. */
import { once } from 'node:events'
import { connect, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

export interface Doorkeeper {
  address: string
  /** From now on no worker gets work, those that wait for some included. */
  refuse(): void
  close(): Promise<void>
}

const POLL = /\/Poll\w+TaskQueue$/
/** gRPC's number. */
const PERMISSION_DENIED = '7'

export async function startDoorkeeper(frontend: string): Promise<Doorkeeper> {
  const upstream = connect(`http://${frontend}`)
  const polls = new Set<ServerHttp2Stream>()
  const refused = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': PERMISSION_DENIED, 'grpc-message': 'revoked' }
  let refuses = false
  const server = createServer()
  server.on('stream', (near, headers) => {
    near.on('error', () => undefined) // whoever asked is gone
    const isPoll = POLL.test(String(headers[':path']))
    if (isPoll && refuses) return near.respond(refused, { endStream: true })
    if (isPoll) polls.add(near)
    const { ':authority': _, ...asked } = headers
    const far = upstream.request(asked)
    near.pipe(far)
    near.on('close', () => {
      polls.delete(near)
      far.close()
    })
    far.on('error', () => near.close())
    far.on('response', (answer) => {
      if (near.destroyed || near.headersSent) return
      far.on('trailers', (trailers) => near.once('wantTrailers', () => near.sendTrailers(trailers)))
      near.respond(answer, { waitForTrailers: true })
      far.pipe(near)
    })
    return undefined
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    refuse() {
      refuses = true
      for (const poll of polls) if (!poll.headersSent) poll.respond(refused, { endStream: true })
    },
    async close() {
      upstream.destroy()
      server.close()
    },
  }
}
