/** Deliveries as GitHub sends them, taken down on their way or made by the test itself. */
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { World } from '../../rehearsal/scenarios/world.ts'
import { pointHook } from '../../rehearsal/stage.ts'
import { type House, SECRET } from './house.ts'

export interface Delivery {
  body: string | Buffer
  event?: string
  guid?: string
  /** Of another secret, to be refused. */
  secret?: string
}

/** Posts to the program's public address, signed. */
export function post(house: House, { body, event = 'issues', guid = randomUUID(), secret = SECRET }: Delivery): Promise<Response> {
  return fetch(`${house.webhookUrl}/webhooks/github`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/test',
      'x-github-event': event,
      'x-github-delivery': guid,
      'x-github-hook-id': '1',
      'x-github-hook-installation-target-type': 'integration',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
}

/** The body of the delivery with which GitHub tells of the scenario's issue; the program has not heard of it. */
export async function takenDown(house: House, world: World): Promise<{ issue: number; body: string }> {
  const arrived = Promise.withResolvers<string>()
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    response.end()
    if (request.headers['x-github-event'] === 'issues') arrived.resolve(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await pointHook(house.operate, world, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, SECRET)
  const issue = await house.openIssue()
  const body = await arrived.promise
  await house.operate('delivered')
  await pointHook(house.operate, world, house.webhookUrl, SECRET)
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  return { issue, body }
}
