/** Effects while GitHub is away for long, or refuses the agent's key (spec O1, O2). */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transaction } from '../../ledger/database.ts'
import { started } from '../../ledger/fixture.ts'
import { acknowledgementKey, ticketFacts } from '../../ledger/mandates.ts'
import { insertOnce, type NewEffect } from '../../ledger/outbox.ts'
import { overview } from '../../ledger/story.ts'
import { COMMENT, deedsIn, failureOf, never } from './deeds.test-help.ts'
import { perform, performRow } from './effect.ts'
import { type EffectsHouse, openEffectsHouse, REPOSITORY } from './house.test-help.ts'
import { sendNotices } from './notices.ts'

let house: EffectsHouse
beforeAll(async () => {
  house = await openEffectsHouse()
})
afterAll(() => house.close())
beforeEach(() => house.calm())

const { newIssue, commentBy, rowOf, alarmsOf } = deedsIn(() => house)

test('[F338] [O1] [M4] while every send fails for twenty minutes, each stays open with one alarm, and nothing counts as answered until it is sent', async () => {
  const later = { ...house.deps, now: () => new Date(Date.now() + 20 * 60_000) }
  const { ticket, session, trigger, thread } = await started(house.ledger.db, newIssue())
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
  const { ticket, session, trigger, thread } = await started(house.ledger.db, newIssue())
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
