/** What the main Session decides about candidates (spec E1, E2): a batch in which each decision stands or falls by itself. */
import { z } from 'zod'
import { routingNoteTooLong, WORD_LIMITS } from '../message/limits.ts'
import { ledgerNumber } from './ledger-number.ts'
import { tool } from './tool.ts'

const TITLE_CHARACTERS = 80
const REASON_CHARACTERS = 300

export const orchestratorRoute = tool({
  name: 'orchestrator_route',
  for: ['main'],
  nature: 'protocol',
  place: 'ledger',
  description: `Decide waiting candidates, as many as you can decide in one call. This is how every candidate ends.

"start" opens a Ticket whose Executor gets the original message. It takes "title", which people see: at most ${TITLE_CHARACTERS} characters, the thing
to be done. It may take "note": at most ${WORD_LIMITS.routingNote} words of routing facts that the Executor cannot see in its Thread. No advice on how to do the work.
"ignore" leaves the candidate alone. It takes "reason", at most ${REASON_CHARACTERS} characters, which people can read.

Each decision succeeds or fails by itself. The answer has one line for each, in your order: the Ticket that was started, or why the decision
was refused and what is legal. Decide a refused one again with what the line asks for; those that succeeded are done.`,
  input: z.strictObject({
    decisions: z
      .array(
        z.strictObject({
          decision: z.enum(['start', 'ignore']),
          candidate: ledgerNumber().describe('the number in C-<number>'),
          // lengths and what belongs to which decision are checked for each decision, or one fault would lose the whole batch
          title: z.string().meta({ maxLength: TITLE_CHARACTERS }).optional(),
          note: z.string().optional(),
          reason: z.string().meta({ maxLength: REASON_CHARACTERS }).optional(),
        }),
      )
      .min(1)
      .max(50),
  }),
})

type Written = z.infer<typeof orchestratorRoute.input>['decisions'][number]

export type RouteDecision =
  | { decision: 'start'; candidate: number; title: string; note: string | null }
  | { decision: 'ignore'; candidate: number; reason: string }

export function readDecision(written: Written): RouteDecision | { refused: string } {
  const { decision, candidate } = written
  if (decision === 'ignore') {
    const reason = written.reason?.trim() ?? ''
    const extra = ['title', 'note'].filter((name) => Object.hasOwn(written, name))
    if (extra.length > 0) return { refused: `ignore takes no ${extra.join(' and no ')}; it takes "reason" only` }
    const fault = lengthFault('reason', reason, REASON_CHARACTERS)
    return fault ? { refused: fault } : { decision, candidate, reason }
  }
  const title = written.title?.trim().replace(/\s+/g, ' ') ?? ''
  if (written.reason !== undefined) return { refused: 'start takes no reason; it takes "title" and, if needed, "note"' }
  const note = written.note?.trim() || null
  const fault = lengthFault('title', title, TITLE_CHARACTERS) ?? (note === null ? null : routingNoteTooLong(note))
  return fault ? { refused: fault } : { decision, candidate, title, note }
}

function lengthFault(name: string, text: string, limit: number): string | null {
  const characters = [...text].length
  if (characters === 0) return `"${name}" is missing; give 1 to ${limit} characters`
  return characters > limit ? `"${name}" has ${characters} characters; at most ${limit} are legal` : null
}
