import { ApplicationFailure } from '@temporalio/activity'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DEFAULT_OPENING } from '../../core/message/opening.ts'
import { transaction } from '../../ledger/database.ts'
import { started } from '../../ledger/fixture.ts'
import { acknowledgementKey, ticketFacts } from '../../ledger/mandates.ts'
import { insertOnce, type NewEffect } from '../../ledger/outbox.ts'
import { overview } from '../../ledger/story.ts'
import { perform, performRow } from './effect.ts'
import { type EffectsHouse, type Mishap, openEffectsHouse, REPOSITORY } from './house.test-help.ts'
import { sendNotices } from './notices.ts'
import { settleUncertain } from './settle.ts'

let house: EffectsHouse
beforeAll(async () => {
  house = await openEffectsHouse()
})
afterAll(() => house.close())
beforeEach(() => house.calm())

const never = new AbortController().signal
const COMMENT = /^POST .*\/issues\/\d+\/comments$/
const COMMENTS = /^GET .*\/issues\/\d+\/comments/
const PULL = /^POST .*\/pulls$/

let issues = 100
let branches = 0
async function commentBy(over: Partial<NewEffect> = {}): Promise<NewEffect> {
  const { ticket, session } = await started(house.ledger.db, ++issues)
  const key = `acknowledge:T-${ticket}`
  const payload = { repository: REPOSITORY, number: house.issue, reviewComment: null }
  const body = `On it, says T-${ticket}.`
  return { key, kind: 'comment', ticket, session, step: 1, call: 'call_1', thread: null, payload, body, ...over }
}
/** A Ticket's branch with a commit, and the effect that opens its pull request. */
async function pullBy(): Promise<NewEffect & { branch: string }> {
  const { ticket, session } = await started(house.ledger.db, ++issues)
  const branch = `switchyard/t-${ticket}-${++branches}`
  await house.github.operator.push({ repository: REPOSITORY, as: 'mara', branch, message: 'A change', files: { [`${branch}.txt`]: 'x' } })
  const { repository } = await ticketFacts(house.ledger.db, ticket)
  const payload = { repository: { ...repository, fullName: REPOSITORY }, branch, base: 'main', title: 'A change', draft: true }
  const at = { session, step: 1, call: 'call_1' }
  return { key: `pull_request:${branch}`, kind: 'pull_request.open', ticket, ...at, thread: null, payload, body: 'why', branch }
}
const openPull = ({ branch: _, ...effect }: NewEffect & { branch: string }) => perform(house.deps, effect, never)
const pullsOf = (branch: string) => house.github.operator.state().pulls.filter(({ headRef }) => headRef === branch)
const said = ({ body }: NewEffect) => house.github.operator.state().comments.filter((comment) => comment.body.includes(body ?? 'nothing'))
const rowOf = ({ key }: Pick<NewEffect, 'key'>) =>
  house.ledger.db.selectFrom('outbox').select(['state', 'tries', 'error', 'url']).where('key', '=', key).executeTakeFirstOrThrow()
const alarmsOf = ({ key }: Pick<NewEffect, 'key'>) =>
  house.ledger.db.selectFrom('alarm').select(['kind', 'body', 'endedAt']).where('subject', '=', key).execute()
