/** What a Ticket waits for (spec R1), from what the ledger knows of it: the nearest thing first, and what a person can do about it. */
import type { TicketNow } from '../../ledger/story.ts'
import { counted } from '../lines.ts'
import { targetOf } from '../live/target.ts'
import { scopeName, scopeWord } from '../scope.ts'

/** Null: it is closed and waits for nothing. */
export function waitsFor(ticket: number, now: TicketNow): string | null {
  if (now.state === 'closed') return null
  const [hold] = now.holds
  if (hold) return `a member who resumes ${scopeName(hold.scope)}: switchyard resume ${scopeWord(hold.scope)}`
  if (now.state === 'blocked') return `a person who mends what the alarm says: then switchyard retry T-${ticket}`
  const [busy] = now.running
  if (busy) return busy.what === 'model' ? `the answer of the model ${busy.name}` : callOf(busy)
  if (now.unread > 0) return `its next step, in which it reads ${counted(now.unread, 'new item')}`
  const open = now.pullRequests.filter(({ state }) => state === 'open')
  if (open.length > 0) return `reviews, checks and messages on ${open.map(({ url }) => url).join(' and ')}`
  const own = now.threads.filter(({ role }) => role === 'owner')
  return own.length > 0 ? `messages in ${own.map(({ url }) => url).join(' and ')}` : 'a message'
}

function callOf({ name, input, since }: TicketNow['running'][number]): string {
  const target = targetOf(name, input)
  return `${since === null ? 'the start' : 'the end'} of its call of ${name}${target === '' ? '' : ` (${target})`}`
}
