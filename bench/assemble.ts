/**
 * What a prompt costs before every model request, for configurations of three sizes: assembling it, and reading first which revision
 * and Policy are the newest. Beside it the assembler of DeepSeek Harness with the same sections, and the least that both could be:
 * joining the same texts, and one empty round trip to Postgres.
 */
import { sql } from 'kysely'
import { type ConfigurationDocument, EMPTY, teamSections } from '../core/config/document.ts'
import { drift, overridesInUse } from '../core/config/drift.ts'
import { checkDraft } from '../core/config/save.ts'
import { assemble } from '../core/prompt/assemble.ts'
import { builtInTexts, promptInput } from '../core/prompt/fixture.ts'
import type { PromptInput } from '../core/prompt/section.ts'
import { connect } from '../ledger/database.ts'
import { save } from '../ledger/fixture.ts'
import { createConfigurationReader } from '../ledger/revisions.ts'
import { benchPostgres, median, note, printTable, RUNS, scratch } from './house.ts'
import { peer } from './peers.ts'

const ROUNDS = 3_000
const READS = 500
const SIZES_KB = [16, 64, 128]

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

/** The parts that an Executor reads, each overridden, and the three sections, as long as the whole may be; a reference in each part. */
const WRITTEN = ['runtime/shared', 'runtime/worker', 'runtime/subscriptions', 'runtime/replies', 'runtime/work', 'runtime/handoff/worker']
function configuration(bytes: number): ConfigurationDocument {
  const text = (lead: string) =>
    `${lead}${'Say what was found, and where it stands. '.repeat(Math.ceil(bytes / 360))}`.slice(0, Math.floor(bytes / 9))
  const overrides = Object.fromEntries(WRITTEN.map((part) => [part, { text: text('You run on {{model}}. ') }]))
  const sections = { communication: { text: text('') }, scope: { text: text('') }, delivery: { text: text('') } }
  const checked = checkDraft({ sections, skills: [], overrides }, { stored: EMPTY, builtIn: builtInTexts, maxBytes: 1e6 })
  if ('faults' in checked) throw new Error(JSON.stringify(checked.faults))
  return checked.document
}

function inputOf(document: ConfigurationDocument): PromptInput {
  const overrides = overridesInUse(drift(document, builtInTexts))
  return promptInput('executor', { overrides, team: teamSections(document.sections) })
}

function assembled(input: PromptInput) {
  const built = assemble(input)
  if ('fault' in built) throw new Error(built.fault.message)
  return built
}

const postgres = await benchPostgres(scratch())
const { appUrl } = await postgres.database('assemble')
const ledger = connect(appUrl, { size: 1, onLost: (error) => note(error.message) })
const read = createConfigurationReader()
const harness = await peer('dsh/assemble.mjs')

interface Figures {
  bytes: number
  mine: number[]
  harness: number[]
  join: number[]
  read: number[]
  trip: number[]
}
const figures: Figures[] = []
for (const kb of SIZES_KB) {
  const document = configuration(kb * 1024)
  await save(ledger.db, 'prompts', document)
  const input = inputOf(document)
  const { sections, bytes } = assembled(input)
  const texts = sections.map(({ text }) => text)
  const row: Figures = { bytes, mine: [], harness: [], join: [], read: [], trip: [] }
  for (let run = 1; run <= RUNS; run++) {
    row.mine.push(timed(() => assembled(input)))
    // the same bytes; a reference in as many sections as ours has parts
    const theirs = texts.map((text, nth) => (nth < WRITTEN.length ? `${text} {{model}}` : text.replaceAll('{{', '{ {')))
    row.harness.push(
      (await harness.ask<{ micros: number }>({ sections: theirs, variables: { model: 'scripted-1' }, rounds: ROUNDS })).micros,
    )
    row.join.push(timed(() => Buffer.byteLength(texts.join('\n\n'))))
    row.trip.push(await timedRead(() => sql`select 1`.execute(ledger.db)))
    row.read.push(
      await timedRead(async () => {
        const { document: newest } = await read(ledger.db)
        if (newest.sections.scope === undefined) throw new Error('this is not the newest revision')
        assembled(input)
      }),
    )
  }
  figures.push(row)
  note(`${kb} KB done`)
}
await harness.end()
await ledger.close()
await postgres.stop()

const times = (of: number[], against: number[]) => `${(median(of) / median(against)).toFixed(1)}×`
printTable(
  'The prompt of an Executor, in microseconds',
  [
    'configuration',
    'prompt',
    'assemble',
    'dsh-system-prompt',
    'ratio',
    'plain join',
    'read the newest, then assemble',
    'empty query',
    'ratio',
  ],
  figures.map(({ bytes, mine, harness, join, read, trip }, nth) => [
    `${SIZES_KB[nth]} KB`,
    `${(bytes / 1024).toFixed(0)} KB`,
    median(mine).toFixed(1),
    median(harness).toFixed(1),
    times(mine, harness),
    median(join).toFixed(1),
    median(read).toFixed(0),
    median(trip).toFixed(0),
    times(read, trip),
  ]),
)
