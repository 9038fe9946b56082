/** `orchestrator_read`: the host's records as text, for the main Session and, about its own Ticket, for an Executor. */
import { fence, oneLine } from '../../core/message/fence.ts'
import { placeName, showItem } from '../../core/message/items.ts'
import type { Database } from '../../ledger/database.ts'
import { ticketFacts } from '../../ledger/mandates.ts'
import { shownTriggers } from '../../ledger/triggers.ts'
import { revisionsDuring } from '../../ledger/versions.ts'
import { readPrompts, readRevisions } from './read-prompts.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function readRecords({ deps, input, role, ticket }: ToolCall): Promise<ToolAnswer> {
  const { what, id } = input as { what: string; id?: string }
  switch (what) {
    case 'ticket':
      return { text: await ownTicket(deps.db, ticket!) }
    case 'candidates':
      return candidates(deps.db, id)
    case 'tickets':
      return tickets(deps.db, id)
    case 'thread':
      return thread(deps.db, id)
    case 'revisions':
      return readRevisions(deps, id, role === 'executor' ? await revisionsDuring(deps.db, ticket!) : null)
    case 'reports': {
      if (role === 'executor') return { text: await reports(deps.db, ticket!) }
      const number = id === undefined ? null : numberOf(id, 'T')
      return number === undefined ? refusedId(id!, 'T-7') : { text: await reports(deps.db, number) }
    }
    case 'policy': {
      const { policy } = await deps.readConfiguration(deps.db)
      const rules = policy.rules.map(
        (rule) => `- ${rule.id} ${rule.enabled ? '' : '(disabled) '}${oneLine(rule.name)}: ${oneLine(rule.instruction)}`,
      )
      return {
        text: [`Policy version ${policy.version}, accept mode ${policy.mode}`, ...(rules.length > 0 ? rules : ['no rules'])].join('\n'),
      }
    }
    case 'prompts':
      return readPrompts(deps, id)
    default:
      throw new Error(`orchestrator_read was let through with what = ${what}`)
  }
}

/** `C-3` or `3` of the wanted letter; undefined: not such an id. */
function numberOf(id: string, letter: 'C' | 'T'): number | undefined {
  const match = new RegExp(`^(?:${letter}-)?(\\d{1,9})$`, 'i').exec(id)
  return match ? Number(match[1]) : undefined
}

const refusedId = (id: string, form: string): ToolAnswer => ({ refused: `"${id}" is no such id; the form is ${form}` })

async function candidates(db: Database, id: string | undefined): Promise<ToolAnswer> {
  const number = id === undefined ? null : numberOf(id, 'C')
  if (number === undefined) return refusedId(id!, 'C-3')
  const rows = await db
    .selectFrom('candidate')
    .selectAll()
    .$if(number === null, (query) => query.where('state', 'in', ['waiting', 'stuck']))
    .$if(number !== null, (query) => query.where('id', '=', number))
    .orderBy('id')
    .limit(50)
    .execute()
  if (rows.length === 0) return { text: number === null ? 'No candidate waits.' : `There is no candidate C-${number}.` }
  const triggers = await shownTriggers(
    db,
    rows.map(({ trigger }) => trigger),
  )
  const cards = rows.map((row) => {
    const item = {
      kind: 'candidate',
      body: null,
      report: null,
      trigger: triggers.get(row.trigger)!,
      candidate: { id: row.id, explicit: row.explicit, reasons: row.reasons },
    }
    const decided =
      row.state === 'waiting'
        ? ''
        : `\n${row.state}${row.ticket === null ? '' : ` · T-${row.ticket}`}${row.reason ? ` · ${row.reason}` : ''}`
    return showItem(item) + decided
  })
  return { text: cards.join('\n\n') }
}

