/** Whether a message is ground enough for a model to save the prompt configuration (spec B8, Q3): an admin asked the agent for it. */
import { mayAdminister, type Permission } from './permission.ts'

export interface BasisFacts {
  message: number
  /** Null: there is no such message. */
  said: {
    kind: 'message' | 'fact'
    author: string
    /** By verified facts when it came: a person with write permission, not through an app, nor edited by somebody with less. */
    member: boolean
    addressesAgent: boolean
    /** Its own words without the mention; an assignment has none. */
    words: string
    /** The host carried it out as a command (spec N5). */
    isCommand: boolean
    /** What became of it since. */
    since: 'edited' | 'deleted' | 'purged' | null
    /** As GitHub says now, of the place where it was said: the weaker of the author's and of whoever edited it (spec N7). */
    permission: Permission | null
    /** The revision that was saved on this ground already. */
    usedFor: number | null
  } | null
}

export function promptsBasis({ message, said }: BasisFacts): { allowed: true } | { refused: string } {
  const because = reason(said)
  if (because === null) return { allowed: true }
  return {
    refused: `Refused: message ${message} ${because}. Prompts are saved only when an admin (admin or maintain permission) asks the agent for it in words, once for each message; name that admin's message as the basis. Nothing was saved.`,
  }
}

function reason(said: BasisFacts['said']): string | null {
  if (said === null) return 'does not exist'
  if (said.kind !== 'message') return 'is an event and no message of a person'
  if (said.since === 'purged') return 'was removed from the record'
  if (said.since !== null) return `was ${said.since} since`
  if (said.isCommand) return 'was a command, which the host carried out'
  if (!said.member) return `is by ${said.author}, who is no member there`
  if (!said.addressesAgent) return `by ${said.author} was not addressed to the agent`
  if (said.words.trim() === '') return `by ${said.author} says nothing in words`
  if (said.permission === null || !mayAdminister(said.permission))
    return `by ${said.author} was written or edited by somebody who is a member there and no admin`
  if (said.usedFor !== null) return `was the ground of revision ${said.usedFor} already`
  return null
}
