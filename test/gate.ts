/** A gate in front of a service: open it forwards; shut it takes connections and says nothing, as a server that hangs. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  port: number
  shut(): void
  open(): void
  close(): Promise<void>
}

export async function openGate(to: { host: string; port: number }): Promise<Gate> {
  const sockets = new Set<Socket>()
  let isOpen = true
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((near) => {
    const far = keep(connect(to))
    keep(near)
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => other.write(chunk))
      from.on('close', () => other.destroy())
      from.on('error', () => other.destroy())
    }
    if (!isOpen) for (const socket of [near, far]) socket.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    shut() {
      isOpen = false
      for (const socket of sockets) socket.pause()
    },
    open() {
      isOpen = true
      for (const socket of sockets) socket.resume()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The same address, through the gate. */
export function through({ port }: Gate, url: string): string {
  const there = new URL(url)
  there.host = `127.0.0.1:${port}`
  return there.href
}
