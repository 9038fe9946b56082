/** What was said, as it is shown: whole, in lines that can be compared and copied, and that cannot steer the terminal. */
import { harmless } from './live/style.ts'

/** Line by line, with its tabs. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split('\t').map(harmless).join('\t'))
}

/** A text, and of an answer also the thinking and the calls. */
export interface Said {
  text: string
  reasoning?: string
  calls?: readonly { id: string; name: string; input: unknown }[]
}

export function saidLines({ text, reasoning, calls = [] }: Said): string[] {
  return [
    ...(reasoning ? ['(thinking)', ...linesOf(reasoning), '(end of thinking)'] : []),
    ...(text === '' ? [] : linesOf(text)),
    ...calls.flatMap(({ id, name, input }) => [harmless(`→ ${name} · ${id}`), ...linesOf(JSON.stringify(input, null, 2))]),
  ]
}
