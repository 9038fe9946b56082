/**
 * `shell` (spec H10): one command line in the checkout. It never runs twice (spec M4): the caller writes down that it starts, and
 * a command that was cut off is `interrupted`.
 */
import type { Answer, Given } from '../workspace/given.ts'
import { COMMAND_BYTES, type Ended } from '../workspace/sandbox.ts'

export interface ShellInput {
  command: string
  timeoutSeconds?: number
}

export const DEFAULT_SECONDS = 120
export const MAX_SECONDS = 1_800

export async function shell({
  folder,
  sandbox,
  input,
  signal,
  onOutput,
}: Given<ShellInput> & { onOutput?: (text: string) => void }): Promise<Answer> {
  const seconds = input.timeoutSeconds ?? DEFAULT_SECONDS
  if (!(seconds > 0 && seconds <= MAX_SECONDS))
    return { refused: `timeoutSeconds ${seconds}: from 1 to ${MAX_SECONDS}. Longer work is a background job.` }
  if (input.command.trim() === '') return { refused: 'the command is empty' }
  if (input.command.includes('\0')) return { refused: 'the command holds a NUL character' }
  if (Buffer.byteLength(input.command) > COMMAND_BYTES) {
    return { refused: `the command has more than ${COMMAND_BYTES} bytes: write the text into a file with the write tool, then run it` }
  }
  const ended = await sandbox.run({ folder, command: input.command, timeoutMs: seconds * 1_000, signal, onOutput })
  return { text: said(ended, seconds) }
}

function said(ended: Ended, seconds: number): string {
  const output = ended.output === '' ? '(no output)' : ended.output.trimEnd()
  const file = ended.cut ? `\n[read the part that was left out with the read tool: ${ended.cut.file}]` : ''
  return `${howItEnded(ended, seconds)}\n${output}${file}`
}

function howItEnded({ exit, signal, stopped }: Ended, seconds: number): string {
  switch (stopped) {
    case 'timeout':
      return `stopped: it ran longer than ${seconds} seconds. Give timeoutSeconds (at most ${MAX_SECONDS}), or do less at once.`
    case 'output limit':
      return 'stopped: it wrote more than 256 MiB of output. Write to a file, or say less.'
    case 'aborted':
      return 'interrupted: it was stopped before its end; it may have done part of its work.'
    case null:
      return exit === null ? `ended by ${signal}` : `exit ${exit}`
  }
}
