import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageHandedBack } from './candidates.ts'
import { answerClaim, type ClaimAnswer, type Settled } from './claims.ts'
import { transaction } from './database.ts'
import { hear, openLedger, owners, type TestLedger } from './fixture.ts'
import { closeTicket } from './tickets.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

let issues = 1_000
/** A message in a Thread that so many Tickets own. */
async function asked(count: number): Promise<{ trigger: number; tickets: number[] }> {
  const number = ++issues
  const tickets = await owners(ledger.db, number, count)
  const { trigger } = await hear(ledger.db, { number })
  return { trigger, tickets }
}

const RETURNED = { state: 'returned', reason: 'beyond this Ticket' } as const
const CLAIMED = { state: 'claimed' } as const

/** As a tool answers: the claim, and in the same transaction what becomes of a message that nobody kept. */
const answer = (trigger: number, ticket: number, given: ClaimAnswer): Promise<Settled> =>
  transaction(ledger.db, async (tx) => {
    const settled = await answerClaim(tx, trigger, ticket, given)
    if ('message' in settled && settled.message === 'handed back') await messageHandedBack(tx, trigger, settled.reasons)
    return settled
  })
const close = (ticket: number) => transaction(ledger.db, (tx) => closeTicket(tx, ticket, 'stopped'))
const stateOf = (settled: Settled): string => ('message' in settled ? settled.message : 'refused')

async function fate(trigger: number): Promise<{ claims: string[]; candidates: string[]; shownToMain: number }> {
  const claims = await ledger.db.selectFrom('claim').select('state').where('trigger', '=', trigger).orderBy('ticket').execute()
  const candidates = await ledger.db.selectFrom('candidate').select('state').where('trigger', '=', trigger).execute()
  const shown = await ledger.db.selectFrom('inbox').select('id').where('trigger', '=', trigger).where('address', '=', 'main').execute()
  return { claims: claims.map(({ state }) => state), candidates: candidates.map(({ state }) => state), shownToMain: shown.length }
}

test('[F174, G2] two of three owners hand back: no candidate until the third answers', async () => {
  const { trigger, tickets } = await asked(3)
  expect(stateOf(await answer(trigger, tickets[0]!, RETURNED))).toBe('waiting')
  expect(stateOf(await answer(trigger, tickets[1]!, RETURNED))).toBe('waiting')
  expect((await fate(trigger)).candidates).toEqual([])
  expect(await answer(trigger, tickets[2]!, { state: 'returned', reason: 'not mine' })).toEqual({
    message: 'handed back',
    reasons: [
      { ticket: tickets[0], reason: 'beyond this Ticket' },
      { ticket: tickets[1], reason: 'beyond this Ticket' },
      { ticket: tickets[2], reason: 'not mine' },
    ],
  })
  const { reasons } = await ledger.db.selectFrom('candidate').select('reasons').where('trigger', '=', trigger).executeTakeFirstOrThrow()
  expect(reasons.map(({ ticket }) => ticket)).toEqual(tickets)
})

test('[F174, R2] two of three owners hand back and the third closes: a candidate, with that reason', async () => {
  const { trigger, tickets } = await asked(3)
  await answer(trigger, tickets[0]!, RETURNED)
  await answer(trigger, tickets[1]!, RETURNED)
  await close(tickets[2]!)
  expect(await fate(trigger)).toEqual({ claims: ['returned', 'returned', 'ended'], candidates: ['waiting'], shownToMain: 1 })
})

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
]
test.each(ORDERS.map((order) => [order.join(' '), order] as const))(
  '[F175] the first owner claims and two hand back, in the order %s: no candidate',
  async (_, order) => {
    const { trigger, tickets } = await asked(3)
    for (const at of order) await answer(trigger, tickets[at]!, at === 0 ? CLAIMED : RETURNED)
    expect(await fate(trigger)).toEqual({ claims: ['claimed', 'returned', 'returned'], candidates: [], shownToMain: 0 })
  },
)

test('[F175, G2] one claims while two hand back at the same moment, 40 times: never a candidate', async () => {
  const all = await Promise.all(Array.from({ length: 40 }, () => asked(3)))
  await Promise.all(
    all.flatMap(({ trigger, tickets }) => tickets.toReversed().map((ticket, at) => answer(trigger, ticket, at === 1 ? CLAIMED : RETURNED))),
  )
  for (const { trigger } of all)
    expect(await fate(trigger)).toEqual({ claims: ['returned', 'claimed', 'returned'], candidates: [], shownToMain: 0 })
})

test.each([2, 3])('[G2] %i owners hand back at the same moment, 60 times: exactly one candidate, told to main once', async (count) => {
  const all = await Promise.all(Array.from({ length: 60 }, () => asked(count)))
  const settled = await Promise.all(
    all.map(({ trigger, tickets }) => Promise.all(tickets.map((ticket) => answer(trigger, ticket, RETURNED)))),
  )
  for (const [at, { trigger }] of all.entries()) {
    expect(settled[at]!.map(stateOf).filter((state) => state === 'handed back')).toHaveLength(1)
    expect(await fate(trigger)).toEqual({ claims: Array(count).fill('returned'), candidates: ['waiting'], shownToMain: 1 })
  }
})

