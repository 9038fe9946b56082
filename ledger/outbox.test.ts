import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from './database.ts'
import { answered, hear, newCall, open, openLedger, started, type TestLedger } from './fixture.ts'
import { type EffectRow, type Intended, intend, markSent, type NewEffect, settle, unsettled } from './outbox.ts'
import { recordCommand } from './pauses.ts'
import { commitStep } from './steps.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 9_000
async function effectOf(over: Partial<NewEffect> = {}): Promise<NewEffect> {
  const { ticket, session, thread } = await started(ledger.db, ++issues)
  const at = { session, step: 1, call: 'call_1' }
  return { key: `acknowledge:${ticket}`, kind: 'comment', ticket, ...at, thread, payload: { number: 7 }, body: 'on it', ...over }
}
const mine = (intended: Intended): EffectRow => {
  if (!('mine' in intended)) throw new Error(`not this call's: ${JSON.stringify(intended)}`)
  return intended.mine
}
const landed = { state: 'confirmed' as const, externalId: '55', url: 'https://github.example/c/55' }

test('[M4] an effect stands in the ledger before it is tried', async () => {
  const row = mine(await intend(ledger.db, await effectOf()))
  expect(row).toMatchObject({ state: 'intent', tries: 0, payload: { number: 7 }, body: 'on it', externalId: null })
})

test('[M4] the same call finds its row again and what it brought', async () => {
  const effect = await effectOf()
  const row = mine(await intend(ledger.db, effect))
  const { id } = row
  await markSent(ledger.db, row)
  await settle(ledger.db, id, landed)
  expect(mine(await intend(ledger.db, effect))).toMatchObject({ id, state: 'confirmed', externalId: '55', url: landed.url })
})

test('[M4] another call on a confirmed key is refused with the link', async () => {
  const effect = await effectOf()
  const { id } = mine(await intend(ledger.db, effect))
  await settle(ledger.db, id, landed)
  expect(await intend(ledger.db, { ...effect, step: 2, call: 'call_9' })).toMatchObject({ taken: { id, url: landed.url } })
})

test.each(['intent', 'failed', 'dropped'] as const)(
  '[M4] another call takes over what certainly did not happen (%s), with its own words',
  async (state) => {
    const effect = await effectOf()
    const { id } = mine(await intend(ledger.db, effect))
    if (state === 'failed') await settle(ledger.db, id, { state, error: 'locked' })
    if (state === 'dropped') await ledger.db.updateTable('outbox').set({ state }).where('id', '=', id).execute()
    const later = { ...effect, step: 2, call: 'call_9', body: 'other words', payload: { number: 8 } }
    expect(mine(await intend(ledger.db, later))).toMatchObject({
      id,
      state,
      step: 2,
      call: 'call_9',
      body: 'other words',
      payload: { number: 8 },
    })
  },
)

test.each(['sent', 'uncertain'] as const)('[M4] another call does not touch what may have happened (%s)', async (state) => {
  const effect = await effectOf()
  const row = mine(await intend(ledger.db, effect))
  const { id } = row
  await markSent(ledger.db, row)
  if (state === 'uncertain') await settle(ledger.db, id, { state, error: '502' })
  expect(await intend(ledger.db, { ...effect, step: 2, call: 'call_9', body: 'other words' })).toMatchObject({
    left: { id, state, body: 'on it' },
  })
})

test('[M4] one key intended 20 times at once is one row', async () => {
  const effect = await effectOf()
  const rows = await Promise.all(Array.from({ length: 20 }, () => intend(ledger.db, effect)))
  expect(new Set(rows.map((each) => mine(each).id)).size).toBe(1)
})

test('[M4] of attempts that would send at the same moment one may, 20 times', async () => {
  for (let round = 0; round < 20; round++) {
    const row = mine(await intend(ledger.db, await effectOf()))
    const may = await Promise.all(Array.from({ length: 4 }, () => markSent(ledger.db, row)))
    expect(may.toSorted()).toEqual(['another', 'another', 'another', 'sent'])
    expect(await ledger.db.selectFrom('outbox').select('tries').where('id', '=', row.id).executeTakeFirst()).toEqual({ tries: 1 })
  }
})

test('[M4] nothing that is confirmed is sent again or changes its end', async () => {
  const row = mine(await intend(ledger.db, await effectOf()))
  const { id } = row
  await markSent(ledger.db, row)
  await settle(ledger.db, id, landed)
  expect(await markSent(ledger.db, row)).toBe('another')
  await settle(ledger.db, id, { state: 'uncertain', error: 'late' })
  expect(await ledger.db.selectFrom('outbox').select(['state', 'error']).where('id', '=', id).executeTakeFirst()).toEqual({
    state: 'confirmed',
    error: null,
  })
})

const command = (kind: 'pause' | 'resume', scope: string) =>
  transaction(ledger.db, (tx) => recordCommand(tx, { kind, scope, actor: 'lin', transport: 'cli', reason: 'said so' }))

