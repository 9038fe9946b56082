/** The HTTP listeners: webhooks for the world, health and metrics for ops, each on a port of its own (facts: HTTP ingress). */
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import type { Logger } from 'pino'
import { placeOf } from '../channels/github/delivery.ts'
import type { NewDelivery } from '../ledger/deliveries.ts'
import { type Delivery, type WebhookCounters, webhookCounters, webhookListener } from './webhooks.ts'

export interface ServersGiven {
  host: string
  panelPort: Port
  webhookPort: Port
  /** Empty: no channel is on, or this process is another part; there is no webhook listener then. */
  webhookSecrets: readonly string[]
  store(delivery: NewDelivery): Promise<'stored' | 'duplicate'>
  /** Rejects, with the reason, while a service that this process needs does not answer, or while it does not work. */
  isReady(): Promise<void>
  log: Logger
}

/** A chosen port is meant: if it is busy, that is an error. Another one gives way to the next free port. */
export interface Port {
  port: number
  chosen: boolean
}

export interface Servers {
  panelUrl: string
  webhookUrl: string | null
  counters: WebhookCounters
  close(): Promise<void>
}

export async function startServers(given: ServersGiven): Promise<Servers> {
  const counters = webhookCounters()
  const panel = panelServer(given, counters)
  const panelUrl = await listen(panel, given.host, given.panelPort, 'SWITCHYARD_PORT')
  if (given.webhookSecrets.length === 0) return { panelUrl, webhookUrl: null, counters, close: () => panel.close() }

  const webhooks = webhookListener({
    secrets: given.webhookSecrets,
    store: (delivery) => given.store(toStore(delivery)),
    log: given.log,
    counters,
  })
  try {
    const webhookUrl = await listen(webhooks, given.host, given.webhookPort, 'SWITCHYARD_WEBHOOK_PORT')
    return { panelUrl, webhookUrl, counters, close: () => Promise.all([webhooks.close(), panel.close()]).then(() => undefined) }
  } catch (error) {
    await panel.close()
    throw error
  }
}

function panelServer({ isReady, webhookSecrets }: ServersGiven, counters: WebhookCounters): FastifyInstance {
  const server = fastify({ logger: false })
  server.get('/healthz', async (_request, reply) => {
    try {
      await isReady()
      return { status: 'ok' }
    } catch (error) {
      return reply.code(503).send({ status: 'not ready', reason: error instanceof Error ? error.message : String(error) })
    }
  })
  if (webhookSecrets.length === 0) return server
  server.get('/metrics', async (_request, reply) => {
    const lines = Object.entries(counters).map(([outcome, count]) => `switchyard_webhook_requests_total{outcome="${outcome}"} ${count}`)
    return reply.type('text/plain; version=0.0.4').send(`# TYPE switchyard_webhook_requests_total counter\n${lines.join('\n')}\n`)
  })
  return server
}

function toStore({ event, guid, hook, headers, body, payload }: Delivery): NewDelivery {
  return { source: 'github', transport: 'webhook', hook: hook ?? '', guid, event, headers, body, place: placeOf(payload) }
}

async function listen(server: FastifyInstance, host: string, { port, chosen }: Port, variable: string): Promise<string> {
  for (let attempt = port; ; attempt++) {
    try {
      await server.listen({ host, port: attempt })
      const { port: bound } = server.server.address() as AddressInfo
      return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error
      if (chosen) throw new Error(`port ${port} on ${host} is in use: free it, or set ${variable} to another one`)
      if (attempt >= port + 100) throw new Error(`no port from ${port} to ${attempt} on ${host} is free: set ${variable}`)
    }
  }
}
