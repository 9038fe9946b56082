/** An effect and a pause: what is held back, what is dropped, and what had landed already (spec I2). */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transaction } from '../../ledger/database.ts'
import { answered, hear, newCall, open, started } from '../../ledger/fixture.ts'
import type { NewEffect } from '../../ledger/outbox.ts'
import { recordCommand } from '../../ledger/pauses.ts'
import { commitStep } from '../../ledger/steps.ts'
import { closeTicket } from '../../ledger/tickets.ts'
import { COMMENT, COMMENTS, deedsIn, failureOf, never } from './deeds.test-help.ts'
import { perform } from './effect.ts'
import { type EffectsHouse, openEffectsHouse, REPOSITORY } from './house.test-help.ts'

let house: EffectsHouse
beforeAll(async () => {
  house = await openEffectsHouse()
})
afterAll(() => house.close())
beforeEach(() => house.calm())

const { newIssue, commentBy, said, rowOf } = deedsIn(() => house)

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

test('[F199, I2] a message that is ready when the pause arrives is not sent until the resume', async () => {
  const { effect, command } = await decided()
  await command('pause')
  expect(await perform(house.deps, effect, never)).toEqual({ heldBack: { paused: [{ scope: `ticket-${effect.ticket}`, generation: 1 }] } })
  expect(house.seen(/^POST/)).toEqual([])
  await command('resume')
  expect(await perform(house.deps, effect, never)).toHaveProperty('landed')
  expect(said(effect)).toHaveLength(1)
})

test('[F199, I2] when people wrote during the pause it is dropped with a note, and the next decision takes its place', async () => {
  const { number, effect, command } = await decided()
  await command('pause')
  await hear(house.ledger.db, { number, text: 'not like that' })
  await command('resume')
  expect(await perform(house.deps, effect, never)).toEqual({
    heldBack: { refused: expect.stringMatching(/^Dropped: .*a message that came meanwhile waits to be read\. Nothing was sent\./) },
  })
  expect(house.seen(/^POST/)).toEqual([])
  const again = await decidedAgain(effect)
  expect(await perform(house.deps, again, never)).toHaveProperty('landed')
  expect(said(again)).toHaveLength(1)
})

test('[M4, I2] what had landed when the pause cut it off is found after it, whatever people wrote meanwhile', async () => {
  const { number, effect, command } = await decided()
  house.once(COMMENT, { kind: 'answer 502' })
  await failureOf(perform(house.deps, effect, never))
  await command('pause')
  await hear(house.ledger.db, { number, text: 'not like that' })
  await command('resume')
  expect(await perform(house.deps, effect, never)).toHaveProperty('landed')
  expect(said(effect)).toHaveLength(1)
})

/** A comment that the first step of a Ticket on issue `number` decided on. */
async function decided() {
  const number = newIssue()
  const { ticket, session } = await started(house.ledger.db, number)
  const command = (kind: 'pause' | 'resume') =>
    transaction(house.ledger.db, (tx) =>
      recordCommand(tx, { kind, scope: `ticket-${ticket}`, actor: 'lin', transport: 'cli', reason: 'said so' }),
    )
  const payload = { repository: REPOSITORY, number: house.issue, reviewComment: null }
  const body = `On it, says T-${ticket}.`
  const effect = { key: `acknowledge:T-${ticket}`, kind: 'comment', ticket, session, thread: null, payload, body }
  return { number, command, effect: await decidedAgain({ ...effect, step: 0, call: '' }) }
}

/** The next step reads what is unread and decides on the same effect. */
async function decidedAgain(effect: NewEffect): Promise<NewEffect> {
  const at = { session: effect.session, step: effect.step + 1 }
  const { request, inputs } = await open(house.ledger.db, at)
  await commitStep(house.ledger.db, at, `ticket-${effect.ticket}`, answered(request as number, inputs, '', [newCall('call_1')]))
  return { ...effect, ...at, call: 'call_1' }
}

test('[R3] [M4] what a Ticket decided before it was closed is not sent after', async () => {
  const { effect } = await decided()
  await transaction(house.ledger.db, (tx) => closeTicket(tx, effect.ticket!, 'stopped'))
  expect(await perform(house.deps, effect, never)).toEqual({ heldBack: { refused: 'The Ticket is closed: nothing was sent.' } })
  expect(house.seen(/^POST/)).toEqual([])
})
