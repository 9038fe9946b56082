/**
 * The deciding transaction (spec P): a stored delivery's Triggers are written and given to whoever gets them, at once or not at
 * all. What must be asked outside was asked before and comes in as facts.
 */
import { sql } from 'kysely'
import { type Decision, decide } from '../core/routing/decide.ts'
import type { NormalisedTrigger } from '../core/routing/trigger.ts'
import { ticketScope } from '../core/ticket/scope.ts'
import { endAlarm } from './alarms.ts'
import { openCandidate } from './candidates.ts'
import { executeChatCommand, tellOutsider, tellPaused } from './chat-commands.ts'
import type { Tx } from './database.ts'
import { deliver, drop } from './inbox.ts'
import { sharedThread } from './places.ts'
import { shaOf, storable } from './texts.ts'

export interface Judged {
  trigger: NormalisedTrigger
  /** The place's repository and the author as rows. */
  repository: number
  author: number | null
  /** Written by the agent's own account. */
  self: boolean
  /** The author may write to the place's repository, asked from GitHub. */
  member: boolean
}

export interface TakeInOptions {
  /** Whether an outsider who addresses the agent is told that only members can ask (spec P7). */
  tellOutsiders: boolean
}

export interface TakenIn {
  trigger: number
  decision: Decision
}

/** What a delivery's Triggers became. Null: another process took the delivery. Triggers that were known are not decided again. */
export async function takeIn(
  tx: Tx,
  delivery: number,
  judged: Judged[],
  options: TakeInOptions = { tellOutsiders: true },
): Promise<TakenIn[] | null> {
  const row = await tx.selectFrom('delivery').select('state').where('id', '=', delivery).forUpdate().skipLocked().executeTakeFirst()
  if (row?.state !== 'pending') return null
  const taken: TakenIn[] = []
  const known: string[] = []
  for (const each of judged) {
    const result = await takeInTrigger(tx, delivery, each, options)
    if (typeof result === 'string') known.push(result)
    else taken.push(result)
  }
  await endAlarm(tx, 'intake', `delivery ${delivery}`)
  await tx
    .updateTable('delivery')
    .set({ state: taken.length > 0 ? 'normalised' : 'ignored', reason: known.join('; ') || null, settledAt: sql<Date>`now()` })
    .where('id', '=', delivery)
    .execute()
  return taken
}

async function takeInTrigger(
  tx: Tx,
  delivery: number,
  { trigger: given, repository, author, self, member }: Judged,
  options: TakeInOptions,
): Promise<TakenIn | string> {
  const said = { ...given, text: storable(given.text), place: { ...given.place, title: storable(given.place.title) } }
  const thread = await sharedThread(tx, said.place, repository)
  const trigger = await asFirstHeard(tx, said)
  const outdated = await overtaken(tx, trigger)
  if (outdated) return outdated

  await learnPullRequest(tx, trigger, repository)
  const owners = await subscribers(tx, thread, 'owner')
  const concerns = trigger.kind === 'fact' ? await concerned(tx, trigger, repository, thread) : []
  const decision = decide({
    trigger: {
      kind: trigger.kind,
      event: trigger.event,
      text: trigger.commandText,
      addressesAgent: trigger.addressesAgent,
      mentionsAgent: trigger.mentionsAgent,
    },
    author: { self, member },
    answers: null,
    thread: { owners, context: await subscribers(tx, thread, 'context'), openCard: false },
    concerns,
    listening: [],
  })

  const inserted = await tx
    .insertInto('trigger')
    .values({
      key: trigger.key,
      delivery,
      thread,
      kind: trigger.kind,
      event: trigger.event,
      object: trigger.object,
      author,
      authorLogin: trigger.author.login,
      member,
      body: trigger.text,
      sha: shaOf(trigger.text),
      purgedAt: null,
      url: trigger.url,
      happenedAt: new Date(trigger.happenedAt),
      mentionsAgent: trigger.mentionsAgent,
      addressesAgent: trigger.addressesAgent,
      refs: JSON.stringify(trigger.references),
      facts: JSON.stringify(trigger.facts),
      rule: decision.rule,
      reason: reasonOf(decision),
    })
    .onConflict((on) => on.column('key').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!inserted) return `the same event was taken in before (${trigger.key})`

  await give(tx, { id: inserted.id, thread, trigger, owners, ...options }, decision)
  return { trigger: inserted.id, decision }
}

