/** How what waits in an inbox is written into a conversation (spec C7): cards for Triggers, plain words of the host for the rest. */
import { type CardFacts, card } from './card.ts'
import { fence } from './fence.ts'

/** One inbox row with what it points at. */
export interface Item {
  kind: string
  /** Words of the host: a notice, a reminder, a note. */
  body: string | null
  trigger: {
    id: number
    kind: 'message' | 'fact'
    event: string
    text: string | null
    url: string
    happenedAt: Date
    author: string
    member: boolean
    facts: Readonly<Record<string, string>>
    place: { repository: string | null; number: number | null; title: string }
  } | null
  candidate: { id: number; explicit: boolean; reasons: readonly { ticket: number; reason: string }[] } | null
  report: { ticket: number; status: string; body: string | null; evidence: readonly string[]; pullRequest: string | null } | null
}

const STANDINGS: Readonly<Record<string, CardFacts['standing']>> = {
  assignment: 'started this Ticket',
  message: 'claimed',
  information: 'for information',
}

export function showItem(item: Item): string {
  if (item.report) return showReport(item.report)
  if (!item.trigger) return `${item.kind} from the host: ${item.body ?? '[removed from the record]'}`
  const { trigger, candidate } = item
  return card({
    message: trigger.id,
    kind: trigger.kind,
    candidate: candidate && {
      id: `C-${candidate.id}`,
      explicit: candidate.explicit,
      returned: candidate.reasons.map(({ ticket, reason }) => ({ ticket: `T-${ticket}`, reason })),
    },
    standing: STANDINGS[item.kind] ?? null,
    event: trigger.event,
    place: placeName(trigger.place),
    title: trigger.place.title,
    author: { login: trigger.author, authority: trigger.member ? 'member' : 'outsider' },
    url: trigger.url,
    happenedAt: trigger.happenedAt.toISOString(),
    facts: trigger.facts,
    text: trigger.text ?? '[removed from the record]',
    whole: item.candidate ? `orchestrator_read {"what": "thread", "id": "${trigger.id}"}` : 'orchestrator_read {"what": "ticket"}',
  })
}

export function placeName({ repository, number, title }: { repository: string | null; number: number | null; title: string }): string {
  if (repository === null) return title
  return number === null ? repository : `${repository}#${number}`
}

function showReport({ ticket, status, body, evidence, pullRequest }: NonNullable<Item['report']>): string {
  const lines = [body ?? '[removed from the record]', ...evidence.map((line) => `- ${line}`)]
  return `report of T-${ticket} · ${status}${pullRequest ? ` · ${pullRequest}` : ''}\n${fence('report', lines.join('\n'))}`
}
