import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { startLoop } from './loop.ts'

const LONG = 3_600_000

/** A loop whose work is a script: each round answers the next value, throws the next error, or the last one for ever. */
function loopOf(script: readonly (number | Error | (() => Promise<number>))[], idleMs = LONG) {
  const rounds: number[] = []
  const lines: string[] = []
  const waiting: { rounds: number; reached: () => void }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const loop = startLoop({
    name: 'waking',
    idleMs,
    log,
    async work() {
      const next = script[Math.min(rounds.length, script.length - 1)]!
      rounds.push(rounds.length)
      for (const each of waiting) if (rounds.length >= each.rounds) each.reached()
      if (next instanceof Error) throw next
      return typeof next === 'function' ? next() : next
    },
  })
  onTestFinished(() => loop.stop())
  const reached = (count: number) =>
    new Promise<void>((resolve) => (rounds.length >= count ? resolve() : waiting.push({ rounds: count, reached: resolve })))
  return { loop, rounds, lines, reached }
}
/** So that whatever would run without waiting has run. */
const settled = () => sleep(30)

test('while there is work it goes on at once, without work it waits', async () => {
  const { rounds, reached } = loopOf([5, 5, 0])
  await reached(3)
  await settled()
  expect(rounds).toHaveLength(3)
})

test('a hint ends the wait', async () => {
  const { loop, rounds, reached } = loopOf([0])
  await reached(1)
  await settled()
  loop.hint()
  await reached(2)
  await settled()
  expect(rounds).toHaveLength(2)
})

test('a hint that comes while it works is not lost: it looks once more before it waits', async () => {
  const inside = Promise.withResolvers<void>()
  const { loop, rounds, reached } = loopOf([
    async () => {
      await inside.promise
      return 0
    },
    0,
  ])
  await reached(1)
  loop.hint()
  inside.resolve()
  await reached(2)
  await settled()
  expect(rounds).toHaveLength(2)
})

test('many hints at once are one more look', async () => {
  const { loop, rounds, reached } = loopOf([0])
  await reached(1)
  await settled()
  for (let nth = 0; nth < 50; nth++) loop.hint()
  await reached(2)
  await settled()
  expect(rounds).toHaveLength(2)
})

test('without a hint it looks again after its pause', async () => {
  const { reached } = loopOf([0], 5)
  await reached(4)
})

test("what the work throws is logged with the loop's name and tried again after growing pauses", async () => {
  const { reached, lines } = loopOf([new Error('Postgres is away'), new Error('still'), 0])
  await reached(3)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { loop: 'waking', pause: 200, msg: 'waking failed; it goes on', err: { message: 'Postgres is away' } },
    { loop: 'waking', pause: 400, err: { message: 'still' } },
  ])
})

test('after a success the pauses start small again', async () => {
  const { reached, lines } = loopOf([new Error('one'), 1, new Error('two'), 0])
  await reached(4)
  expect(lines.map((line) => JSON.parse(line).pause)).toEqual([200, 200])
})

test('a stop ends a wait at once, and no work starts after it', async () => {
  const { loop, rounds, reached } = loopOf([0])
  await reached(1)
  await loop.stop()
  loop.hint()
  await settled()
  expect(rounds).toHaveLength(1)
})

test('a stop waits for the work that runs, and tells it', async () => {
  const started = Promise.withResolvers<void>()
  let isOver = false
  const log = pino({ level: 'silent' })
  const loop = startLoop({
    name: 'waking',
    idleMs: LONG,
    log,
    async work(signal) {
      started.resolve()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      await settled()
      isOver = true
      return 1
    },
  })
  await started.promise
  await loop.stop()
  expect(isOver).toBe(true)
})

test('a stop while the work fails is no failure', async () => {
  const started = Promise.withResolvers<void>()
  const lines: string[] = []
  const loop = startLoop({
    name: 'waking',
    idleMs: LONG,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    async work(signal) {
      started.resolve()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      throw new Error('the connection was closed')
    },
  })
  await started.promise
  await loop.stop()
  expect(lines).toEqual([])
})
