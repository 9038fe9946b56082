/**
 * A real pipe for a child's output. Node gives children sockets, and a program that writes to /dev/stderr by name, as many
 * scripts do, cannot open a socket. Node has no call for a pipe; a FIFO without a name is one.
 */
import { execFile } from 'node:child_process'
import { closeSync, constants, open } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface Pipe {
  /** For the child, twice if both streams shall keep their order. */
  write: number
  /** At once, so that nothing happens between the start of the child and the first look at it. */
  closeWrite(): void
  /** Each chunk is taken before the next is read, so a slow taker slows the writer. `failed`: taking threw, nothing more is read. */
  read(take: (chunk: Buffer) => Promise<void>, failed: (error: unknown) => void): void
  /** Until everything is read, or nothing came for so long though somebody keeps the pipe open. Closes it. */
  drain(silenceMs: number): Promise<void>
}

export async function openPipe(): Promise<Pipe> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-pipe-'))
  const path = join(folder, 'pipe')
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', path])
    // bare descriptors: the socket owns and closes its own, which a file handle would do as well
    const reader = await promisify(open)(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = await promisify(open)(path, constants.O_WRONLY)
    return pipeOf(new Socket({ fd: reader, readable: true, writable: false }), writer, () => closeSync(writer))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function pipeOf(socket: Socket, write: number, closeWrite: () => void): Pipe {
  let chunks = 0
  let taking: Promise<void> = Promise.resolve()
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    write,
    closeWrite,
    read(take, failed) {
      socket.on('error', failed)
      socket.on('data', (chunk: Buffer) => {
        chunks++
        socket.pause()
        taking = take(chunk).then(
          () => void socket.resume(),
          (error) => {
            failed(error)
            socket.destroy()
          },
        )
      })
    },
    async drain(silenceMs) {
      for (let seen = -1; seen !== chunks && !socket.closed; ) {
        seen = chunks
        await Promise.race([closed, sleep(silenceMs, undefined, { ref: false })])
      }
      socket.destroy()
      await taking
    },
  }
}