test('[G1] a claim is answered once: what comes later is refused and says what to do', async () => {
  const { trigger, tickets } = await asked(1)
  await answer(trigger, tickets[0]!, CLAIMED)
  expect(await answer(trigger, tickets[0]!, RETURNED)).toEqual({
    refused: `T-${tickets[0]} holds no open claim on message ${trigger}; read it again before answering`,
  })
  expect((await fate(trigger)).claims).toEqual(['claimed'])
})

test('[G1] who was not asked cannot answer', async () => {
  const { trigger } = await asked(1)
  const other = await asked(1)
  expect(stateOf(await answer(trigger, other.tickets[0]!, CLAIMED))).toBe('refused')
})

test('[G6] "unrelated" takes back a claim that was made, and the message returns to main', async () => {
  const { trigger, tickets } = await asked(1)
  await answer(trigger, tickets[0]!, CLAIMED)
  expect(stateOf(await answer(trigger, tickets[0]!, { ...RETURNED, unrelated: true }))).toBe('handed back')
  expect(await fate(trigger)).toEqual({ claims: ['returned'], candidates: ['waiting'], shownToMain: 1 })
})

test('[G2] a message that comes back again reopens its one candidate in the next round', async () => {
  const { trigger, tickets } = await asked(2)
  await answer(trigger, tickets[0]!, RETURNED)
  await answer(trigger, tickets[1]!, RETURNED)
  await ledger.db.updateTable('candidate').set({ state: 'attached', ticket: tickets[0]! }).where('trigger', '=', trigger).execute()
  await ledger.db
    .updateTable('claim')
    .set({ state: 'pending', reason: null })
    .where('trigger', '=', trigger)
    .where('ticket', '=', tickets[0]!)
    .execute()
  await answer(trigger, tickets[0]!, { state: 'returned', reason: 'still not mine' })
  const rows = await ledger.db.selectFrom('candidate').select(['state', 'round', 'ticket']).where('trigger', '=', trigger).execute()
  expect(rows).toEqual([{ state: 'waiting', round: 2, ticket: null }])
})

type Act =
  | { kind: 'say'; message: number }
  | { kind: 'answer'; message: number; ticket: number; how: 'claimed' | 'returned' | 'unrelated' }
  | { kind: 'close'; ticket: number }
interface Schedule {
  tickets: number
  acts: Act[]
}

const schedules: fc.Arbitrary<Schedule> = fc
  .record({ tickets: fc.integer({ min: 2, max: 4 }), messages: fc.integer({ min: 1, max: 3 }) })
  .chain(({ tickets, messages }) => {
    const ticket = fc.nat(tickets - 1)
    const message = fc.nat(messages - 1)
    const how = fc.constantFrom('claimed' as const, 'returned' as const, 'returned' as const, 'unrelated' as const)
    const acts = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.record({ kind: fc.constant('answer' as const), message, ticket, how }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), ticket }) },
      ),
      { minLength: tickets, maxLength: 14 },
    )
    const said = Array.from({ length: messages }, (_, at): Act => ({ kind: 'say', message: at }))
    return acts
      .chain((some) => fc.shuffledSubarray([...said, ...some], { minLength: said.length + some.length }))
      .map((all) => ({ tickets, acts: all }))
  })

/** All acts start at once; an answer waits until its message is there. Then whoever is left closes. */
async function play({ tickets: count, acts }: Schedule): Promise<number[]> {
  const number = ++issues
  const tickets = await owners(ledger.db, number, count)
  const said = new Map<number, PromiseWithResolvers<number>>()
  for (const act of acts) if (act.kind === 'say') said.set(act.message, Promise.withResolvers<number>())
  await Promise.all(
    acts.map(async (act) => {
      switch (act.kind) {
        case 'say':
          return said.get(act.message)!.resolve((await hear(ledger.db, { number })).trigger)
        case 'answer': {
          const given: ClaimAnswer = act.how === 'claimed' ? CLAIMED : act.how === 'returned' ? RETURNED : { ...RETURNED, unrelated: true }
          return answer(await said.get(act.message)!.promise, tickets[act.ticket]!, given)
        }
        case 'close':
          return close(tickets[act.ticket]!)
        default:
          return act satisfies never
      }
    }),
  )
  await Promise.all(tickets.map(close))
  return Promise.all([...said.values()].map(({ promise }) => promise))
}

test('[G2, R2] in 300 random schedules no message is lost, none is both claimed and a candidate, and a close leaves nothing pending', async () => {
  const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)
  const all = fc.sample(schedules, { numRuns: 300, seed })
  for (let at = 0; at < all.length; at += 8) {
    const some = all.slice(at, at + 8)
    const messages = await Promise.all(some.map(play))
    for (const [nth, triggers] of messages.entries()) {
      const which = `TEST_SEED=${seed}, schedule ${at + nth}: ${JSON.stringify(some[nth])}`
      for (const trigger of triggers) {
        const { claims, candidates, shownToMain } = await fate(trigger)
        expect(claims, which).not.toContain('pending')
        const isClaimed = claims.includes('claimed')
        expect({ candidates, shownToMain }, which).toEqual(
          isClaimed ? { candidates: [], shownToMain: 0 } : { candidates: ['waiting'], shownToMain: 1 },
        )
      }
    }
  }
}, 180_000)
