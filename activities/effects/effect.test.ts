import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DEFAULT_OPENING } from '../../core/message/opening.ts'
import { started } from '../../ledger/fixture.ts'
import { ticketFacts } from '../../ledger/mandates.ts'
import type { NewEffect } from '../../ledger/outbox.ts'
import { COMMENT, COMMENTS, deedsIn, failureOf, never } from './deeds.test-help.ts'
import { perform } from './effect.ts'
import { type EffectsHouse, type Mishap, openEffectsHouse, REPOSITORY } from './house.test-help.ts'
import { settleUncertain } from './settle.ts'

let house: EffectsHouse
beforeAll(async () => {
  house = await openEffectsHouse()
})
afterAll(() => house.close())
beforeEach(() => house.calm())

const { newIssue, commentBy, said, rowOf, alarmsOf } = deedsIn(() => house)
const PULL = /^POST .*\/pulls$/

let branches = 0
/** A Ticket's branch with a commit, and the effect that opens its pull request. */
async function pullBy(): Promise<NewEffect & { branch: string }> {
  const { ticket, session } = await started(house.ledger.db, newIssue())
  const branch = `switchyard/t-${ticket}-${++branches}`
  await house.github.operator.push({ repository: REPOSITORY, as: 'mara', branch, message: 'A change', files: { [`${branch}.txt`]: 'x' } })
  const { repository } = await ticketFacts(house.ledger.db, ticket)
  const payload = { repository: { ...repository, fullName: REPOSITORY }, branch, base: 'main', title: 'A change', draft: true }
  const at = { session, step: 1, call: 'call_1' }
  return { key: `pull_request:${branch}`, kind: 'pull_request.open', ticket, ...at, thread: null, payload, body: 'why', branch }
}
const openPull = ({ branch: _, ...effect }: NewEffect & { branch: string }) => perform(house.deps, effect, never)
const pullsOf = (branch: string) => house.github.operator.state().pulls.filter(({ headRef }) => headRef === branch)

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

const RECEIVE = /^POST .*\/git-receive-pack$/
/** A commit that the host's mirror holds and that stands on no branch of the Ticket yet, and the effect that pushes it. */
async function pushBy(): Promise<NewEffect & { branch: string; sha: string }> {
  const { ticket, session } = await started(house.ledger.db, newIssue())
  const branch = `switchyard/t-${ticket}-${++branches}`
  const { repository } = await ticketFacts(house.ledger.db, ticket)
  const there = { ...repository!, fullName: REPOSITORY }
  const sha = await built(`${branch}-before`)
  await house.deps.workspaces.ground(there, never)
  const at = { session, step: 1, call: 'call_1' }
  const payload = { repository: there, branch, sha }
  return { key: `push:${branch}`, kind: 'push', ticket, ...at, thread: null, payload, body: null, branch, sha }
}
const pushIt = ({ branch: _, sha: __, ...effect }: NewEffect & { branch: string; sha: string }) => perform(house.deps, effect, never)
/** What a person pushes onto a branch, which begins at the default one. */
async function built(branch: string): Promise<string> {
  await house.github.operator.push({ repository: REPOSITORY, as: 'mara', branch, message: 'More', files: { [`${++branches}.txt`]: 'x' } })
  return (await house.deps.github!.client.getRef(REPOSITORY, branch))!
}

test('[M4] a push whose answer was lost is not repeated, also when somebody has pushed onto it since', async () => {
  const [alone, builtOn] = [await pushBy(), await pushBy()]
  for (const effect of [alone, builtOn]) {
    house.once(RECEIVE, { kind: 'reset' })
    await expect(pushIt(effect)).rejects.toThrow(/git push/)
    expect(await rowOf(effect)).toMatchObject({ state: 'uncertain', tries: 1 })
  }
  const present = await built(builtOn.branch)
  expect(present).not.toBe(builtOn.sha)

  expect(await pushIt(alone)).toMatchObject({ landed: { externalId: alone.sha } })
  expect(await pushIt(builtOn)).toMatchObject({ landed: { externalId: present } })
  expect(house.seen(RECEIVE)).toHaveLength(2)
  expect(await rowOf(builtOn)).toMatchObject({ state: 'confirmed', tries: 1 })
})

test('[M4] a push that never arrived is sent again; on a branch that went another way it is refused, never forced', async () => {
  const [gone, crossed] = [await pushBy(), await pushBy()]
  for (const effect of [gone, crossed]) {
    house.once(RECEIVE, { kind: 'refuse', status: 502, message: 'Bad Gateway' })
    await expect(pushIt(effect)).rejects.toThrow(/git push/)
  }
  const theirs = await built(crossed.branch)
  expect(await pushIt(gone)).toMatchObject({ landed: { externalId: gone.sha } })
  expect(await pushIt(crossed)).toEqual({ refused: expect.stringContaining(crossed.branch) })
  expect(await house.deps.github!.client.getRef(REPOSITORY, crossed.branch)).toBe(theirs)
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
