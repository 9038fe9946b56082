/**
 * Random sequences of what people and mishaps do around pauses (spec I), against the whole program: real Temporal, real Postgres.
 * What must hold at every moment is seen by the witness in the database (test/witness.ts), as in chaos; what must be true at the
 * end is counted by chaos's invariants. Another sequence: `PAUSE_SEED=7 npm test -- test/end-to-end/pause-sequences.test.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { WorkflowNotFoundError } from '@temporalio/client'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ALL, MAIN, ticketScope } from '../../core/ticket/scope.ts'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { type Command, pause, resume, wake } from '../../workflows/protocol.ts'
import { holds, invariants, pausesHeld, table } from '../chaos/invariants.ts'
import { command, followUp, openIssue } from '../chaos/people.ts'
import { freshDatabase } from '../services.ts'
import { installWitness } from '../witness.ts'
import { eventually, type House, idle, openHouse } from './house.ts'
import { busily, slowly } from './scripts.ts'

const SEED = Number(process.env.PAUSE_SEED ?? 395)

const updates = { pause, resume }
type Kind = keyof typeof updates
type Deed =
  /** Turned: paused if it runs, resumed if it is held. */
  | { does: Kind | 'turn'; scope: string; by: 'row' | 'raw update' | 'chat' }
  | { does: 'wake'; ticket: number; by: 'comment' | 'signal' }
  /** What the workflow was told long ago arrives again. */
  | { does: 'late'; kind: Kind; scope: string }
  | { does: 'crash' }
  | { does: 'another process takes over' }
  | { does: 'Temporal is away'; ms: number }

const ticket = fc.constantFrom(1, 2)
const scope = fc.oneof({ weight: 6, arbitrary: ticket.map(ticketScope) }, { weight: 2, arbitrary: fc.constantFrom(MAIN, ALL) })
const by = fc.constantFrom('row', 'raw update', 'chat')
const ofPeople: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('turn'), scope, by }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('pause', 'resume'), scope, by }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wake'), ticket, by: fc.constantFrom('comment', 'signal') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('late'), kind: fc.constantFrom('pause', 'resume'), scope }) },
)
/** Each costs seconds, so each comes once, in an order that is drawn. */
const mishaps = fc.shuffledSubarray<Deed>(
  [{ does: 'crash' }, { does: 'another process takes over' }, { does: 'Temporal is away', ms: 4_000 }],
  { minLength: 3, maxLength: 3 },
)
const people = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 1_000 }), deed: ofPeople }), { minLength: 3, maxLength: 5 })
const sequences = fc
  .tuple(people, fc.tuple(people, people, people), mishaps)
  .map(([first, groups, three]) => [...first, ...groups.flatMap((group, at) => [{ afterMs: 300, deed: three[at]! }, ...group])])

test('[I1, I2, I3] whatever people and mishaps do: nothing starts while paused, nothing lifts a pause by itself, generations only grow', {
  timeout: 400_000,
}, async () => {
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const stage = await openStage()
    for (const [nth, { afterMs, deed }] of sequence.entries()) {
      await sleep(afterMs)
      await act(stage, deed, nth)
      await nothingWrong(stage.house, `after deed ${nth + 1}: ${JSON.stringify(deed)}`)
    }
    await comesToItsEnd(stage)
  })
  // what stands at a failure: the seed, and the sequence; each run takes most of a minute, so none is made smaller
  await fc.assert(property, { seed: SEED, numRuns: 1, endOnFailure: true })
})

interface Stage {
  house: House
  /** In which T-1 and T-2 were asked for. */
  issues: number[]
  away: Promise<void>
}

async function openStage(): Promise<Stage> {
  const { appUrl, ownerUrl } = await freshDatabase('pauses')
  await installWitness(ownerUrl)
  // many short calls, and some time in every answer: whatever people do falls between two calls or into an answer
  const scenario = slowly(busily(fixFailingTest, { answers: 7, calls: 6 }), 100)
  const house = await openHouse({ world, scenario, child: true, rollAfter: 400, databaseUrl: appUrl, gated: true })
  for (const nth of [1, 2]) await openIssue(house.operate, nth)
  const issues = await eventually('both Tickets are started', async () => {
    const origins = house.ledger.db.selectFrom('ticket').innerJoin('thread', 'thread.id', 'ticket.origin')
    const rows = await origins.select('thread.number').orderBy('ticket.id').execute()
    return rows.length === 2 && rows.map(({ number }) => number!)
  })
  return { house, issues, away: Promise.resolve() }
}

