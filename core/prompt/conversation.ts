/**
 * How the session log becomes the messages of a request (spec D8): a fold over what was said, nothing added from elsewhere.
 * Every call of an answer is followed by exactly one result, in the order of the calls, since providers refuse anything else.
 */

export type LogEntry =
  | { seq: number; kind: 'input'; step: number; body: { text: string } }
  | { seq: number; kind: 'answer'; step: number; body: Answer }
  | { seq: number; kind: 'result'; step: number; call: string; body: { text: string } }

export interface Answer {
  text: string
  reasoning?: string
  calls: readonly Call[]
}

export interface Call {
  id: string
  name: string
  input: unknown
}

export type Message =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; reasoning?: string; calls: readonly Call[] }
  | { role: 'tool'; call: string; name: string; text: string }

/** Stands for a result that never came (spec M4): the work may have been done in part, and the host does not repeat it. */
export const INTERRUPTED =
  'interrupted: the call was cut off and is not repeated by itself. It may have been done in part; look at what is there before you do it again.'

export function conversation(entries: readonly LogEntry[]): Message[] {
  const steps = Map.groupBy(
    entries.toSorted((a, b) => a.seq - b.seq),
    (entry) => entry.step,
  )
  return [...steps.keys()].sort((a, b) => a - b).flatMap((step) => messagesOfStep(step, steps.get(step)!))
}

/** A log with what a request adds to it: inputs that belong to no finished step yet, so they stand last. */
export function withInputs(log: readonly LogEntry[], texts: readonly string[]): LogEntry[] {
  const last = log.at(-1)?.seq ?? 0
  return [
    ...log,
    ...texts.map((text, index): LogEntry => ({ seq: last + 1 + index, kind: 'input', step: Number.MAX_SAFE_INTEGER, body: { text } })),
  ]
}

function messagesOfStep(step: number, entries: readonly LogEntry[]): Message[] {
  const inputs = entries.filter((entry) => entry.kind === 'input').map((entry) => entry.body.text)
  const [answer, second] = entries.filter((entry) => entry.kind === 'answer')
  if (second) throw new Error(`session log, step ${step}: entry ${second.seq} is a second answer; a step has one`)

  const said: Message[] = inputs.length > 0 ? [{ role: 'user', text: inputs.join('\n\n') }] : []
  const results = resultsByCall(step, entries, answer?.body.calls ?? [])
  if (!answer) return said
  const { reasoning, calls } = answer.body
  // several providers refuse an answer of neither words nor calls when it is sent back, and some a text of nothing but spaces (F331)
  const text = answer.body.text.trim() === '' ? '' : answer.body.text
  if (text === '' && calls.length === 0) return said
  return [
    ...said,
    { role: 'assistant', text, ...(reasoning === undefined ? {} : { reasoning }), calls },
    ...calls.map(({ id, name }): Message => ({ role: 'tool', call: id, name, text: results.get(id) ?? INTERRUPTED })),
  ]
}

function resultsByCall(step: number, entries: readonly LogEntry[], calls: readonly Call[]): Map<string, string> {
  const made = new Set(calls.map(({ id }) => id))
  const results = new Map<string, string>()
  for (const entry of entries) {
    if (entry.kind !== 'result') continue
    if (!made.has(entry.call))
      throw new Error(`session log, step ${step}: entry ${entry.seq} is a result of call ${entry.call}, which the answer did not make`)
    if (results.has(entry.call))
      throw new Error(`session log, step ${step}: entry ${entry.seq} is a second result of call ${entry.call}; a call has one`)
    results.set(entry.call, entry.body.text)
  }
  return results
}
