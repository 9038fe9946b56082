/**
 * What is found in GitHub's lists (spec M3, F117): stored as deliveries, through the same intake and under the same Trigger keys as
 * webhooks (M2). What the ledger has heard of already is passed over.
 */
import type { Logger } from 'pino'
import type { GithubClient } from '../channels/github/client.ts'
import { asDelivery, type Found, type Window } from '../channels/github/lists.ts'
import type { Database } from '../ledger/database.ts'
import type { NewDelivery } from '../ledger/deliveries.ts'
import { heardRepositories } from '../ledger/places.ts'
import { type Heard, heardOf } from '../ledger/triggers.ts'

export interface Listing {
  db: Database
  client: Pick<GithubClient, 'findChanges' | 'installedRepositories'>
  repositories: readonly string[]
  store(delivery: NewDelivery): Promise<'stored' | 'duplicate'>
  log: Logger
}

/** Says how many deliveries it stored. */
export async function takeListed(given: Listing, window: Window, signal: AbortSignal): Promise<number> {
  let taken = 0
  for (const fullName of await served(given)) {
    if (signal.aborted) return taken
    const found = await changesIn(given, fullName, window)
    const heard = await heardOf(
      given.db,
      found.map(({ object }) => object),
    )
    for (const each of found) {
      const before = unheard(each, heard.get(each.object) ?? [], window)
      if (before !== null && (await given.store(asDelivery(each, before))) === 'stored') taken += 1
    }
  }
  return taken
}

async function served({ db, client, repositories }: Listing): Promise<readonly string[]> {
  if (repositories.length > 0) return repositories
  return client.installedRepositories ? client.installedRepositories() : heardRepositories(db, 'github')
}

/** One repository that is gone, or that the agent may not see any more, keeps nobody from the others. */
async function changesIn({ client, log }: Listing, fullName: string, window: Window): Promise<Found[]> {
  const found = await client.findChanges(fullName, window)
  if (found === null)
    log.warn({ repository: fullName }, 'what was missed in this repository cannot be looked up: the agent does not see it')
  return found ?? []
}

/**
 * Null: the ledger has heard of it. Else what the words were before: as last heard, or none where they are new too. An old comment of
 * which nothing was ever heard is not read: whether its change asks for anything cannot be told.
 */
function unheard({ event, action, at, bornAt }: Found, heard: readonly Heard[], { since }: Window): string | null {
  if (heard.some((each) => each.event === `${event}.${action}` && each.happenedAt.getTime() === at.getTime())) return null
  if (action !== 'edited') return ''
  const last = heard.at(-1)
  return last ? (last.body ?? '') : bornAt >= since ? '' : null
}