/** What a step of a Ticket on issue `number` decided to say. */
async function decided() {
  const number = ++issues
  const { ticket, session, thread } = await started(ledger.db, number)
  const at = { session, step: 1 }
  const { request, inputs } = await open(ledger.db, at)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs, '', [newCall('call_1')]))
  const effect = { key: `acknowledge:${ticket}`, kind: 'comment', ticket, ...at, call: 'call_1', thread, payload: {}, body: 'on it' }
  return { number, scope: `ticket-${ticket}`, row: mine(await intend(ledger.db, effect)) }
}

test.each(['ticket', 'all'])(
  '[I2, F199] what is ready to leave when a pause of %s comes stays, and leaves after the resume',
  async (of) => {
    const { scope, row } = await decided()
    const held = of === 'all' ? 'all' : scope
    await command('pause', held)
    expect(await markSent(ledger.db, row)).toEqual({ paused: [{ scope: held, generation: expect.any(Number) }] })
    await command('resume', held)
    expect(await markSent(ledger.db, row)).toBe('sent')
  },
)

test('[I2, F199] what was decided before a pause does not leave when people wrote during it', async () => {
  const { number, scope, row } = await decided()
  await hear(ledger.db, { number })
  await command('pause', scope)
  await command('resume', scope)
  expect(await markSent(ledger.db, (await decided()).row), 'a pause of another Ticket').toBe('sent')
  await command('pause', scope)
  await hear(ledger.db, { number, text: 'not like that' })
  await hear(ledger.db, { number, text: 'and not so soon' })
  await command('resume', scope)
  expect(await markSent(ledger.db, row)).toEqual({ dropped: true, wrote: 2 })
  expect(await ledger.db.selectFrom('outbox').select(['state', 'tries']).where('id', '=', row.id).executeTakeFirst()).toEqual({
    state: 'dropped',
    tries: 0,
  })
})

test('[I2] an answer that a pause overtook while it was taken in was decided before that pause', async () => {
  const number = ++issues
  const { ticket, session, thread } = await started(ledger.db, number)
  const at = { session, step: 1 }
  const { request, inputs } = await open(ledger.db, at)
  await command('pause', `ticket-${ticket}`)
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs, '', [newCall('call_1')]))
  await hear(ledger.db, { number, text: 'not like that' })
  await command('resume', `ticket-${ticket}`)
  const effect = { key: `acknowledge:${ticket}`, kind: 'comment', ticket, ...at, call: 'call_1', thread, payload: {}, body: 'on it' }
  expect(await markSent(ledger.db, mine(await intend(ledger.db, effect)))).toEqual({ dropped: true, wrote: 1 })
})

test('[I2, I3] a pause raced with 200 effects: what it does not see when it is written never leaves', async () => {
  for (let round = 0; round < 50; round++) {
    const { ticket, session, thread } = await started(ledger.db, ++issues)
    const effect = { kind: 'comment', ticket, session, step: 1, call: 'call_1', thread, payload: {}, body: 'on it' }
    const row = async (nth: number) => mine(await intend(ledger.db, { ...effect, key: `ticket-${ticket}/${nth}` }))
    const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(row))
    const pauseAndCount = transaction(ledger.db, async (tx) => {
      await recordCommand(tx, { kind: 'pause', scope: `ticket-${ticket}`, actor: 'lin', transport: 'cli', reason: 'now' })
      return (await tx.selectFrom('outbox').select('id').where('ticket', '=', ticket).where('state', '=', 'sent').execute()).length
    })
    const [seen, ...left] = await Promise.all([pauseAndCount, ...[a, b, c, d].map((each) => markSent(ledger.db, each!))])
    expect(left.filter((each) => each === 'sent').length, `T-${ticket}`).toBe(seen)
  }
})

test("[M4] unsettled are a Ticket's effects that may have happened, oldest first, and nobody else's", async () => {
  const first = await effectOf()
  const other = await effectOf()
  const rows: number[] = []
  for (const [nth, state] of (['uncertain', 'sent', 'confirmed', 'intent', 'failed'] as const).entries()) {
    const row = mine(await intend(ledger.db, { ...first, key: `${first.key}:${nth}` }))
    const { id } = row
    rows.push(id)
    if (state !== 'intent') await markSent(ledger.db, row)
    if (state === 'confirmed') await settle(ledger.db, id, landed)
    if (state === 'uncertain' || state === 'failed') await settle(ledger.db, id, { state, error: '502' })
  }
  await markSent(ledger.db, mine(await intend(ledger.db, other)))
  expect((await unsettled(ledger.db, first.session)).map(({ id }) => id)).toEqual(rows.slice(0, 2))
})

test('[O1] an alarm is raised with the failure that it tells of, and ends with the confirmation', async () => {
  const { id, key } = mine(await intend(ledger.db, await effectOf()))
  const open = () =>
    ledger.db
      .selectFrom('alarm')
      .select('body')
      .where('kind', '=', 'effect')
      .where('subject', '=', key)
      .where('endedAt', 'is', null)
      .execute()
  await settle(ledger.db, id, { state: 'failed', error: 'locked' }, 'GitHub refuses it')
  expect(await open()).toEqual([{ body: 'GitHub refuses it' }])
  await settle(ledger.db, id, landed)
  expect(await open()).toEqual([])
  await settle(ledger.db, id, { state: 'failed', error: 'late' }, 'too late')
  expect(await open()).toEqual([])
})