/** An edit that keeps a mention asks for nothing anew, unless the message before it never arrived (F039): then it is the request. */
async function asFirstHeard(tx: Tx, trigger: NormalisedTrigger): Promise<NormalisedTrigger> {
  if (trigger.facts.mentionKept !== 'true') return trigger
  const known = await tx.selectFrom('trigger').select('id').where('object', '=', trigger.object).limit(1).executeTakeFirst()
  return known ? trigger : { ...trigger, mentionsAgent: true, addressesAgent: true }
}

/** A message's first version that arrives after a later one, or after its deletion, changes nothing (order is not promised). */
async function overtaken(tx: Tx, trigger: NormalisedTrigger): Promise<string | null> {
  if (trigger.kind !== 'message' || !/\.(created|opened|submitted)$/.test(trigger.event)) return null
  const later = await tx
    .selectFrom('trigger')
    .select('event')
    .where('object', '=', trigger.object)
    .where('key', '!=', trigger.key)
    .limit(1)
    .executeTakeFirst()
  return later ? `arrived after ${later.event} of the same ${trigger.object}` : null
}

/** What people did to a Ticket's own pull request: its row is what the Ticket's end is judged by (spec R2). */
async function learnPullRequest(tx: Tx, { event, place, facts }: NormalisedTrigger, repository: number): Promise<void> {
  const learned = PULL_REQUEST_FACTS[event]?.(facts)
  if (!learned || Object.keys(learned).length === 0 || place.number === null) return
  await tx.updateTable('pullRequest').set(learned).where('repository', '=', repository).where('number', '=', place.number).execute()
}

const PULL_REQUEST_FACTS: Readonly<
  Record<string, (facts: Record<string, string>) => { state?: 'open' | 'closed' | 'merged'; draft?: boolean; head?: string }>
> = {
  'pull_request.closed': ({ merged }) => ({ state: merged === 'true' ? 'merged' : 'closed' }),
  'pull_request.reopened': () => ({ state: 'open' }),
  'pull_request.ready_for_review': () => ({ draft: false }),
  'pull_request.converted_to_draft': () => ({ draft: true }),
  'pull_request.synchronize': ({ after }) => (after ? { head: after } : {}),
}

/** Live Tickets that follow the Thread, held in place until the transaction ends. */
async function subscribers(tx: Tx, thread: number, role: 'owner' | 'context'): Promise<number[]> {
  const rows = await tx
    .selectFrom('ticket')
    .innerJoin('subscription', 'subscription.ticket', 'ticket.id')
    .select('ticket.id')
    .where('subscription.thread', '=', thread)
    .where('subscription.role', '=', role)
    .where('subscription.endedAt', 'is', null)
    .where('ticket.state', '!=', 'closed')
    .orderBy('ticket.id')
    .forShare('ticket')
    .execute()
  return rows.map(({ id }) => id)
}

/** Live Tickets whose pull request, branch, commit or review thread the fact is about (spec P5), held in place like subscribers. */
async function concerned(tx: Tx, { concerns }: NormalisedTrigger, repository: number, thread: number): Promise<number[]> {
  const { rows } = await sql<{ ticket: number }>`
    select ticket.id as ticket from ticket
    where ticket.state <> 'closed' and ticket.id in (
      select ticket from pull_request where repository = ${repository} and number = any(${concerns.pullRequests}::int[])
      union select ticket from pull_request where repository = ${repository} and branch = any(${concerns.branches}::text[])
      union select ticket from push where repository = ${repository} and sha = any(${concerns.commits}::text[])
      union select ticket from subscription where thread = ${thread} and role = 'owner' and ended_at is null
    ) order by ticket.id for share of ticket`.execute(tx)
  return rows.map(({ ticket }) => ticket)
}

