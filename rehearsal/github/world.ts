/**
 * One running offline GitHub, as its rules see it: the state, the addresses, and the one way to change anything. A change and
 * the deliveries that it raises are written together before the caller hears of it.
 */
import type { Faults } from './faults.ts'
import { createHooks, type Event } from './hooks.ts'
import type { Repository, State } from './state.ts'
import type { DeliveryBody, Store } from './store.ts'

export type Raise = (event: Event) => void

export interface World {
  state: State
  url(): string
  apiUrl(): string
  folderOf(repository: Repository): string
  /** Checks belong before it: nothing is rolled back when `work` throws half-way. */
  change<T>(work: (raise: Raise) => T): T
  /** One after another for each repository: what moves a branch must be told in the order in which it happened. */
  alone<T>(repository: Repository, work: () => Promise<T>): Promise<T>
  deliveryBody(deliveryId: number): DeliveryBody
  redeliver(deliveryId: number): void
  /** Ends when every delivery that was raised so far has been answered or given up. */
  delivered(): Promise<void>
  close(): Promise<void>
}

export interface Watch {
  delivery(event: string, action: string | null, payload: Record<string, unknown>): void
  loud(line: string): void
}

export function createWorld(store: Store, url: () => string, watch: Watch, faults: Faults, closing: AbortSignal): World {
  const turns = new Map<number, Promise<unknown>>()
  const apiUrl = () => `${url()}/api/v3`
  const hooks = createHooks(store, { state: store.state, url, apiUrl }, watch, faults, closing)

  return {
    state: store.state,
    url,
    apiUrl,
    folderOf: (repository) => store.repositoryFolder(repository.id),
    change(work) {
      const events: Event[] = []
      const result = work((event) => events.push(event))
      store.save(events.flatMap(hooks.record))
      hooks.post()
      return result
    },
    alone(repository, work) {
      const before = turns.get(repository.id) ?? Promise.resolve()
      const mine = before.then(work, work)
      turns.set(repository.id, mine)
      return mine
    },
    deliveryBody: store.body,
    redeliver(id) {
      store.save([hooks.again(id)])
      hooks.post()
    },
    delivered: hooks.delivered,
    close: hooks.close,
  }
}
