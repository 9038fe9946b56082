/** Sends the host's own words, one after another in each Thread; what fails is tried again without end, or has failed for good. */
import { leaseNotices, postponeNotice } from '../../ledger/notices.ts'
import type { Deps } from '../deps.ts'
import { performRow } from './effect.ts'

/** One round; says how many were settled. */
export async function sendNotices(deps: Deps, signal: AbortSignal): Promise<number> {
  const { github } = deps
  if (!github) return 0
  let settled = 0
  for (const row of await leaseNotices(deps.db, 20)) {
    try {
      await performRow({ deps, github, row, signal })
      settled += 1
    } catch (error) {
      if (signal.aborted) throw error
      deps.log.warn({ err: error, key: row.key }, 'a notice could not be sent; it is tried again')
      await postponeNotice(deps.db, row)
    }
  }
  return settled
}
