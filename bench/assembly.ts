/**
 * What a prompt costs before every model request: assembling it, and reading which revision and Policy are the newest. Beside them
 * the least that both could be: joining the same texts, and one empty round trip to Postgres.
 */
import { sql } from 'kysely'
import { assemble } from '../core/prompt/assemble.ts'
import { promptInput } from '../core/prompt/fixture.ts'
import type { PromptInput } from '../core/prompt/section.ts'
import { connect } from '../ledger/database.ts'
import { createConfigurationReader } from '../ledger/revisions.ts'
import { benchPostgres, median, note, printTable, RUNS, scratch } from './house.ts'

const ROUNDS = 3_000
const READS = 500

/** Microseconds of one call, median over many. */
function timed(work: () => unknown): number {
  for (let warm = 0; warm < 500; warm++) work()
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    work()
    times.push((performance.now() - began) * 1000)
  }
  return median(times)
}
async function timedRead(work: () => Promise<unknown>): Promise<number> {
  for (let warm = 0; warm < 50; warm++) await work()
  const times: number[] = []
  for (let round = 0; round < READS; round++) {
    const began = performance.now()
    await work()
    times.push((performance.now() - began) * 1000)
  }
  return median(times)
}

function assembled(input: PromptInput) {
  const built = assemble(input)
  if ('fault' in built) throw new Error(built.fault.message)
  return built
}

const postgres = await benchPostgres(scratch())
const { appUrl } = await postgres.database('assembly')
const ledger = connect(appUrl, { size: 1, onLost: (error) => note(error.message) })
const read = createConfigurationReader()

const ROLES = ['main', 'executor'] as const
const figures: Record<string, { mine: number[]; least: number[] }> = {}
const add = (what: string, mine: number, least: number) => {
  figures[what] ??= { mine: [], least: [] }
  figures[what].mine.push(mine)
  figures[what].least.push(least)
}
let bytes = ''
for (let run = 1; run <= RUNS; run++) {
  const texts = ROLES.map((role) => assembled(promptInput(role)).sections.map(({ text }) => text))
  bytes = texts.map((each, nth) => `${ROLES[nth]} ${Buffer.byteLength(each.join('\n\n'))} bytes`).join(', ')
  for (const [nth, role] of ROLES.entries()) {
    const input = promptInput(role)
    add(
      `assemble, ${role}`,
      timed(() => assembled(input)),
      timed(() => Buffer.byteLength(texts[nth]!.join('\n\n'))),
    )
  }
  const trip = await timedRead(() => sql`select 1`.execute(ledger.db))
  add('read the newest revision and Policy', await timedRead(() => read(ledger.db)), trip)
  const input = promptInput('executor')
  add(
    'both, executor',
    await timedRead(async () => {
      await read(ledger.db)
      assembled(input)
    }),
    trip,
  )
}
await ledger.close()
await postgres.stop()

printTable(
  `A prompt before every model request (${bytes}), in microseconds; beside assembly a plain join of the same texts, beside a read one empty query`,
  ['', 'Switchyard µs', 'the least µs', 'ratio'],
  Object.entries(figures).map(([what, { mine, least }]) => [
    what,
    median(mine).toFixed(1),
    median(least).toFixed(1),
    `${(median(mine) / median(least)).toFixed(1)}×`,
  ]),
)
