/** The program of a house, running: in the test's own process, or as a child that can be killed at any moment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type ProgramGiven, startProgram } from '../../worker/program.ts'

export interface Running {
  webhookUrl: string
  panelUrl: string
  stop(): Promise<void>
  kill(): Promise<void>
}

/** All of what a program is given that can be written down. */
export type Run = Omit<ProgramGiven, 'sandbox' | 'log'>
export type ChildRun = Run & { sandbox: 'bubblewrap' | 'off' }

export async function inThisProcess(given: ProgramGiven): Promise<Running> {
  const { servers, stop } = await startProgram(given)
  return {
    webhookUrl: servers.webhookUrl!,
    panelUrl: servers.panelUrl,
    stop,
    kill: () => Promise.reject(new Error('a program in the test\'s own process cannot be killed: open the house with "child"')),
  }
}

const ENTRY = fileURLToPath(new URL('program-process.ts', import.meta.url))

/** `onText` gets what it logs. */
export async function inChild(run: ChildRun, onText: (text: string) => void): Promise<Running> {
  // its stdin is our life line: it ends when the test's process does
  const child = spawn(process.execPath, [ENTRY], { stdio: ['pipe', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  child.stdin.write(`${JSON.stringify(run)}\n`)
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => {
    words += chunk.toString()
    onText(chunk.toString())
  })
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then(() => null),
  ])
  if (line === null) throw new Error(`the program did not start: ${words.slice(-2_000)}`)
  const end = (signal: 'SIGTERM' | 'SIGKILL') => async () => {
    child.kill(signal)
    await exited
  }
  return { ...(JSON.parse(line) as Pick<Running, 'webhookUrl' | 'panelUrl'>), stop: end('SIGTERM'), kill: end('SIGKILL') }
}
