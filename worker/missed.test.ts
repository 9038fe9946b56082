/** What GitHub could not bring, with the offline GitHub, the real listener and a real ledger. */
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GithubError, type GithubFailure } from '../channels/github/failure.ts'
import { type Ask, deliveryLog } from '../channels/github/missed.ts'
import { createDeliveryStore, readWatermark } from '../ledger/deliveries.ts'
import { openLedger, type TestLedger } from '../ledger/fixture.ts'
import { type OfflineGithub, startGithub } from '../rehearsal/github/server.ts'
import { world } from '../rehearsal/scenarios/fix-failing-test.ts'
import { type Operate, pointHook, setStage } from '../rehearsal/stage.ts'
import { type Servers, startServers } from '../server/servers.ts'
import { testFolder } from '../test/services.ts'
import { openGithub } from './github.ts'
import { type Missed, startTakingMissed, takeMissed } from './missed.ts'
import { redeliver } from './redeliver.test-help.ts'

const SECRET = 'a secret'
const REPOSITORY = world.repository.fullName
const MINUTE = 60_000
let ledger: TestLedger
let github: OfflineGithub
let missed: Missed
let listener: Servers | null
let later: number
let logged: string[]

const operate: Operate = async (deed, facts = {}) =>
  (github.operator[deed as keyof typeof github.operator] as (facts: unknown) => unknown)(facts)

beforeEach(async () => {
  ledger = await openLedger()
  github = await startGithub({ folder: testFolder('missed-'), contract: true })
  const settings = await setStage(operate, world, github, SECRET)
  later = 0
  logged = []
  missed = {
    db: ledger.db,
    client: openGithub(settings).client,
    repositories: [],
    store: createDeliveryStore(ledger.db),
    log: pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
    now: () => new Date(Date.now() + later),
  }
  await listen()
  await operate('openIssue', { repository: REPOSITORY, as: 'mara', title: 'A question', body: null })
  await operate('delivered')
})
afterEach(async () => {
  await listener?.close()
  await github.close()
  await ledger.drop()
  expect(github.contractFaults).toEqual([])
})

async function listen(): Promise<void> {
  const port = { port: 0, chosen: true }
  const { store, log } = missed
  listener = await startServers({
    host: '127.0.0.1',
    panelPort: port,
    webhookPort: port,
    webhookSecrets: [SECRET],
    store,
    isReady: async () => undefined,
    log,
  })
  await pointHook(operate, world, listener.webhookUrl!, SECRET)
}

async function goAway(): Promise<void> {
  await listener?.close()
  listener = null
}

async function say(...bodies: string[]): Promise<void> {
  for (const body of bodies) await operate('comment', { repository: REPOSITORY, number: 1, as: 'mara', body })
  await operate('delivered')
}

const round = (given = missed) => takeMissed(given, new AbortController().signal)
const rows = () =>
  ledger.db.selectFrom('delivery').select(['guid', 'transport', 'hook', 'event', 'headers', 'body', 'place']).orderBy('id').execute()
const said = async () => (await rows()).map(({ body }) => JSON.parse(body!).comment?.body ?? 'opened')
const alarms = () => ledger.db.selectFrom('alarm').select(['kind', 'subject', 'body', 'endedAt']).execute()

test('[M3, M2, F116] five events while nobody listened are taken once, in order, beside those that came', async () => {
  await say('one')
  await goAway()
  await say('two', 'three', 'four', 'five', 'six')
  await listen()
  await say('seven')
  expect(await said()).toEqual(['opened', 'one', 'seven'])

  expect(await round()).toBe(5)
  expect(await said()).toEqual(['opened', 'one', 'seven', 'two', 'three', 'four', 'five', 'six'])
  const [, came, , fetched] = await rows()
  expect(came).toMatchObject({ transport: 'webhook' })
  expect(fetched).toMatchObject({ transport: 'deliveries-api', hook: came!.hook, event: 'issue_comment', place: came!.place })
  expect(Object.keys(fetched!.headers)).toEqual(Object.keys(came!.headers))
  expect(Object.keys(JSON.parse(fetched!.body!))).toEqual(Object.keys(JSON.parse(came!.body!)))

  const before = await rows()
  expect(await round()).toBe(0)
  expect(await rows()).toEqual(before)
})

