/** Every example payload that GitHub publishes goes the whole way from the stored delivery to its decision, on a real ledger. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGithubClient } from '../channels/github/client.ts'
import { placeOf } from '../channels/github/delivery.ts'
import { normalise } from '../channels/github/normalise.ts'
import { parseExact } from '../channels/github/payload.ts'
import type { AgentIdentity } from '../core/routing/trigger.ts'
import { createDeliveryStore } from '../ledger/deliveries.ts'
import { openLedger } from '../ledger/fixture.ts'
import { takeInPending } from './intake.ts'

/** A GitHub that knows one thing: everybody may write everywhere. */
const github = createServer(({ url }, answer) => {
  const known = /^\/repos\/[^/]+\/[^/]+\/collaborators\/[^/]+\/permission$/.test(url ?? '')
  answer.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
  answer.end(JSON.stringify(known ? { permission: 'write', role_name: 'write' } : { message: `${url} is not served` }))
})
const agent: AgentIdentity = {
  source: 'github',
  kind: 'user',
  id: '424242',
  login: 'switchyard',
  slug: 'switchyard',
  appId: null,
  noReplyEmail: '424242+switchyard@users.noreply.github.example',
}
let ledger: Awaited<ReturnType<typeof openLedger>>
beforeAll(async () => {
  ledger = await openLedger()
  await new Promise<void>((resolve) => github.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  github.close()
  await ledger.drop()
})

test('[M5] every example payload of GitHub is decided: normalised, or ignored with a reason', async () => {
  const file = createRequire(import.meta.url).resolve('@octokit/webhooks-examples/api.github.com/index.json')
  const events = JSON.parse(readFileSync(file, 'utf8')) as { name: string; examples: unknown[] }[]
  const unique = new Map(events.flatMap(({ name, examples }) => examples.map((example) => [JSON.stringify(example), name] as const)))
  expect(unique.size).toBe(324)
  const store = createDeliveryStore(ledger.db)
  const stored = [...unique].map(([body, event], index) =>
    store({
      source: 'github',
      transport: 'webhook',
      hook: '1',
      guid: `example-${index}`,
      event,
      headers: {},
      body,
      place: placeOf(JSON.parse(body)),
    }),
  )
  expect(new Set(await Promise.all(stored))).toEqual(new Set(['stored']))

  const apiUrl = `http://127.0.0.1:${(github.address() as AddressInfo).port}`
  const now = () => new Date('2026-11-30T12:00:00Z')
  const intake = {
    db: ledger.db,
    client: createGithubClient(
      { apiUrl, graphqlUrl: `${apiUrl}/graphql`, gitUrl: apiUrl, account: { kind: 'token', token: 't' } },
      { now },
    ),
    identity: async () => agent,
    repositories: [],
    tellOutsiders: true,
    log: pino({ level: 'silent' }),
    now,
  }
  let settled = 0
  for (let round = 1; round > 0; settled += round) round = await takeInPending(intake, new AbortController().signal)

  const rows = await ledger.db.selectFrom('delivery').select(['event', 'state', 'reason', 'tries', 'settledAt']).execute()
  expect(rows.filter(({ state, tries, settledAt }) => state === 'pending' || tries > 0 || settledAt === null)).toEqual([])
  expect(settled).toBe(324)
  expect(rows.filter(({ state, reason }) => state === 'ignored' && !/\w/.test(reason ?? ''))).toEqual([])
  const counts = Map.groupBy(rows, ({ state }) => state)
  expect([...counts.keys()].sort()).toEqual(['ignored', 'normalised'])
  // several examples show the same event of the same object, which is one Trigger
  const keys = [...unique].flatMap(([body, event]) => {
    const result = normalise(event, parseExact(body) as Record<string, unknown>, agent)
    return 'triggers' in result ? result.triggers.map(({ key }) => key) : []
  })
  const triggers = await ledger.db.selectFrom('trigger').select('key').execute()
  const heard = new Set(triggers.map(({ key }) => key))
  // the examples tell of this end before they tell of its beginning, and a first version that comes late changes nothing
  expect([...new Set(keys)].filter((key) => !heard.has(key))).toEqual(['github:issue:444500041:opened'])
}, 60_000)
