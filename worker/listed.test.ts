/** What GitHub's log of deliveries does not reach, with the offline GitHub, the real listener, a real ledger and the real intake. */
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GithubSettings } from '../core/deployment/settings.ts'
import { createDeliveryStore, readWatermark } from '../ledger/deliveries.ts'
import { openLedger, type TestLedger } from '../ledger/fixture.ts'
import { type OfflineGithub, startGithub } from '../rehearsal/github/server.ts'
import { world } from '../rehearsal/scenarios/fix-failing-test.ts'
import { type Operate, pointHook, setStage } from '../rehearsal/stage.ts'
import { type Servers, startServers } from '../server/servers.ts'
import { testFolder } from '../test/services.ts'
import { openGithub } from './github.ts'
import { takeInPending } from './intake.ts'
import { type Missed, startTakingMissed, takeMissed } from './missed.ts'
import { redeliver } from './redeliver.test-help.ts'

const SECRET = 'a secret'
const repository = world.repository.fullName
const DAYS = 24 * 60 * 60_000
let ledger: TestLedger
let github: OfflineGithub
let settings: GithubSettings
let missed: Missed
let servers: Servers | null
let later: number
let logged: string[]

const operate: Operate = async (deed, facts = {}) =>
  (github.operator[deed as keyof typeof github.operator] as (facts: unknown) => unknown)(facts)

beforeEach(async () => {
  ledger = await openLedger()
  github = await startGithub({ folder: testFolder('listed-'), contract: true })
  settings = await setStage(operate, world, github, SECRET)
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
  servers = null
  await listen()
})
afterEach(async () => {
  await goAway()
  await github.close()
  await ledger.drop()
  expect(github.contractFaults).toEqual([])
})

async function listen(): Promise<void> {
  const port = { port: 0, chosen: true }
  const { store, log } = missed
  const given = { host: '127.0.0.1', panelPort: port, webhookPort: port, webhookSecrets: [SECRET], store, log }
  servers = await startServers({ ...given, isReady: async () => undefined })
  await pointHook(operate, world, servers.webhookUrl!, SECRET)
}

async function goAway(): Promise<void> {
  await servers?.close()
  servers = null
}

const open = (title: string, body: string | null) => operate('openIssue', { repository, as: 'mara', title, body })
const comment = (number: number, body: string) => operate('comment', { repository, number, as: 'mara', body })
const round = async (given = missed) => {
  await operate('delivered')
  return takeMissed(given, new AbortController().signal)
}
/** Everything that is stored is decided. */
async function decide(): Promise<void> {
  const intake = { ...missed, ...openGithub(settings), tellOutsiders: true, now: () => new Date() }
  while ((await takeInPending(intake, new AbortController().signal)) > 0);
  expect(await ledger.db.selectFrom('delivery').select('reason').where('state', '=', 'pending').execute()).toEqual([])
}
const triggers = () => ledger.db.selectFrom('trigger').selectAll().orderBy('id').execute()
const said = async () => (await triggers()).map(({ event, body }) => `${event}: ${body}`)
const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_100 - (Date.now() % 1_000)))

/** A branch with a change, so that a pull request can be opened. */
async function openPull(title: string) {
  await operate('push', { repository, as: 'mara', branch: 'a-change', message: 'A change', files: { 'a.txt': 'one\n' } })
  return operate('openPull', { repository, as: 'mara', title, head: 'a-change', body: '' })
}

