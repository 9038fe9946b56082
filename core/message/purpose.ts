/**
 * Why a message to people may be written (spec H3): a closed set, with who may use each, and for what it is used once. The key of
 * a message is made of the same columns (spec M4), so the same words for the same thing are one message, however often they are sent.
 */

export const PURPOSES = {
  acknowledge: { by: 'executor', once: 'message', legal: 'for a request that this Ticket has not acknowledged yet' },
  result: { by: 'executor', once: 'message', legal: 'when a new pull request is ready, or for the answer that the request asked for' },
  cannot_complete: { by: 'executor', once: 'ticket', legal: 'once, when the work cannot be finished' },
  review_answer: { by: 'executor', once: 'review comment', legal: 'in a review thread of its own pull request that awaits an answer' },
  yield: { by: 'executor', once: 'ticket', legal: "once, when a person's branch or pull request already holds the change" },
  question: { by: 'host', once: 'question', legal: 'for a question that a Report raised' },
  notice: { by: 'host', once: 'event', legal: 'for what only the host can say: commands, cards, pause, queue, budget, breaker, refusal' },
} as const satisfies Record<string, { by: 'executor' | 'host'; once: Once; legal: string }>

export type Purpose = keyof typeof PURPOSES
type Once = 'message' | 'ticket' | 'review comment' | 'question' | 'event'

/** Purposes that the Executor names itself when it replies. */
export const REPLY_PURPOSES = ['result', 'cannot_complete'] as const satisfies readonly Purpose[]

/** `opening` counts how often the Ticket was opened; `about` is the id of the thing answered, of the kind that `once` names. */
export interface Words {
  by: { ticket: number; opening: number } | 'main'
  purpose: Purpose
  about: string
}

export function messageKey({ by, purpose, about }: Words): string {
  const { once } = PURPOSES[purpose]
  const speaker = by === 'main' ? 'main' : `ticket-${by.ticket}.${by.opening}`
  return once === 'ticket' ? `${speaker}/${purpose}` : `${speaker}/${purpose}/${once.replace(' ', '-')}:${about}`
}