test('[M2] what GitHub sends again by a person’s hand after it was fetched is the same delivery', async () => {
  await goAway()
  await say('unheard')
  expect(await round()).toBe(1)
  await listen()
  const delivery = github.operator.state().deliveries.at(-1)!
  await operate('setFaults', { rules: [{ does: 'duplicate', copies: 5 }] })
  expect(await redeliver(github, delivery.id)).toBe(202)
  await operate('delivered')
  expect(github.operator.state().deliveries.at(-1)).toMatchObject({ guid: delivery.guid, redelivery: true, status: 'OK' })
  expect(await said()).toEqual(['opened', 'unheard'])
})

test('[F025, M3] what was refused while the database was away is fetched when it is back', async () => {
  const { store } = missed
  missed.store = async () => Promise.reject(new Error('connection refused'))
  await goAway()
  await listen()
  await say('one', 'two')
  expect(github.operator.state().deliveries.slice(-2)).toMatchObject([{ statusCode: 503 }, { statusCode: 503 }])
  expect(await round({ ...missed, store })).toBe(2)
  expect(await said()).toEqual(['opened', 'one', 'two'])
})

test('[F118] when the second page fails the watermark stays, and the next round takes everything', async () => {
  await goAway()
  await say(...Array.from({ length: 110 }, (_, nth) => `number ${nth}`))
  const before = await readWatermark(ledger.db, 'github')
  const list = { path: '^/app/hook/deliveries$' }
  await operate('setFaults', {
    rules: [
      { does: 'delay', ms: 1, match: list },
      { does: '502 before', match: list },
    ],
  })
  expect(await round()).toBe(0)
  const failed = await readWatermark(ledger.db, 'github')
  expect(failed.readTo).toEqual(before.readTo)
  expect(failed.failingSince).not.toBeNull()
  expect(await said()).toEqual(['opened'])

  expect(await round()).toBe(110)
  expect(await said()).toEqual(['opened', ...Array.from({ length: 110 }, (_, nth) => `number ${nth}`)])
  const after = await readWatermark(ledger.db, 'github')
  expect(after.readTo.getTime()).toBeGreaterThan(before.readTo.getTime())
  expect(after.failingSince).toBeNull()
})

test('[F119] one delivery that GitHub cannot give does not hold back the others, and is asked for again', async () => {
  await goAway()
  await say('one', 'two', 'three', 'four')
  const { id } = github.operator.state().deliveries.find(({ event, action }) => event === 'issue_comment' && action === 'created')!
  const before = await readWatermark(ledger.db, 'github')
  await operate('setFaults', { rules: [{ does: '502 before', match: { path: `/${id}$` }, times: null }] })
  expect(await round()).toBe(0)
  expect(await said()).toEqual(['opened', 'two', 'three', 'four'])
  expect((await readWatermark(ledger.db, 'github')).readTo).toEqual(before.readTo)
  await operate('setFaults', { rules: [] })
  expect(await round()).toBe(1)
  expect(await said()).toEqual(['opened', 'two', 'three', 'four', 'one'])
})

test('[M3, O1] rounds that fail for half an hour raise one alarm, which ends with the first good round', async () => {
  await operate('setFaults', { rules: [{ does: '502 before', times: null }] })
  for (const minutes of [0, 5, 29]) {
    later = minutes * MINUTE
    expect(await round()).toBe(0)
  }
  expect(await alarms()).toEqual([])
  for (const minutes of [31, 36]) {
    later = minutes * MINUTE
    await round()
  }
  expect(await alarms()).toMatchObject([
    { kind: 'intake', subject: 'missed deliveries', body: expect.stringContaining('502'), endedAt: null },
  ])
  await operate('setFaults', { rules: [] })
  await round()
  expect(await alarms()).toMatchObject([{ endedAt: expect.any(Date) }])
})

test('[M3] after a rate limit GitHub is asked no sooner than it said', async () => {
  await goAway()
  await say('one')
  await operate('setFaults', { rules: [{ does: 'secondary limit', seconds: 1_200, match: { path: '^/app/hook' } }] })
  expect(await round()).toBe(0)
  later = 19 * MINUTE
  expect(await round()).toBe(0)
  later = 21 * MINUTE
  expect(await round()).toBe(1)
})

