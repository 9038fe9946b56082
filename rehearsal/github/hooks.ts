/**
 * Webhooks: who hears of an event, the signed post, and the deliveries log. The GUID names the event and is shared by every
 * hook that hears of it; a redelivery keeps it. Nothing is ever sent again by itself: what was in flight when the process died
 * is logged as failed, what had not been sent yet is sent after the start. An operator's rules may lose, repeat, delay or reorder
 * what is sent (`faults.ts`).
 */
import { createHmac, randomUUID } from 'node:crypto'
import { type DeliveryRule, type Faults, type Live, pause } from './faults.ts'
import { organizationPart, type View } from './shapes/accounts.ts'
import { byId, type Delivery, type Hook, installationFor, nextId, nodeId, now, type Repository, type State } from './state.ts'
import type { DeliveryBody, Store } from './store.ts'
import type { Watch } from './world.ts'

export interface Event {
  name: string
  action: string | null
  repository: Repository
  /** Everything but what each hook adds for itself. */
  payload: Record<string, unknown>
}

interface Recorded {
  delivery: Delivery
  body: DeliveryBody
}

/** GitHub gives a receiver ten seconds. */
const DEADLINE_MS = 10_000
const ANSWER_LIMIT = 4_000

/** Posts nothing any more from when `closing` is aborted; what was in flight then is logged as failed. */
export function createHooks(store: Store, view: View, watch: Watch, faults: Faults, closing: AbortSignal) {
  const { state } = store
  /** One line of posts for each hook, so that a run of the rehearsal is the same each time; order is still no promise to the receiver. */
  const lines = new Map<number, Promise<void>>()
  /** What a rule keeps back until it has enough to send in reverse. */
  const held: { delivery: Delivery; by: Live<DeliveryRule> }[] = []

  for (const delivery of state.deliveries) {
    if (delivery.progress === 'posting')
      Object.assign(delivery, { progress: 'done', status: 'interrupted: the sender stopped', statusCode: 0 })
  }

  function record(event: Event): Recorded[] {
    const guid = randomUUID()
    return state.hooks
      .filter((hook) => hears(state, hook, event))
      .map((hook) => {
        const installation = hook.target.type === 'integration' ? installationFor(state, hook.target.id, event.repository) : undefined
        const payload = {
          ...(event.action === null ? {} : { action: event.action }),
          ...event.payload,
          ...organizationPart(view, event.repository),
          ...(installation ? { installation: { id: installation.id, node_id: nodeId('installation', installation.id) } } : {}),
        }
        watch.delivery(event.name, event.action, payload)
        const ids = { repositoryId: event.repository.id, installationId: installation?.id ?? null }
        return entry(state, hook, { guid, event: event.name, action: event.action, redelivery: false, ...ids }, payload)
      })
  }

  function again(deliveryId: number): Recorded {
    const earlier = byId(state.deliveries, deliveryId, 'delivery')
    const { guid, event, action, repositoryId, installationId } = earlier
    const hook = byId(state.hooks, earlier.hookId, 'hook')
    const payload = store.body(deliveryId).request.payload
    return entry(state, hook, { guid, event, action, repositoryId, installationId, redelivery: true }, payload)
  }

  function post(): void {
    for (const hook of state.hooks) {
      if (lines.has(hook.id)) continue
      const line = drain(hook).finally(() => {
        lines.delete(hook.id)
        // raised after the line had looked for the last time, and before it was off the list
        if (next(hook)) post()
      })
      lines.set(hook.id, line)
    }
  }

  function next(hook: Hook): Delivery | undefined {
    if (closing.aborted) return undefined
    const kept = new Set(held.filter(({ by }) => faults.isSet(by)).map(({ delivery }) => delivery.id))
    return state.deliveries.find((delivery) => delivery.hookId === hook.id && delivery.progress === 'waiting' && !kept.has(delivery.id))
  }

  async function drain(hook: Hook): Promise<void> {
    for (;;) {
      await faults.outage.over()
      const delivery = next(hook)
      if (!delivery) return
      const met = faults.delivery([delivery.event, delivery.action].filter(Boolean).join('.'))
      const due = met?.rule.does === 'reorder' ? reversed(delivery, met, met.rule.hold) : [delivery]
      for (const each of due) await postOne(hook, each, met?.rule ?? null)
    }
  }

  /** The whole group once it is complete. */
  function reversed(delivery: Delivery, by: Live<DeliveryRule>, size: number): Delivery[] {
    held.push({ delivery, by })
    const group = held.filter((row) => row.by === by && row.delivery.hookId === delivery.hookId)
    if (group.length < size) return []
    for (const row of group) held.splice(held.indexOf(row), 1)
    return group.map((row) => row.delivery).reverse()
  }

  async function postOne(hook: Hook, delivery: Delivery, rule: DeliveryRule | null): Promise<void> {
    if (rule?.does === 'delay delivery') await pause(rule.ms, closing)
    if (closing.aborted) return // it still waits, for the next start
    const body = store.body(delivery.id)
    Object.assign(delivery, { progress: 'posting', at: now() })
    store.save()
    const began = performance.now()
    const copies = rule?.does === 'drop' ? 0 : rule?.does === 'duplicate' ? rule.copies : 1
    const [outcome = UNSENT] = await Promise.all(Array.from({ length: copies }, () => send(hook, body, closing)))
    const duration = Math.round(performance.now() - began) / 1000
    Object.assign(delivery, { progress: 'done', duration, status: outcome.status, statusCode: outcome.statusCode })
    store.save([{ delivery, body: { ...body, response: outcome.response } }])
  }

  return {
    record,
    again,
    post,
    async delivered() {
      while (lines.size > 0) await Promise.all(lines.values())
    },
    async close() {
      await Promise.all(lines.values())
    },
  }
}

