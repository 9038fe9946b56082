/** Starts the rehearsal's outside world as a child process and reads its addresses. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { OutsideAddresses } from '../rehearsal/main.ts'
import { ROOT } from './environment.ts'

export interface Outside extends OutsideAddresses {
  /** Settles when it ends without `stop`, with what it said last. */
  died: Promise<string>
  stop(): Promise<void>
}

export async function startOutside(folder: string): Promise<Outside> {
  // its stdin is our life line: it ends when we do, kill -9 included
  const child = spawn(process.execPath, [join(ROOT, 'rehearsal', 'main.ts'), '--folder', folder], { stdio: ['pipe', 'pipe', 'pipe'] })
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-4_000)
  })
  const exited = once(child, 'exit')
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then(() => null),
  ])
  if (line === null) throw new Error(`the rehearsal's outside world did not start: ${words.trim() || 'it said nothing'}`)
  let stopping = false
  return {
    ...(JSON.parse(line) as OutsideAddresses),
    died: new Promise((resolve) => void exited.then(() => stopping || resolve(words.trim()))),
    async stop() {
      stopping = true
      child.kill('SIGTERM')
      await exited
    },
  }
}