async function act(stage: Stage, deed: Deed, nth: number): Promise<void> {
  const { house, issues } = stage
  switch (deed.does) {
    case 'pause':
    case 'resume':
    case 'turn':
      return change(stage, deed, nth)
    case 'wake':
      if (deed.by === 'comment') return followUp(house.operate, issues[deed.ticket - 1]!, nth)
      return unlessAbsent(() => house.client.workflow.getHandle(ticketScope(deed.ticket)).signal(wake))
    case 'late':
      return repeatOld(house, deed)
    case 'Temporal is away':
      house.gate.shut()
      stage.away = sleep(deed.ms).then(house.gate.open)
      return
    case 'crash':
      await stage.away // a program does not start without Temporal
      return house.killAndRestart()
    case 'another process takes over':
      await stage.away
      return house.takeOver()
    default:
      return deed satisfies never
  }
}

/** Words reach Tickets only, and a raw update one workflow; the rest is done by the row. */
async function change(
  { house, issues }: Stage,
  { does, scope, by }: Extract<Deed, { scope: string; by: unknown }>,
  nth: number,
): Promise<void> {
  const { db } = house.ledger
  const row = await db.selectFrom('pause').select('held').where('scope', '=', scope).executeTakeFirstOrThrow()
  const kind = does === 'turn' ? (row.held ? 'resume' : 'pause') : does
  const issue = issues[Number(scope.replace('ticket-', '')) - 1]
  if (by === 'chat' && issue !== undefined) {
    await house.operate('comment', { repository: world.repository.fullName, number: issue, as: 'mara', body: `@switchyard ${kind}` })
  } else if (by === 'raw update' && scope !== ALL) {
    const args: [Command] = [{ by: 'mara', reason: `deed ${nth + 1}` }]
    await unlessAbsent(() => house.client.workflow.getHandle(scope).executeUpdate(updates[kind], { args }))
  } else {
    await command(db, kind, scope)
  }
}

/** The oldest command of this kind, if its scope has moved on since. */
async function repeatOld(house: House, { kind, scope }: Extract<Deed, { does: 'late' }>): Promise<void> {
  const { db } = house.ledger
  const { generation: now } = await db.selectFrom('pause').select('generation').where('scope', '=', scope).executeTakeFirstOrThrow()
  const old = await db
    .selectFrom('command')
    .select(['generation', 'actor', 'reason'])
    .where('scope', '=', scope)
    .where('kind', '=', kind)
    .where('generation', '<', now)
    .orderBy('id')
    .executeTakeFirst()
  if (!old) return
  const args: [Command] = [{ by: old.actor, reason: old.reason, mark: { scope, generation: old.generation } }]
  await unlessAbsent(() => house.client.workflow.getHandle(scope === ALL ? MAIN : scope).executeUpdate(updates[kind], { args }))
}

/** A Ticket whose first wake has not arrived yet has no workflow. */
async function unlessAbsent(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}

async function nothingWrong({ ledger }: House, when: string): Promise<void> {
  const rows = await pausesHeld(ledger.db)
  expect(
    rows.filter((row) => !holds(row)),
    when,
  ).toEqual([])
}

/** People lift all that is held; then the work of both Tickets is done, each effect once. */
async function comesToItsEnd({ house, issues, away }: Stage): Promise<void> {
  const { db } = house.ledger
  await away
  await house.operate('delivered')
  await eventually('everything said is decided', async () => !(await pending(house)))
  const held = await db.selectFrom('pause').select('scope').where('held', '=', true).execute()
  for (const { scope } of held) await command(db, 'resume', scope)
  const allDone = async () => {
    const done = await db.selectFrom('report').select('ticket').distinct().where('status', '=', 'done').execute()
    return done.length === issues.length
  }
  await eventually('both Tickets report done', allDone, 240_000) // most of the work may be left
  await idle(house)
  if ((await missed(house)) > 0) {
    await house.restart() // fetches from GitHub's log what was sent to nobody
    await eventually('nothing is missed', async () => (await missed(house)) === 0)
    await idle(house)
  }
  const { client, operate } = house
  const rows = await invariants({ db, client, operate, apiUrl: house.github.apiUrl, issues })
  const told = [table(rows), ...rows.filter((row) => !holds(row)).map(({ name, detail }) => `${name}: ${detail}`)]
  expect(rows.every(holds), told.join('\n')).toBe(true)
  expect(house.model.unexpected()).toEqual([])
}

const pending = ({ ledger }: House) => ledger.db.selectFrom('delivery').select('id').where('state', '=', 'pending').executeTakeFirst()

async function missed({ ledger, operate }: House): Promise<number> {
  const { deliveries }: { deliveries: { guid: string }[] } = await operate('state')
  const stored = new Set((await ledger.db.selectFrom('delivery').select('guid').execute()).map(({ guid }) => guid))
  return new Set(deliveries.map(({ guid }) => guid).filter((guid) => !stored.has(guid))).size
}
