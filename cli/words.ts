/** What was said, as it is shown: whole, in lines that can be compared and copied, and that cannot steer the terminal. */
import { shownLines } from './lines.ts'
import { harmless } from './live/style.ts'

/** A text, and of an answer also the thinking and the calls. */
export interface Said {
  text: string
  reasoning?: string
  calls?: readonly { id: string; name: string; input: unknown }[]
}

export function saidLines({ text, reasoning, calls = [] }: Said): string[] {
  return [
    ...(reasoning ? ['(thinking)', ...shownLines(reasoning), '(end of thinking)'] : []),
    ...(text === '' ? [] : shownLines(text)),
    ...calls.flatMap(({ id, name, input }) => [harmless(`→ ${name} · ${id}`), ...shownLines(JSON.stringify(input, null, 2))]),
  ]
}
