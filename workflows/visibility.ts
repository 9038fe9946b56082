/** What ops people see of a Session in the Temporal UI: search attributes, written when they change, and the current details. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow'
import type { SEARCH_ATTRIBUTES } from '../core/ticket/search-attributes.ts'
import type { Address } from './protocol.ts'

/** As `core/ticket/search-attributes.ts` registers them. */
const KEYS = {
  role: defineSearchAttributeKey('SyRole' satisfies Name, SearchAttributeType.KEYWORD),
  state: defineSearchAttributeKey('SyState' satisfies Name, SearchAttributeType.KEYWORD),
  ticket: defineSearchAttributeKey('SyTicket' satisfies Name, SearchAttributeType.KEYWORD),
  paused: defineSearchAttributeKey('SyPaused' satisfies Name, SearchAttributeType.BOOL),
  waitingSince: defineSearchAttributeKey('SyWaitingSince' satisfies Name, SearchAttributeType.DATETIME),
  threads: defineSearchAttributeKey('SyThreads' satisfies Name, SearchAttributeType.KEYWORD_LIST),
}
type Name = keyof typeof SEARCH_ATTRIBUTES

/** Above 2,048 bytes of one value the server terminates the workflow; what does not fit is found in the ledger. */
const MOST_THREADS = 20
const MOST_THREAD_BYTES = 1_500

export type Visible = ReturnType<typeof createVisible>

export function createVisible(role: 'main' | 'executor', ticket: number | null, threads: string[]) {
  let shown = ''
  return {
    /** One event, and only if something changed since the last call of this run. */
    show(state: 'working' | 'waiting' | 'blocked' | 'closed', held: boolean, at: Address | null): void {
      setCurrentDetails(`${at ? `Session ${at.session}, step ${at.step}` : 'closed'} · ${state}${held ? ' · held by people' : ''}`)
      const key = `${state} ${held}`
      if (key === shown) return
      shown = key
      upsertSearchAttributes([
        { key: KEYS.role, value: role },
        { key: KEYS.ticket, value: ticket === null ? null : `T-${ticket}` },
        { key: KEYS.state, value: state },
        { key: KEYS.paused, value: held },
        { key: KEYS.waitingSince, value: state === 'waiting' ? new Date() : null },
        { key: KEYS.threads, value: threadsThatFit(threads) },
      ])
    },
  }
}

function threadsThatFit(threads: string[]): string[] | null {
  const fit: string[] = []
  for (const thread of threads.slice(0, MOST_THREADS)) {
    if (fit.reduce((bytes, key) => bytes + key.length + 4, thread.length) > MOST_THREAD_BYTES) break
    fit.push(thread)
  }
  return fit.length > 0 ? fit : null
}
