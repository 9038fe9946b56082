/** Words to people: checked, opened with the opening sentence, keyed by what they are, and sent once (spec H3–H5, M4). */
import { gate } from '../../core/authority/gate.ts'
import { messageTooLong } from '../../core/message/limits.ts'
import { messageKey, type Purpose } from '../../core/message/purpose.ts'
import { ticketFacts } from '../../ledger/mandates.ts'
import type { Deps } from '../deps.ts'
import type { CommentPlace } from '../effects/comment.ts'
import { perform } from '../effects/effect.ts'
import { openingSentence } from '../opening.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export interface Saying {
  /** The message under which it stands. */
  message: number
  purpose: Purpose
  text: string
}

export async function say(call: ToolCall, { message, purpose, text }: Saying): Promise<ToolAnswer> {
  const { deps, at, ticket, signal } = call
  if (ticket === null) return { refused: 'Only a Ticket writes to people.' }
  const place = await placeOf(deps, ticket, message)
  if ('refused' in place) return place

  const { opening: turn, mandate, owed } = await ticketFacts(deps.db, ticket)
  const isReceipt = purpose === 'acknowledge'
  const gated = gate({ ticket, effect: 'comment', repository: place.repository, mandate, owed: isReceipt ? [] : owed })
  if ('refused' in gated) return gated

  const opening = await openingSentence(deps)
  const tooLong = messageTooLong(text, opening)
  if (tooLong) return { refused: `Refused: ${tooLong}` }

  const key = messageKey({ by: { ticket, opening: turn }, purpose, about: String(message) })
  const payload: CommentPlace = { repository: place.repository.fullName, number: place.number, reviewComment: place.reviewComment }
  const performed = await perform(
    deps,
    { key, kind: 'comment', ticket, ...at, thread: place.thread, payload: { ...payload }, body: text },
    signal,
  )
  if ('landed' in performed) return { text: `posted: ${performed.landed.url}` }
  if ('taken' in performed)
    return { refused: `Refused: T-${ticket} has said this already: ${performed.taken.url}. There is no need to say it again.` }
  return 'heldBack' in performed ? performed.heldBack : performed
}

interface MessagePlace extends CommentPlaceFacts {
  thread: number
}
interface CommentPlaceFacts {
  repository: { id: number; fullName: string }
  number: number
  reviewComment: string | null
}

/** Only a Thread that the Ticket owns can be answered (F158). */
async function placeOf(deps: Deps, ticket: number, message: number): Promise<MessagePlace | { refused: string }> {
  const row = await deps.db
    .selectFrom('trigger')
    .innerJoin('thread', 'thread.id', 'trigger.thread')
    .innerJoin('repository', 'repository.id', 'thread.repository')
    .leftJoin('subscription', (join) =>
      join.onRef('subscription.thread', '=', 'thread.id').on('subscription.ticket', '=', ticket).on('subscription.endedAt', 'is', null),
    )
    .select([
      'thread.id as thread',
      'thread.key',
      'thread.number',
      'thread.url',
      'subscription.role',
      'repository.id as repositoryId',
      'repository.fullName',
    ])
    .where('trigger.id', '=', message)
    .executeTakeFirst()
  if (!row) return { refused: `Refused: there is no message ${message}. Its number stands on its Trigger card.` }
  if (row.role !== 'owner')
    return {
      refused: `Refused: message ${message} stands in ${row.url}, which T-${ticket} does not own. Only Threads that the Ticket owns can be answered.`,
    }
  if (row.number === null) return { refused: `Refused: ${row.url} is no place where comments can stand.` }
  const reviewComment = /\/review:(\d+)$/.exec(row.key)?.[1] ?? null
  return { thread: row.thread, repository: { id: row.repositoryId, fullName: row.fullName }, number: row.number, reviewComment }
}