/** A log of `count` deliveries, a minute apart, one to a page; the newest is `newest` minutes old. */
function longLog(count: number, newest: number, failing: (request: string) => GithubFailure | null = () => null) {
  const asked: string[] = []
  const ask: Ask = async (route, { cursor, id }) => {
    const nth = Number(cursor ?? id ?? 0)
    const request = id === undefined ? `page ${nth}` : `whole ${nth}`
    asked.push(request)
    const failure = failing(request)
    if (failure) throw new GithubError(failure)
    const at = new Date(missed.now().getTime() - (newest + nth) * MINUTE)
    const item = { id: nth === 0 ? 10_000 : nth, guid: `guid-${nth}`, event: 'watch', delivered_at: at.toISOString() }
    if (route.endsWith('{id}')) {
      return { data: { ...item, request: { headers: { 'X-GitHub-Hook-ID': '5' }, payload: { nth: nth % 10_000 } } }, headers: {} }
    }
    const link = nth + 1 < count ? `<https://x/app/hook/deliveries?cursor=${nth + 1}>; rel="next"` : undefined
    return { data: count === 0 ? [] : [item], headers: { link } }
  }
  return { asked, given: { ...missed, client: { ...missed.client, deliveryLog: deliveryLog(ask) } } }
}
const pagesIn = (asked: string[]) => asked.filter((request) => request.startsWith('page')).length
const born = (minutes: number) =>
  ledger.owner
    .updateTable('watermark')
    .set({ bornAt: new Date(missed.now().getTime() - minutes * MINUTE), readTo: new Date(missed.now().getTime() - minutes * MINUTE) })
    .execute()

test('[M3] a log of more than fifty pages goes on in the next round, and the watermark waits for its end', async () => {
  await born(1_000)
  const before = await readWatermark(ledger.db, 'github')
  const { asked, given } = longLog(120, 0)
  expect(await round(given)).toBe(50)
  expect(pagesIn(asked)).toBe(50)
  expect((await readWatermark(ledger.db, 'github')).readTo).toEqual(before.readTo)
  expect(await round(given)).toBe(50)
  expect(await round(given)).toBe(20)
  expect(pagesIn(asked)).toBe(120)
  const after = await readWatermark(ledger.db, 'github')
  expect(after).toMatchObject({ listing: null })
  expect(after.readTo.getTime()).toBeGreaterThan(before.readTo.getTime())
  expect(await round(given)).toBe(0)
  expect(pagesIn(asked)).toBeLessThan(120 + 15)
})

test('[M3] nothing from before the ledger was there is taken', async () => {
  await born(5)
  const young = longLog(60, 0)
  expect([6, 7]).toContain(await round(young.given)) // a minute is left for clocks that differ
  expect(pagesIn(young.asked)).toBeLessThan(10)
})

test('[M3] nothing from more than three days ago is asked for: GitHub keeps no more', async () => {
  await born(10_000)
  const old = longLog(60, 3 * 24 * 60 - 10)
  expect([10, 11]).toContain(await round(old.given))
  expect(pagesIn(old.asked)).toBeLessThan(15)
})

test('[F119] a delivery that is gone from GitHub is told in the log, looked for in the lists, and holds nothing up', async () => {
  await born(100)
  const { given } = longLog(3, 0, (request) => (request === 'whole 1' ? { kind: 'gone', status: 410, message: 'expired' } : null))
  // two from the log, and the issue, which is not decided yet, once more from the lists
  expect(await round(given)).toBe(3)
  expect(logged.join('')).toContain('gone from GitHub, too')
  expect((await readWatermark(ledger.db, 'github')).failingSince).toBeNull()
})

test('[M3] a GitHub that gives no delivery at all is not asked for every one of them', async () => {
  await born(1_000)
  const down: GithubFailure = { kind: 'server', status: 500, message: 'oops' }
  const { asked, given } = longLog(40, 0, (request) => (request.startsWith('whole') ? down : null))
  expect(await round(given)).toBe(0)
  expect(asked.filter((request) => request.startsWith('whole')).length).toBeLessThan(20)
})

test('[M3] two rounds at once take each delivery once', async () => {
  await goAway()
  await say('one', 'two', 'three')
  const taken = await Promise.all([round(), round()])
  expect(taken.reduce((sum, each) => sum + each)).toBe(3)
  expect((await said()).sort()).toEqual(['one', 'opened', 'three', 'two'])
})

test('[M3] a round that is stopped leaves the watermark', async () => {
  await goAway()
  await say('one')
  const before = await readWatermark(ledger.db, 'github')
  expect(await takeMissed(missed, AbortSignal.abort())).toBe(0)
  expect((await readWatermark(ledger.db, 'github')).readTo).toEqual(before.readTo)
  expect(await round()).toBe(1)
})

test('[M3] the loop takes what was missed right after a start', async () => {
  await goAway()
  await say('one')
  const loop = startTakingMissed(missed)
  await expect.poll(said, { timeout: 20_000 }).toEqual(['opened', 'one'])
  await loop.stop()
})
