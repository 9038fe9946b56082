/** A line to a server that a test can cut and mend. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Line {
  address: string
  /** Nobody on this side reaches the server until it is mended; what was open breaks. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function lineTo(target: string): Promise<Line> {
  const { hostname, port } = new URL(`tcp://${target}`)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.pipe(other)
      socket.on('error', () => other.destroy()) // a broken line is the point
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
  })
  const breakAll = () => {
    for (const socket of open) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      breakAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      server.close()
      breakAll()
      await once(server, 'close')
    },
  }
}
