import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { leaseCommands } from './commands.ts'
import { transaction } from './database.ts'
import { answered, look, newRequest, open, openLedger, started, type TestLedger } from './fixture.ts'
import { recordedSession } from './recorded-session.ts'
import { recordingState, type Switch, storeRecording, switchRecording } from './recordings.ts'
import { type OpenedRequest, openRequest } from './requests.ts'
import { createConfigurationReader } from './revisions.ts'
import { commitStep } from './steps.ts'
import { overview, ticketStory } from './story.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const flip = (on: boolean, given: Partial<Switch> = {}) =>
  transaction(ledger.db, (tx) => switchRecording(tx, { on, actor: 'mara', transport: 'cli', reason: 'to see', ...given }))

async function nextRequest(session: string): Promise<OpenedRequest> {
  const at = { session, step: 1 }
  const view = await look(ledger.db, at)
  return (await openRequest(ledger.db, at, view.scope, newRequest(view, []), new Set())) as OpenedRequest
}

test('[D9] [O7] the switch is a row with who, when and why; the newest word counts for the very next request', async () => {
  const { ticket, session } = await started(ledger.db, 1)
  expect(await recordingState(ledger.db)).toBeNull()
  expect((await nextRequest(session)).isRecorded).toBe(false)

  expect(await flip(true)).toEqual({ already: null })
  expect(await recordingState(ledger.db)).toEqual({ on: true, by: 'mara', since: expect.any(Date), reason: 'to see' })
  expect((await nextRequest(session)).isRecorded).toBe(true)
  expect(await flip(true, { actor: 'lin' })).toMatchObject({ already: { on: true, by: 'mara' } })

  expect(await flip(false, { actor: 'lin', transport: 'panel' })).toEqual({ already: null })
  expect((await nextRequest(session)).isRecorded).toBe(false)
  const rows = await ledger.db.selectFrom('command').select(['kind', 'actor', 'transport', 'reason']).orderBy('id').execute()
  expect(rows).toEqual([
    { kind: 'record_on', actor: 'mara', transport: 'cli', reason: 'to see' },
    { kind: 'record_off', actor: 'lin', transport: 'panel', reason: 'to see' },
  ])
  // no workflow has to hear of it, and it is nobody's Ticket's
  expect(await leaseCommands(ledger.db, 10)).toEqual([])
  expect((await overview(ledger.db)).unheard).toEqual([])
  expect((await ticketStory(ledger.db, ticket))!.entries.filter(({ kind }) => kind === 'command')).toEqual([])
})

test('[D9] [O7] of many who switch it on at once one is told that it did, the others who it was', async () => {
  await flip(false)
  const names = Array.from({ length: 12 }, (_, index) => `person ${index}`)
  const told = await Promise.all(names.map((actor) => flip(true, { actor })))
  const first = names[told.findIndex(({ already }) => already === null)]
  expect(told.filter(({ already }) => already === null)).toHaveLength(1)
  expect(new Set(told.flatMap(({ already }) => already?.by ?? []))).toEqual(new Set([first]))
})

test('[D9] a recording is found by Session, turn and step; a step that was not recorded is there without one', async () => {
  const { ticket, session } = await started(ledger.db, 2)
  const bodies = ['data: one\0\n\n', null, 'data: three\n\n']
  for (const [index, body] of bodies.entries()) {
    const at = { session, step: index + 1 }
    const { request, inputs } = await open(ledger.db, at)
    if (body !== null) await storeRecording(ledger.db, request as number, { status: 200, contentType: 'text/event-stream', body })
    await commitStep(ledger.db, at, `ticket-${ticket}`, answered(request as number, inputs))
  }
  const { steps } = await recordedSession(ledger.db, session, createConfigurationReader())
  const found = steps.map(({ turn, step, recording }) => [turn, step, recording && recording !== 'removed' ? recording.body : recording])
  expect(found).toEqual([
    [1, 1, 'data: one\\u0000\n\n'],
    [2, 2, null],
    [3, 3, 'data: three\n\n'],
  ])
})

test('[O6] a recording whose words were removed says so', async () => {
  await transaction(ledger.owner, async (tx) => {
    await sql`set local switchyard.purge = 'on'`.execute(tx)
    await sql`update recording set body = null, purged_at = now()`.execute(tx)
  })
  const { steps } = await recordedSession(ledger.db, 't2-1', createConfigurationReader())
  expect(steps.map(({ recording }) => recording)).toEqual(['removed', null, 'removed'])
})
