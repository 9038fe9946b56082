import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { StepView } from '../ledger/step-view.ts'
import { type EffectsHouse, openEffectsHouse, REPOSITORY } from './effects/house.test-help.ts'
import { isOutage } from './outage.ts'
import { standOnGround } from './session-ground.ts'

let house: EffectsHouse
beforeAll(async () => {
  house = await openEffectsHouse()
})
afterEach(() => house.calm())
afterAll(() => house.close())

const { signal } = new AbortController()
const view = (ticket: number, repository: { fullName?: string; externalId?: string; defaultBranch?: string }): StepView =>
  ({
    session: `t${ticket}-1`,
    scope: `ticket-${ticket}`,
    baseCommit: null,
    agentsMd: null,
    ticket: { id: ticket, repository: { fullName: REPOSITORY, externalId: `${ticket}`, defaultBranch: 'main', ...repository } },
  }) as unknown as StepView

const alarms = (ticket: number) =>
  house.ledger.db.selectFrom('alarm').select(['kind', 'body']).where('subject', '=', `ticket-${ticket}`).execute()

test('[O1] a repository that is not there blocks the Session and says how to go on', async () => {
  expect(await standOnGround(house.deps, view(801, { fullName: 'acme/none' }), { signal, attempt: 1 })).toEqual({ outcome: 'blocked' })
  expect(await alarms(801)).toEqual([
    { kind: 'error', body: expect.stringMatching(/^acme\/none cannot be fetched: .*\. Mend it, then: switchyard retry T-801$/s) },
  ])
})

test('[O1] a base branch without a commit blocks the Session', async () => {
  expect(await standOnGround(house.deps, view(802, { defaultBranch: 'none' }), { signal, attempt: 1 })).toEqual({ outcome: 'blocked' })
  expect(await alarms(802)).toEqual([{ kind: 'error', body: expect.stringContaining('has no commit on none') }])
})

test('[O1, O2] an outage is thrown as what it is, and told once when it lasts', async () => {
  house.always(/./, { kind: 'refuse', status: 503, message: 'away' })
  const failed = (attempt: number) => standOnGround(house.deps, view(803, {}), { signal, attempt }).catch((error: unknown) => error)
  expect(await failed(9)).toSatisfy(isOutage)
  expect(await alarms(803)).toEqual([])
  expect(await failed(10)).toSatisfy(isOutage)
  expect(await failed(11)).toSatisfy(isOutage)
  expect(await alarms(803)).toEqual([{ kind: 'provider', body: expect.stringContaining('It is tried again without end.') }])
})
