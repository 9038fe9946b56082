/** The product alone, in a process of its own that can be killed, and that says what it has taken so far. */
import { Session } from 'node:inspector/promises'
import { pino } from 'pino'
import { createSandbox } from '../activities/workspace/sandbox.ts'
import { type Program, type ProgramGiven, startProgram } from '../worker/program.ts'

/** With `start` it starts first; with `memory` it collects garbage, which takes CPU, and says what is left. */
export interface ProgramOrder {
  start?: Omit<ProgramGiven, 'sandbox' | 'log'>
  memory?: boolean
}
export interface Taken {
  /** CPU of all its threads since its beginning, in milliseconds. */
  cpuMs: number
  memory: { heapBytes: number; residentBytes: number } | null
}

let program: Program | null = null

process.on('message', async ({ start, memory = false }: ProgramOrder) => {
  if (start) {
    const sandbox = createSandbox({ mode: 'off', allowedHosts: [] })
    program = await startProgram({ ...start, sandbox, log: pino({ level: 'error' }, process.stderr) })
  }
  const { user, system } = process.cpuUsage()
  const cpuMs = (user + system) / 1000
  const left = memory ? { heapBytes: await collectAll(), residentBytes: process.memoryUsage.rss() } : null
  process.send?.({ cpuMs, memory: left } satisfies Taken)
})
process.on('disconnect', async () => {
  await program?.stop()
  process.exit(0)
})

/** The heaps of all threads after a collection: workflows live in a thread of Temporal's worker, which only the inspector reaches. */
async function collectAll(): Promise<number> {
  const session = new Session()
  session.connect()
  const threads: string[] = []
  session.on('NodeWorker.attachedToWorker', ({ params }) => threads.push(params.sessionId))
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })

  const inThread = (sessionId: string) => (method: string) =>
    new Promise<object>((resolve) => {
      const onMessage = ({ params }: { params: { sessionId: string; message: string } }) => {
        if (params.sessionId !== sessionId) return
        session.off('NodeWorker.receivedMessageFromWorker', onMessage)
        resolve(JSON.parse(params.message).result)
      }
      session.on('NodeWorker.receivedMessageFromWorker', onMessage)
      void session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id: 1, method }) })
    })
  let used = 0
  for (const ask of [(method: string) => session.post(method) as Promise<unknown>, ...threads.map(inThread)]) {
    await ask('HeapProfiler.collectGarbage')
    used += ((await ask('Runtime.getHeapUsage')) as { usedSize: number }).usedSize
  }
  session.disconnect()
  return used
}
