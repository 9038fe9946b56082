/** What a command writes: results to the output, sentences about what is wrong to the error output. Nothing else writes there. */
import type { Fault } from '../core/deployment/settings.ts'
import { shownText } from './lines.ts'
import { harmless, padded, type Style, styleFor } from './live/style.ts'

/** 0: fine. 1: refused, not found, or a problem. 2: the command was not used as it must be. */
export type ExitCode = 0 | 1 | 2

export const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const sayJson = (document: unknown): void => say(JSON.stringify(document, null, 2))

/** What stands in a sentence may come from outside: a note, a name, a key of a draft. */
export const complain = (sentence: string): void => {
  process.stderr.write(`switchyard: ${shownText(sentence)}\n`)
}

/** Why nothing was done: a sentence, or for a program that asked with `--json` an object. */
export function refuse(sentence: string, { json = false }: { json?: boolean } = {}): ExitCode {
  if (json) sayJson({ refused: sentence })
  else complain(sentence)
  return 1
}

export const outputStyle = (): Style => styleFor(process.stdout, process.env, 0)

/** Every fault of the configuration at once, aligned. */
export function faultsText(faults: readonly Fault[]): string {
  const width = Math.max(...faults.map(({ name }) => name.length))
  return [
    `${faults.length} problem${faults.length === 1 ? '' : 's'} in the configuration`,
    ...faults.map(({ name, message }) => `  ${padded(name, width)}  ${harmless(message)}`),
  ].join('\n')
}