function hears(state: State, hook: Hook, event: Event): boolean {
  if (!hook.active || !(hook.events.includes('*') || hook.events.includes(event.name))) return false
  return hook.target.type === 'repository'
    ? hook.target.id === event.repository.id
    : installationFor(state, hook.target.id, event.repository) !== undefined
}

function entry(
  state: State,
  hook: Hook,
  about: Pick<Delivery, 'guid' | 'event' | 'action' | 'repositoryId' | 'installationId' | 'redelivery'>,
  payload: Record<string, unknown>,
): Recorded {
  const id = nextId(state, 'delivery')
  const delivery: Delivery = {
    id,
    hookId: hook.id,
    ...about,
    at: now(),
    progress: 'waiting',
    duration: 0,
    statusCode: 0,
    status: 'pending',
  }
  state.deliveries.push(delivery)
  const signature = (algorithm: string) => createHmac(algorithm, hook.secret).update(JSON.stringify(payload)).digest('hex')
  const headers = {
    Accept: '*/*',
    'Content-Type': 'application/json',
    'User-Agent': 'GitHub-Hookshot/5f2c1ab',
    'X-GitHub-Delivery': about.guid,
    'X-GitHub-Event': about.event,
    'X-GitHub-Hook-ID': String(hook.id),
    'X-GitHub-Hook-Installation-Target-ID': String(hook.target.id),
    'X-GitHub-Hook-Installation-Target-Type': hook.target.type,
    'X-Hub-Signature': `sha1=${signature('sha1')}`,
    'X-Hub-Signature-256': `sha256=${signature('sha256')}`,
  }
  return { delivery, body: { request: { headers, payload }, response: null } }
}

interface Outcome {
  status: string
  statusCode: number
  response: DeliveryBody['response']
}

const UNSENT: Outcome = { status: 'failed to connect to host', statusCode: 0, response: null }

async function send(hook: Hook, { request }: DeliveryBody, closing: AbortSignal): Promise<Outcome> {
  try {
    const answer = await fetch(hook.url, {
      method: 'POST',
      headers: request.headers,
      body: JSON.stringify(request.payload),
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(DEADLINE_MS)]),
    })
    const text = await answer.text()
    const response = { headers: Object.fromEntries(answer.headers), payload: text.slice(0, ANSWER_LIMIT) }
    return { status: answer.ok ? 'OK' : `Invalid HTTP Response: ${answer.status}`, statusCode: answer.status, response }
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? { ...UNSENT, status: 'timed out' } : UNSENT
  }
}
