/**
 * One operation at a time on a mirror or a Ticket's folder, inside this process and across processes (F326, F327, F328).
 *
 * The lock is the kernel's (`flock`), so its lease is its owner's life: whatever way the owner dies, the lock is free, and no
 * clock decides. Children that must not be overlapped get the open file (`hold`): if their parent dies, the lock lasts until
 * they have ended too. Node has no flock; the command takes it on the file description that it shares with us.
 */
import { spawn } from 'node:child_process'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Runs `work` alone. The file names its last owner, for the one who looks why something waits. */
export async function withLock<Result>(
  { path, purpose, signal }: { path: string; purpose: string; signal: AbortSignal },
  work: (hold: number) => Promise<Result>,
): Promise<Result> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'a+', 0o600)
  try {
    await take(file.fd, path, signal)
    await file.truncate(0)
    await file.appendFile(`process ${process.pid}: ${purpose}\n`)
    return await work(file.fd)
  } finally {
    await file.close()
  }
}

function take(fd: number, path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['--exclusive', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd], signal, killSignal: 'SIGKILL' })
    child.on('error', (cause) =>
      reject(signal.aborted ? signal.reason : new Error(`flock (util-linux) could not be started: ${cause.message}`, { cause })),
    )
    child.on('exit', (exit, killed) =>
      exit === 0 ? resolve() : reject(signal.aborted ? signal.reason : new Error(`flock ${path} failed (${killed ?? `exit ${exit}`})`)),
    )
  })
}