const failureOf = async (work: Promise<unknown>): Promise<ApplicationFailure> => {
  const error = await work.then(
    (value) => new Error(`nothing failed: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof ApplicationFailure) return error
  throw error
}

test('[M4, H5] an effect is done once, a comment with its opening sentence; the same call asks nobody and finds its result', async () => {
  const effect = await commentBy()
  const first = await perform(house.deps, effect, never)
  house.calm()
  expect(await perform(house.deps, effect, never)).toEqual(first)
  expect(house.seen(/./)).toEqual([])
  const [comment, ...others] = said(effect)
  expect(others).toEqual([])
  expect(comment!.body.split(DEFAULT_OPENING)).toHaveLength(2)
  expect(await rowOf(effect)).toMatchObject({ state: 'confirmed', tries: 1 })
})

const MISHAPS: [string, Mishap][] = [
  ['[F128, F132] answered 502 although it exists', { kind: 'answer 502' }],
  ['[F132] whose connection broke after it was done', { kind: 'reset' }],
  ['[F129] that timed out while waiting for the answer', { kind: 'be late' }],
]
test.each(MISHAPS)('%s: a comment is sent once, found again by its key, and there is exactly one', async (_, mishap) => {
  const effect = await commentBy()
  house.once(COMMENT, mishap)
  expect(await failureOf(perform(house.deps, effect, never))).toMatchObject({ type: 'EffectUncertain', nonRetryable: false })
  expect(house.seen(COMMENT)).toHaveLength(1)
  expect(await rowOf(effect)).toMatchObject({ state: 'uncertain', tries: 1 })

  expect(await perform(house.deps, effect, never)).toMatchObject({ landed: { url: expect.stringContaining('#issuecomment-') } })
  expect(house.seen(COMMENT)).toHaveLength(1)
  expect(said(effect)).toHaveLength(1)
  expect(await rowOf(effect)).toMatchObject({ state: 'confirmed', tries: 1 })
})

test.each(MISHAPS)("%s: a pull request is opened once and is the Ticket's", async (_, mishap) => {
  const effect = await pullBy()
  house.once(PULL, mishap)
  expect(await failureOf(openPull(effect))).toMatchObject({ type: 'EffectUncertain' })
  const performed = await openPull(effect)
  expect(pullsOf(effect.branch)).toHaveLength(1)
  expect(house.seen(PULL)).toHaveLength(1)
  const number = pullsOf(effect.branch)[0]!.number
  expect(performed).toMatchObject({ landed: { externalId: String(number) } })
  const rows = await house.ledger.db
    .selectFrom('pullRequest')
    .select(['number', 'branch', 'draft'])
    .where('ticket', '=', effect.ticket!)
    .execute()
  expect(rows).toEqual([{ number, branch: effect.branch, draft: true }])
  const owned = await house.ledger.db
    .selectFrom('subscription')
    .innerJoin('thread', 'thread.id', 'subscription.thread')
    .select(['thread.kind', 'subscription.role'])
    .where('subscription.ticket', '=', effect.ticket!)
    .where('thread.number', '=', number)
    .execute()
  expect(owned).toEqual([{ kind: 'pull_request', role: 'owner' }])
})

test('[F128] a comment that GitHub never got is sent again after the look, and there is exactly one', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'refuse', status: 502, message: 'Bad Gateway' })
  await failureOf(perform(house.deps, effect, never))
  expect(said(effect)).toEqual([])
  expect(await perform(house.deps, effect, never)).toHaveProperty('landed')
  expect(said(effect)).toHaveLength(1)
  expect(await rowOf(effect)).toMatchObject({ state: 'confirmed', tries: 2 })
})

test('[F130] a pull request that a person opened for the branch is adopted without a request', async () => {
  const effect = await pullBy()
  const { number } = await house.github.operator.openPull({ repository: REPOSITORY, as: 'mara', title: 'Mine', head: effect.branch })
  expect(await openPull(effect)).toMatchObject({ landed: { externalId: String(number) } })
  expect(house.seen(PULL)).toEqual([])
})

test('[F130] "already exists", since somebody was faster between the look and the request: that one is adopted', async () => {
  const effect = await pullBy()
  const act = () => house.github.operator.openPull({ repository: REPOSITORY, as: 'mara', title: 'Mine', head: effect.branch })
  house.once(PULL, { kind: 'first', act })
  const performed = await openPull(effect)
  const [pull, ...others] = pullsOf(effect.branch)
  expect(others).toEqual([])
  expect(performed).toMatchObject({ landed: { externalId: String(pull!.number) } })
  expect(await alarmsOf(effect)).toEqual([])
})

test('[M4] what is uncertain is settled with GitHub before the next model step', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'answer 502' })
  await failureOf(perform(house.deps, effect, never))
  await settleUncertain(house.deps, effect.session, never)
  expect(await rowOf(effect)).toMatchObject({ state: 'confirmed', url: expect.stringContaining('#issuecomment-') })
  expect(house.seen(COMMENT)).toHaveLength(1)
})

test('[M4, O2] while GitHub is away nothing is settled and nothing is sent: it is asked again', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'answer 502' })
  await failureOf(perform(house.deps, effect, never))
  house.always(COMMENTS, { kind: 'refuse', status: 503, message: 'unavailable' })
  expect(await failureOf(settleUncertain(house.deps, effect.session, never))).toMatchObject({
    type: 'EffectUncertain',
    nonRetryable: false,
  })
  expect(await failureOf(perform(house.deps, effect, never))).toMatchObject({ type: 'EffectUncertain', nonRetryable: false })
  expect(await rowOf(effect)).toMatchObject({ state: 'uncertain' })
  house.calm()
  await settleUncertain(house.deps, effect.session, never)
  expect(await rowOf(effect)).toMatchObject({ state: 'confirmed' })
  expect(said(effect)).toHaveLength(1)
})

test('[M4] a place that cannot be seen any more settles what was uncertain as failed, with an alarm', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'answer 502' })
  await failureOf(perform(house.deps, effect, never))
  house.always(COMMENTS, { kind: 'refuse', status: 404, message: 'Not Found' })
  await settleUncertain(house.deps, effect.session, never)
  expect(await rowOf(effect)).toMatchObject({ state: 'failed' })
  expect(await alarmsOf(effect)).toMatchObject([{ kind: 'effect', endedAt: null }])
})

test('[M4] two attempts of one call at the same moment: one sends, the other looks later, and there is one comment', async () => {
  const effect = await commentBy()
  const both = await Promise.allSettled([perform(house.deps, effect, never), perform(house.deps, effect, never)])
  expect(both.filter(({ status }) => status === 'fulfilled')).not.toEqual([])
  expect(await perform(house.deps, effect, never)).toHaveProperty('landed')
  expect(said(effect)).toHaveLength(1)
})

test('[M4] another call on a taken key is refused with the link and sends nothing', async () => {
  const effect = await commentBy()
  const first = await perform(house.deps, effect, never)
  house.calm()
  const second = await perform(house.deps, { ...effect, step: 2, call: 'call_7', body: 'other words' }, never)
  expect(second).toMatchObject({ taken: { url: 'landed' in first && first.landed.url } })
  expect(house.seen(/./)).toEqual([])
})

test('[F296] into a locked issue: refused for good, with an alarm, and not tried again', async () => {
  const { number } = await house.github.operator.openIssue({ repository: REPOSITORY, as: 'mara', title: 'A heated one' })
  await house.github.operator.lock({ repository: REPOSITORY, as: 'mara', number, locked: true })
  const effect = await commentBy({ payload: { repository: REPOSITORY, number, reviewComment: null } })
  const refused = await perform(house.deps, effect, never)
  expect(refused).toEqual({ refused: expect.stringMatching(/^GitHub refuses it for good: .*403 .*issue is locked/) })
  expect(house.seen(COMMENT)).toHaveLength(1)
  expect(await rowOf(effect)).toMatchObject({ state: 'failed', tries: 1 })
  expect(await alarmsOf(effect)).toMatchObject([{ kind: 'effect', body: expect.stringContaining('issue is locked'), endedAt: null }])
  await settleUncertain(house.deps, effect.session, never)
  expect(house.seen(COMMENT)).toHaveLength(1)
})

test('[F296, O1] the alarm of a refused effect ends when it is done after all', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'refuse', status: 403, message: 'Resource not accessible by integration' })
  expect(await perform(house.deps, effect, never)).toHaveProperty('refused')
  expect(await perform(house.deps, { ...effect, step: 2 }, never)).toHaveProperty('landed')
  expect(await alarmsOf(effect)).toMatchObject([{ endedAt: expect.any(Date) }])
})

test('[O2] a rate limit is waited out for as long as GitHub says: it certainly did not happen', async () => {
  const effect = await commentBy()
  house.once(COMMENT, {
    kind: 'refuse',
    status: 403,
    headers: { 'retry-after': '37' },
    message: 'You have exceeded a secondary rate limit',
  })
  const failure = await failureOf(perform(house.deps, effect, never))
  expect(failure).toMatchObject({ type: 'RateLimited', nonRetryable: false })
  expect(Number(failure.nextRetryDelay)).toBeGreaterThan(30_000)
  expect(await rowOf(effect)).toMatchObject({ state: 'intent' })
})

test('[M4, I2] a look that a pause cut off leaves it uncertain and sends nothing', async () => {
  const effect = await commentBy()
  house.once(COMMENT, { kind: 'refuse', status: 502, message: 'Bad Gateway' })
  await failureOf(perform(house.deps, effect, never))
  const cut = new AbortController()
  house.once(COMMENTS, { kind: 'first', act: async () => cut.abort(new Error('a pause came')) })
  await expect(perform(house.deps, effect, cut.signal)).rejects.toThrow('a pause came')
  expect(await rowOf(effect)).toMatchObject({ state: 'uncertain' })
  expect(house.seen(COMMENT)).toHaveLength(1)
})

test('[M4] ready, draft, title and close are states: brought about once, and a repeated call changes nothing', async () => {
  const opening = await pullBy()
  await openPull(opening)
  const { number } = pullsOf(opening.branch)[0]!
  const WRITE = /^(POST .*graphql|PATCH .*pulls)/
  const { branch: _, ...base } = opening
  const change = (kind: string, nth: number, over: Partial<NewEffect> = {}) => ({
    ...base,
    key: `${base.key}:${nth}`,
    kind,
    step: nth,
    payload: { repository: { fullName: REPOSITORY }, number },
    body: null,
    ...over,
  })
  const changes = [
    change('pull_request.ready', 2),
    change('pull_request.draft', 3),
    change('pull_request.update', 4, { body: 'better words', payload: { repository: { fullName: REPOSITORY }, number, title: 'Better' } }),
    change('pull_request.close', 5),
  ]
  for (const each of changes) {
    house.calm()
    expect(await perform(house.deps, each, never), each.kind).toHaveProperty('landed')
    expect(house.seen(WRITE), each.kind).toHaveLength(1)
    // another call that wants the same state finds it there
    house.calm()
    expect(await perform(house.deps, { ...each, key: `${each.key}:again` }, never), each.kind).toHaveProperty('landed')
    expect(house.seen(WRITE), each.kind).toEqual([])
  }
  const row = await house.ledger.db
    .selectFrom('pullRequest')
    .select(['state', 'draft'])
    .where('ticket', '=', opening.ticket!)
    .executeTakeFirst()
  expect(row).toEqual({ state: 'closed', draft: true })
  expect(await perform(house.deps, change('pull_request.ready', 6), never)).toEqual({
    refused: expect.stringContaining('is closed; nothing about it can be changed'),
  })
})

test('[F338] [O1] [M4] while every send fails for twenty minutes, each stays open with one alarm, and nothing counts as answered until it is sent', async () => {
  const later = { ...house.deps, now: () => new Date(Date.now() + 20 * 60_000) }
  const { ticket, session, trigger, thread } = await started(house.ledger.db, ++issues)
  const place = { thread, payload: { repository: REPOSITORY, number: house.issue, reviewComment: null } }
  const receipt = { key: acknowledgementKey(ticket, 1, trigger), kind: 'comment', ticket, session, step: 1, call: 'call_1', ...place }
  const effect: NewEffect = { ...receipt, body: 'On it.' }
  const notice = { key: 'main/notice/event:command:77' }
  await transaction(house.ledger.db, (tx) =>
    insertOnce(tx, { ...receipt, ...notice, ticket: null, session: null, step: null, call: null, body: 'Paused.' }),
  )
  const due = () =>
    house.ledger.db
      .updateTable('outbox')
      .set({ nextTryAt: new Date(0) })
      .where('key', '=', notice.key)
      .execute()
  const all = async (deps = house.deps) => {
    await due()
    return Promise.allSettled([perform(deps, effect, never), sendNotices(deps, never)])
  }
  const states = async () => [await rowOf(effect), await rowOf(notice)].map(({ state }) => state)
  const open = async () => [...(await alarmsOf(effect)), ...(await alarmsOf(notice))].filter((each) => each.endedAt === null)

  house.always(/comments/, { kind: 'refuse', status: 502, message: 'Bad Gateway' })
  await all()
  await all()
  expect(await open()).toEqual([])
  for (let attempt = 0; attempt < 3; attempt++) await all(later)
  expect(await states()).toEqual(['uncertain', 'uncertain'])
  expect(await open()).toEqual([1, 2].map(() => expect.objectContaining({ body: expect.stringMatching(/is tried again: .*502/) })))
  expect((await overview(house.ledger.db)).alarms.map(({ subject }) => subject)).toEqual(expect.arrayContaining([effect.key, notice.key]))
  expect((await ticketFacts(house.ledger.db, ticket)).owed).toEqual([trigger])

  house.calm()
  await all(later)
  expect(await states()).toEqual(['confirmed', 'confirmed'])
  expect(await open()).toEqual([])
  expect((await ticketFacts(house.ledger.db, ticket)).owed).toEqual([])
})

test("[F338] while GitHub refuses the key, the host's own words wait with an alarm and are sent when it is mended", async () => {
  const notice = { ...(await commentBy()), ticket: null, session: null, step: null, call: null }
  await transaction(house.ledger.db, (tx) => insertOnce(tx, notice))
  const row = async () => house.ledger.db.selectFrom('outbox').selectAll().where('key', '=', notice.key).executeTakeFirstOrThrow()
  const attempt = async () => performRow({ deps: house.deps, github: house.deps.github!, row: await row(), signal: never })
  house.always(COMMENT, { kind: 'refuse', status: 401, message: 'Bad credentials' })
  for (let tries = 0; tries < 4; tries++) expect(await failureOf(attempt())).toMatchObject({ type: 'Unauthorised', nonRetryable: false })
  expect(await row()).toMatchObject({ state: 'intent' })
  expect(await house.ledger.db.selectFrom('alarm').select('endedAt').where('subject', '=', notice.key).execute()).toEqual([
    { endedAt: null },
  ])
  house.calm()
  expect(await attempt()).toHaveProperty('landed')
  expect(await house.ledger.db.selectFrom('alarm').select('endedAt').where('subject', '=', notice.key).execute()).toEqual([
    { endedAt: expect.any(Date) },
  ])
})

test('[F338] [H2] an acknowledgement that meets a refused key is owed still, with an alarm, and is sent when the key is mended', async () => {
  const { ticket, session, trigger, thread } = await started(house.ledger.db, ++issues)
  const key = acknowledgementKey(ticket, 1, trigger)
  const payload = { repository: REPOSITORY, number: house.issue, reviewComment: null }
  const effect: NewEffect = { key, kind: 'comment', ticket, session, step: 1, call: 'call_1', thread, payload, body: 'On it.' }
  house.always(COMMENT, { kind: 'refuse', status: 401, message: 'Bad credentials' })
  for (let tries = 0; tries < 2; tries++)
    expect(await failureOf(perform(house.deps, effect, never))).toMatchObject({ type: 'Unauthorised', nonRetryable: false })
  expect(await perform(house.deps, effect, never)).toEqual({ refused: expect.stringMatching(/refuses the agent's key: .*401/) })
  expect((await ticketFacts(house.ledger.db, ticket)).owed).toEqual([trigger])
  expect(await alarmsOf(effect)).toMatchObject([{ endedAt: null }])
  house.calm()
  expect(await perform(house.deps, { ...effect, step: 2, call: 'call_2' }, never)).toHaveProperty('landed')
  expect((await ticketFacts(house.ledger.db, ticket)).owed).toEqual([])
  expect(await alarmsOf(effect)).toMatchObject([{ endedAt: expect.any(Date) }])
})
