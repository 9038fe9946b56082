/** The program alone, as a process that a test can kill: one JSON line in with what it is given, one out with its addresses. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { createSandbox } from '../../activities/workspace/sandbox.ts'
import { startProgram } from '../../worker/program.ts'
import type { ChildRun } from './running.ts'

const input = createInterface({ input: process.stdin })
const [line] = await once(input, 'line')
const { sandbox, ...run } = JSON.parse(String(line)) as ChildRun
const program = await startProgram({
  ...run,
  sandbox: createSandbox({ mode: sandbox, allowedHosts: [] }),
  log: pino({ level: 'info' }, pino.destination({ dest: 2, sync: true })),
})
const { webhookUrl, panelUrl } = program.servers
process.stdout.write(`${JSON.stringify({ webhookUrl, panelUrl })}\n`)

process.on('SIGTERM', async () => {
  await program.stop()
  process.exit(0)
})
// the test is gone, and nobody would ever end this
input.on('close', () => process.exit(1))
