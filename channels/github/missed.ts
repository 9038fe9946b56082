/**
 * The log that GitHub keeps of what an App's hook was sent (spec M3; facts/github.md §4), and how an entry becomes a delivery like
 * one that came by the webhook. GitHub never sends again by itself, and keeps its log for three days.
 *
 * An entry of the list does not name its hook; the headers that were sent with it do, and they come with the whole entry only.
 */
import type { NewDelivery } from '../../ledger/deliveries.ts'
import { placeOf, toldBeside } from './delivery.ts'
import { GithubError } from './failure.ts'
import { at, idOf, listOf, stringifyExact, textOf, timeOf } from './payload.ts'

export interface LoggedDelivery {
  id: string
  guid: string
  event: string
  at: Date
}

export interface DeliveryLog {
  /** A page of the log, newest first; `next` leads on. */
  page(cursor: string | null): Promise<{ deliveries: LoggedDelivery[]; next: string | null }>
  /** With headers and payload; or why GitHub does not have them any more. */
  whole(logged: LoggedDelivery): Promise<NewDelivery | { lost: string }>
}

/** One reading request in the App's own name; throws `GithubError`. */
export type Ask = (route: string, parameters: Record<string, unknown>) => Promise<{ data: unknown; headers: { link?: string | undefined } }>

const PAGE = 100

export function deliveryLog(ask: Ask): DeliveryLog {
  return {
    async page(cursor) {
      const { data, headers } = await ask('GET /app/hook/deliveries', { per_page: PAGE, ...(cursor === null ? {} : { cursor }) })
      return { deliveries: listOf(data).map(logged), next: cursorIn(headers.link) }
    },
    async whole(entry) {
      try {
        const { data } = await ask('GET /app/hook/deliveries/{id}', { id: entry.id })
        return toStore(entry, at(data, 'request', 'headers'), at(data, 'request', 'payload'))
      } catch (error) {
        if (error instanceof GithubError && (error.failure.kind === 'not-found' || error.failure.kind === 'gone')) {
          return { lost: error.failure.message }
        }
        throw error
      }
    },
  }
}

function logged(item: unknown): LoggedDelivery {
  const [id, guid, event, time] = [
    idOf(at(item, 'id')),
    textOf(at(item, 'guid')),
    textOf(at(item, 'event')),
    timeOf(at(item, 'delivered_at')),
  ]
  if (id === null || guid === '' || event === '' || time === null) {
    throw new GithubError({ kind: 'server', status: 200, message: `GitHub's log of deliveries cannot be read: entry ${id} is not whole` })
  }
  return { id, guid, event, at: new Date(time) }
}

/** The cursor in `<https://…?cursor=v1_123>; rel="next"`. */
function cursorIn(link: string | undefined): string | null {
  const next = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1]
  return next === undefined ? null : new URL(next).searchParams.get('cursor')
}

function toStore({ guid, event }: LoggedDelivery, sent: unknown, payload: unknown): NewDelivery | { lost: string } {
  if (typeof sent !== 'object' || sent === null || typeof payload !== 'object' || payload === null) {
    return { lost: 'the log has it without its headers or its payload' }
  }
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), String(value)]))
  return {
    source: 'github',
    transport: 'deliveries-api',
    hook: headers['x-github-hook-id'] ?? '',
    guid,
    event,
    headers: toldBeside(headers),
    body: stringifyExact(payload),
    place: placeOf(payload),
  }
}