test('[F117] [M3] what was written in an outage of four days is found, in the order of its place, and what had arrived before stands once', async () => {
  const early = await open('Heard', '@switchyard look at this')
  const heard = await comment(early.number, 'heard before the outage')
  await operate('delivered')
  await decide()
  await goAway()
  await nextSecond()
  const outage = github.operator.state().deliveries.length
  await comment(early.number, 'a follow-up')
  await operate('editComment', { comment: heard.id, as: 'mara', body: 'changed in the outage' })
  await nextSecond()
  await open('Unheard', '@switchyard and this')
  const pull = await openPull('Mine')
  const comments = [{ path: 'a.txt', line: 1, body: 'on a line' }]
  await operate('review', { repository, number: pull.number, as: 'mara', state: 'COMMENTED', body: 'a review', comments })
  await nextSecond()
  await operate('close', { repository, number: early.number, as: 'mara' })

  later = 4 * DAYS
  expect(await round()).toBe(7)
  expect((await readWatermark(ledger.db, 'github')).readTo.getTime()).toBeGreaterThan(Date.now() + 3 * DAYS)
  await decide()
  const found = await said()
  expect(found.toSorted()).toEqual(
    [
      'issues.opened: Heard\n\n@switchyard look at this',
      'issue_comment.created: heard before the outage',
      'issue_comment.created: a follow-up',
      'issue_comment.edited: changed in the outage',
      'issues.opened: Unheard\n\n@switchyard and this',
      'pull_request.opened: Mine',
      'pull_request_review.submitted: a review',
      'pull_request_review_comment.created: on a line',
      'issues.closed: ',
    ].toSorted(),
  )
  for (const [, inPlace] of Map.groupBy(await triggers(), ({ thread }) => thread)) {
    const times = inPlace.map(({ happenedAt }) => happenedAt.getTime())
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
  const candidates = await ledger.db
    .selectFrom('candidate')
    .innerJoin('trigger', 'trigger.id', 'candidate.trigger')
    .select(['trigger.body', 'explicit'])
    .execute()
  expect(candidates.map(({ body }) => body)).toEqual(['Heard\n\n@switchyard look at this', 'Unheard\n\n@switchyard and this'])

  // what people send again by hand, and the next round, find everything known
  await listen()
  for (const { id, event } of github.operator.state().deliveries.slice(outage))
    if (event !== 'push') expect(await redeliver(github, id)).toBe(202)
  await operate('delivered')
  later += 4 * DAYS
  await round()
  await decide()
  expect(await said()).toEqual(found)
})

test('[F117] [N7] of a comment that was changed in the outage nobody’s authority is taken, and its author is told nothing', async () => {
  const { number } = await open('A question', null)
  await operate('delivered')
  await decide()
  await goAway()
  const { id } = await comment(number, 'please lok')
  await nextSecond()
  await operate('editComment', { comment: id, as: 'mara', body: '@switchyard please look' })
  later = 4 * DAYS
  await round()
  await decide()
  expect((await triggers()).at(-1)).toMatchObject({ event: 'issue_comment.edited', body: '@switchyard please look', member: false })
  expect(await ledger.db.selectFrom('candidate').select('id').execute()).toEqual([])
  expect(await ledger.db.selectFrom('outbox').select('id').execute()).toEqual([])
})

test('[F117] a change of an old comment that the ledger never heard of is passed over', async () => {
  await goAway()
  const { number } = await open('A question', null)
  const { id } = await comment(number, '@switchyard long ago')
  await nextSecond()
  await bornNow()
  await operate('editComment', { comment: id, as: 'mara', body: '@switchyard long ago, and corrected' })
  later = 4 * DAYS
  await round()
  expect(await ledger.db.selectFrom('delivery').select('id').execute()).toEqual([])
})

test('[F117] while the lists fail the watermark stays and nothing is lost; a repository that is gone holds up no other', async () => {
  await goAway()
  await open('Unheard', '@switchyard look')
  later = 4 * DAYS
  const before = await readWatermark(ledger.db, 'github')
  const list = { path: '/issues/comments$' }
  await operate('setFaults', { rules: [{ does: '502 before', match: list }] })
  expect(await round()).toBe(0)
  expect((await readWatermark(ledger.db, 'github')).readTo).toEqual(before.readTo)
  expect(await round({ ...missed, repositories: ['acme/gone', repository] })).toBe(1)
  expect(logged.join('')).toContain('acme/gone')
})

test('[M3] what the log of deliveries still holds is taken from the log', async () => {
  await goAway()
  await open('Unheard', '@switchyard look')
  expect(await round()).toBe(1)
  expect(await ledger.db.selectFrom('delivery').select('transport').execute()).toEqual([{ transport: 'deliveries-api' }])
})

test('[F119] what the log names and does not have any more is found in the lists', async () => {
  await goAway()
  await open('Unheard', '@switchyard look')
  const log = missed.client.deliveryLog!
  const gone = { ...log, whole: async () => ({ lost: '410: expired' }) }
  expect(await round({ ...missed, client: { ...missed.client, deliveryLog: gone } })).toBe(1)
  await decide()
  expect(await said()).toEqual(['issues.opened: Unheard\n\n@switchyard look'])
})

test('[M3] with a personal token, which has no log, the lists are looked at in every round, of the repositories that are known', async () => {
  await operate('createAccount', { login: 'agent' })
  await operate('setMember', { repository, login: 'agent', role: 'write' })
  settings = { ...settings, auth: { kind: 'token', token: await operate('createToken', { login: 'agent' }) } }
  missed = { ...missed, client: openGithub(settings).client }
  const { number } = await open('Heard', 'nothing to do')
  await operate('delivered')
  await decide()
  await goAway()
  await comment(number, '@agent please look')
  const loop = startTakingMissed(missed)
  await expect.poll(() => ledger.db.selectFrom('delivery').select('transport').orderBy('id').execute(), { timeout: 20_000 }).toHaveLength(2)
  await loop.stop()
  expect(logged.filter((line) => line.includes('no GitHub App'))).toHaveLength(1)
  await decide()
  expect((await triggers()).at(-1)).toMatchObject({ event: 'issue_comment.created', rule: 'P6' })
  expect(await round()).toBe(0)
})

function bornNow() {
  const now = new Date()
  return ledger.owner
    .updateTable('watermark')
    .set({ bornAt: new Date(now.getTime() + 60_000), readTo: now })
    .execute()
}