async function tickets(db: Database, id: string | undefined): Promise<ToolAnswer> {
  const number = id === undefined ? null : numberOf(id, 'T')
  if (number === undefined) return refusedId(id!, 'T-7')
  const rows = await db
    .selectFrom('ticket')
    .innerJoin('thread', 'thread.id', 'ticket.origin')
    .leftJoin('repository', 'repository.id', 'thread.repository')
    .select([
      'ticket.id',
      'ticket.state',
      'ticket.closedReason',
      'ticket.title',
      'thread.number',
      'thread.title as threadTitle',
      'repository.fullName as repository',
    ])
    .$if(number === null, (query) => query.where('ticket.state', '!=', 'closed'))
    .$if(number !== null, (query) => query.where('ticket.id', '=', number))
    .orderBy('ticket.id')
    .limit(100)
    .execute()
  if (rows.length === 0) return { text: number === null ? 'No Ticket is live.' : `There is no Ticket T-${number}.` }
  const lines = rows.map(
    (row) =>
      `T-${row.id} · ${row.state}${row.closedReason ? ` (${row.closedReason})` : ''} · ${placeName({ repository: row.repository, number: row.number, title: row.threadTitle })} · ${row.title}`,
  )
  return { text: lines.join('\n') }
}

async function thread(db: Database, id: string | undefined): Promise<ToolAnswer> {
  if (id === undefined || !/^\d{1,9}$/.test(id)) return refusedId(id ?? '', 'the number of a message, such as 12')
  const row = await db.selectFrom('trigger').select('thread').where('id', '=', Number(id)).executeTakeFirst()
  if (!row) return { text: `There is no message ${id}.` }
  return { text: await messagesOf(db, [row.thread]) }
}

/** The newest messages of some Threads in full, oldest first. */
async function messagesOf(db: Database, threads: number[]): Promise<string> {
  const MOST = 50
  const ids = await db
    .selectFrom('trigger')
    .select('id')
    .where('thread', 'in', threads)
    .where('rule', '!=', 'P1')
    .orderBy('id', 'desc')
    .limit(MOST + 1)
    .execute()
  const shown = ids
    .slice(0, MOST)
    .map(({ id }) => id)
    .reverse()
  const triggers = await shownTriggers(db, shown)
  const cards = shown.map((id) => showItem({ kind: 'record', body: null, report: null, candidate: null, trigger: triggers.get(id)! }))
  return [...(ids.length > MOST ? [`(only the newest ${MOST} messages stand here)`] : []), ...cards].join('\n\n')
}

async function reports(db: Database, ticket: number | null): Promise<string> {
  const rows = await db
    .selectFrom('report')
    .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
    .select(['report.ticket', 'report.status', 'report.body', 'report.evidence', 'report.createdAt', 'pullRequest.url'])
    .$if(ticket !== null, (query) => query.where('report.ticket', '=', ticket!))
    .orderBy('report.id', 'desc')
    .limit(20)
    .execute()
  if (rows.length === 0) return 'There is no Report.'
  return rows
    .map(
      ({ ticket, status, body, evidence, createdAt, url }) =>
        `${createdAt.toISOString()} · ${showItem({ kind: 'report', body: null, trigger: null, candidate: null, report: { ticket, status, body, evidence, pullRequest: url } })}`,
    )
    .join('\n\n')
}

async function ownTicket(db: Database, ticket: number): Promise<string> {
  const row = await db.selectFrom('ticket').select(['title', 'state']).where('id', '=', ticket).executeTakeFirstOrThrow()
  const { mandate, owed } = await ticketFacts(db, ticket)
  const pulls = await db
    .selectFrom('pullRequest')
    .select(['url', 'state', 'draft', 'branch'])
    .where('ticket', '=', ticket)
    .orderBy('id')
    .execute()
  const threads = await db
    .selectFrom('subscription')
    .select('thread')
    .where('ticket', '=', ticket)
    .where('role', '=', 'owner')
    .where('endedAt', 'is', null)
    .execute()
  return [
    `T-${ticket} · ${row.state}\n${fence('title', row.title)}`,
    `Mandate: ${mandate.effects.join(', ') || 'nothing'} in ${mandate.repositories.map(({ fullName }) => fullName).join(', ') || 'no repository'}`,
    `Acknowledgements owed: ${owed.map((message) => `message ${message}`).join(', ') || 'none'}`,
    `Pull requests: ${pulls.map(({ url, state, draft, branch }) => `${url} (${draft ? 'draft' : state}, branch ${branch})`).join(', ') || 'none'}`,
    threads.length > 0
      ? await messagesOf(
          db,
          threads.map(({ thread }) => thread),
        )
      : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}