interface Given extends TakeInOptions {
  id: number
  thread: number
  trigger: NormalisedTrigger
  owners: number[]
}

async function give(tx: Tx, at: Given, decision: Decision): Promise<void> {
  switch (decision.kind) {
    case 'dropped':
      return
    case 'ignored':
      // whose words somebody else changed has asked for nothing
      if (decision.tellAuthor && at.tellOutsiders && at.trigger.author.kind === 'user' && at.trigger.facts.editor === undefined)
        await tellOutsider(tx, at.thread, at.trigger.place.repository.fullName)
      return
    case 'command': {
      const { url, author } = at.trigger
      return executeChatCommand(tx, { id: at.id, thread: at.thread, url, author: author.login, owners: at.owners }, decision.command)
    }
    case 'claims': {
      const claims = decision.owners.map((ticket) => ({ trigger: at.id, ticket, state: 'pending' as const, reason: null }))
      await tx.insertInto('claim').values(claims).execute()
      if (at.trigger.author.kind === 'user') await tellPaused(tx, at.thread, decision.owners)
      await deliver(tx, [
        ...decision.owners.map((ticket) => ({ address: ticketScope(ticket), kind: 'message' as const, trigger: at.id })),
        ...decision.informed.map((ticket) => ({ address: ticketScope(ticket), kind: 'information' as const, trigger: at.id })),
      ])
      return
    }
    case 'fact':
      for (const ticket of decision.tickets) await supersede(tx, ticket, at)
      return deliver(
        tx,
        decision.tickets.map((ticket) => ({ address: ticketScope(ticket), kind: 'fact', trigger: at.id })),
      )
    case 'candidate':
      await openCandidate(tx, { trigger: at.id, thread: at.thread, explicit: decision.explicit, matchable: decision.matchable })
      return deliver(
        tx,
        decision.informed.map((ticket) => ({ address: ticketScope(ticket), kind: 'information', trigger: at.id })),
      )
    case 'answer':
      throw new Error(`no question can be open yet, but ${at.trigger.key} was taken for the answer to ${decision.question}`)
    default:
      return decision satisfies never
  }
}

/** Only the newest state of one thing reaches the Ticket (spec P5): older ones that it has not read are dropped. */
async function supersede(tx: Tx, ticket: number, at: { id: number; trigger: NormalisedTrigger }): Promise<void> {
  const older = await tx
    .selectFrom('inbox')
    .innerJoin('trigger', 'trigger.id', 'inbox.trigger')
    .select('inbox.id')
    .where('inbox.address', '=', ticketScope(ticket))
    .where('inbox.kind', '=', 'fact')
    .where('inbox.session', 'is', null)
    .where('inbox.dropped', 'is', null)
    .where('trigger.object', '=', at.trigger.object)
    .where('trigger.event', '=', at.trigger.event)
    .execute()
  await drop(
    tx,
    older.map(({ id }) => id),
    `superseded by message ${at.id}`,
  )
}

function reasonOf(decision: Decision): string {
  switch (decision.kind) {
    case 'dropped':
    case 'ignored':
      return decision.reason
    case 'command':
      return `command ${decision.command.name}`
    case 'answer':
      return `answer to ${decision.question}`
    case 'claims':
      return `message for ${decision.owners.map((ticket) => `T-${ticket}`).join(', ')}`
    case 'fact':
      return `concerns ${decision.tickets.map((ticket) => `T-${ticket}`).join(', ')}`
    case 'candidate':
      return decision.explicit ? 'a member asked for it' : `rules listen to it: ${decision.matchable.join(', ')}`
    default:
      return decision satisfies never
  }
}
