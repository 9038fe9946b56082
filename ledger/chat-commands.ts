/** A member's exact chat command (spec N5): executed and answered by the host, in the transaction that decides the message. */
import type { Command } from '../core/routing/command.ts'
import { ALL, holdersOf, ticketScope } from '../core/ticket/scope.ts'
import type { Tx } from './database.ts'
import { postNotice } from './notices.ts'
import { recordCommand } from './pauses.ts'

export interface Said {
  /** The message's id. */
  id: number
  thread: number
  url: string
  author: string
  /** Live Tickets that own the Thread. */
  owners: readonly number[]
}

export async function executeChatCommand(tx: Tx, said: Said, command: Command): Promise<void> {
  await postNotice(tx, { about: `command:${said.id}`, thread: said.thread, text: await outcomeOf(tx, said, command) })
}

async function outcomeOf(tx: Tx, said: Said, { name, target }: Command): Promise<string> {
  if (name === 'accept' || name === 'decline') return `No card is open here, so there is nothing to ${name}.`
  const targets = target === null ? said.owners : said.owners.filter((ticket) => `T-${ticket}` === target)
  if (targets.length === 0) {
    const owners = said.owners.map((ticket) => `T-${ticket}`).join(', ')
    if (target === null || owners === '') return 'No live Ticket works on this Thread.'
    return `${target} does not work on this Thread; ${owners} ${said.owners.length === 1 ? 'does' : 'do'}.`
  }
  const sentences: string[] = []
  for (const ticket of targets) sentences.push(name === 'status' ? await statusOf(tx, ticket) : await change(tx, said, name, ticket))
  return sentences.join(' ')
}

async function change(tx: Tx, { id, url, author }: Said, kind: 'pause' | 'resume' | 'close', ticket: number): Promise<string> {
  const recorded = await recordCommand(tx, {
    kind,
    scope: ticketScope(ticket),
    actor: author,
    transport: 'chat',
    reason: `said so in ${url}`,
    basis: `message ${id}`,
  })
  if ('refused' in recorded) return `${recorded.refused}.`
  const { already } = recorded
  switch (kind) {
    case 'pause':
      return already ? `T-${ticket} is held already: ${already}.` : `T-${ticket} is paused; a member who writes \`resume\` lets it go on.`
    case 'resume':
      return resumed(tx, ticket, already)
    case 'close':
      return `T-${ticket} is closed.`
    default:
      return kind satisfies never
  }
}

async function resumed(tx: Tx, ticket: number, already: string | null): Promise<string> {
  const all = await tx.selectFrom('pause').select('actor').where('scope', '=', ALL).where('held', '=', true).executeTakeFirst()
  if (all) return `T-${ticket} stays held: all work is paused by ${all.actor}; an admin lifts it.`
  return already ? `T-${ticket} is not paused: ${already}.` : `T-${ticket} goes on.`
}

async function statusOf(tx: Tx, ticket: number): Promise<string> {
  const { state } = await tx.selectFrom('ticket').select('state').where('id', '=', ticket).executeTakeFirstOrThrow()
  const hold = await tx
    .selectFrom('pause')
    .selectAll()
    .where('scope', 'in', holdersOf(ticketScope(ticket)))
    .where('held', '=', true)
    .executeTakeFirst()
  const { unread } = await tx
    .selectFrom('inbox')
    .select((of) => of.fn.countAll<number>().as('unread'))
    .where('address', '=', ticketScope(ticket))
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .executeTakeFirstOrThrow()
  const waiting = Number(unread) === 0 ? '' : `, and ${unread} message${Number(unread) === 1 ? ' waits' : 's wait'} to be read`
  return hold ? `T-${ticket} is paused by ${hold.actor}${waiting}.` : `T-${ticket} is ${state}${waiting}.`
}

/** A person who writes to a paused Ticket's Thread is told once for each pause (spec I2). */
export async function tellPaused(tx: Tx, thread: number, owners: readonly number[]): Promise<void> {
  const scopes = [...owners.map(ticketScope), ALL]
  const [hold] = await tx.selectFrom('pause').selectAll().where('scope', 'in', scopes).where('held', '=', true).orderBy('scope').execute()
  if (!hold) return
  const what = hold.scope === ALL ? 'All work' : hold.scope.replace('ticket-', 'T-')
  const lift = hold.scope === ALL ? 'an admin lifts it' : 'a member writes `resume`'
  const text = `${what} is paused by ${hold.actor}; this message waits until ${lift}.`
  await postNotice(tx, { about: `paused:${thread}:${hold.scope}:${hold.generation}`, thread, text })
}

/** An outsider who addresses the agent is told once in each Thread (spec P7). */
export async function tellOutsider(tx: Tx, thread: number, repository: string): Promise<void> {
  await postNotice(tx, { about: `outsider:${thread}`, thread, text: `Only members of ${repository} can ask this agent for work.` })
}
