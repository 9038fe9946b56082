/** Stands before a service's port: open, everything passes; shut, every connection is cut and none is let in, as with a service that is away. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Gate {
  address: string
  shut(): void
  open(): void
  close(): Promise<void>
}

export async function openGate(address: string): Promise<Gate> {
  const [host, port] = address.split(':')
  const sockets = new Set<Socket>()
  let isOpen = true
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined) // its end is all that matters, and that follows
    socket.once('close', () => sockets.delete(socket))
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((inner) => {
    if (!isOpen) return inner.destroy()
    const outer = connect(Number(port), host)
    keep(inner)
    keep(outer)
    inner.pipe(outer).pipe(inner)
    inner.once('close', () => outer.destroy())
    outer.once('close', () => inner.destroy())
    return undefined
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut() {
      isOpen = false
      cut()
    },
    open() {
      isOpen = true
    },
    async close() {
      isOpen = false
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
