/** Stands before a service's port and can make it be away, or hang. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  /** `host:port`. */
  address: string
  /** Every connection is cut and none is let in, as with a service that is away. */
  shut(): void
  /** Connections are taken and nothing is said, as by a service that hangs. */
  hang(): void
  /** Everything passes, what was held back too. */
  open(): void
  close(): Promise<void>
}

/** `target`: `host:port`. */
export async function openGate(target: string): Promise<Gate> {
  const { hostname, port } = new URL(`tcp://${target}`)
  const sockets = new Set<Socket>()
  let state: 'open' | 'shut' | 'hanging' = 'open'
  const server = createServer((near) => {
    if (state === 'shut') return near.destroy()
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => to.destroy()) // a broken line is the point
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    if (state === 'hanging') for (const socket of [near, far]) socket.pause()
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut() {
      state = 'shut'
      cut()
    },
    hang() {
      state = 'hanging'
      for (const socket of sockets) socket.pause()
    },
    open() {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
    async close() {
      state = 'shut'
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

export const gateBefore = (url: string): Promise<Gate> => openGate(new URL(url).host)

/** The same URL, through the gate. */
export function through({ address }: Gate, url: string): string {
  const there = new URL(url)
  there.host = address
  return there.href
}
