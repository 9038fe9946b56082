/** Recording and replay through the real command line, on what a whole run left behind. */
import { CompiledQuery } from 'kysely'
import { expect, test, vi } from 'vitest'
import { switchyard } from '../../cli/process.test-help.ts'
import { EMPTY } from '../../core/config/document.ts'
import { save } from '../../ledger/fixture.ts'
import { fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { finished, type House, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 180_000 })

test('[D9] [O7] a Session that was recorded is replayed without a key or a model, whatever the prompts say now, and nothing is written', async () => {
  const { model, ...house } = await recordedRun()
  const env = { DATABASE_URL: house.databaseUrl }
  const before = await everyRow(house.house)

  const same = await switchyard(['replay', 'T-1'], env)
  expect(same.err).toBe('')
  expect(same.code).toBe(0)
  expect(same.out).toMatch(
    /^turn 1, step 1 · request \d+\n {2}request {2}as it was sent then\n {2}answer {3}as then · orchestrator_acknowledge\n/,
  )
  expect(same.out).toMatch(/\n(\d+) answers of \1 steps played, \1 as then\. Every request has the bytes that were sent then\.\n$/)
  const main = JSON.parse((await switchyard(['replay', 'main', '--json'], env)).out)
  expect(main.steps.length).toBeGreaterThan(1)
  for (const { stopped, answer, prompt } of main.steps) {
    expect({ stopped, differences: answer.differences, changes: prompt.changes }).toEqual({ stopped: null, differences: [], changes: [] })
  }
  expect(await everyRow(house.house)).toEqual(before)

  await save(house.house.ledger.db, 'prompts', { ...EMPTY, overrides: { 'runtime/work': { text: 'Work otherwise.', base: '' } } })
  const other = await switchyard(['replay', 't1-1', '--turn', '1'], env)
  expect(other.code).toBe(0)
  expect(other.out).toMatch(/request {2}as then for [\d,]+ of [\d,]+ bytes; first difference: runtime\/work\n/)
  expect(other.out).toMatch(/\n +runtime\/work: [\d,]+ bytes then, 15 now\n {2}answer {3}as then/)
  expect(other.out).toMatch(/\n(\d+) answers of \1 steps played, \1 as then\. \1 requests would be sent with other bytes\.\n$/)
  expect(model.requests().length).toBe(house.asked)
})

/** The whole job with recording on from the start; then the program, the model and GitHub's counterpart are left alone. */
async function recordedRun() {
  let failures = 1
  const beforeModel = () => (failures-- > 0 ? ('overloaded' as const) : undefined)
  const house = await openHouse({ world, scenario: fixFailingTest, beforeModel })
  const env = { DATABASE_URL: house.databaseUrl }
  expect((await switchyard(['record', 'status'], env)).out).toBe('Recording is off; nobody has switched it on yet.\n')
  expect((await switchyard(['record', 'on', '--as', 'mara', '--reason', 'to compare'], env)).out).toMatch(/^Recording is on: from the next/)
  expect((await switchyard(['record', 'on', '--as', 'lin'], env)).out).toMatch(
    /^Nothing to do\. Recording is on since .* by mara \(to compare\)\.\n$/,
  )
  await house.openIssue()
  await finished(house)
  await house.stop()
  expect((await switchyard(['record', 'off'], env)).out).toMatch(/^Recording is off\. What was recorded stays/)
  const [{ count }] = (await house.ledger.db
    .selectFrom('recording')
    .select((of) => of.fn.countAll<number>().as('count'))
    .execute()) as [{ count: number }]
  expect(count).toBe(house.model.requests().length) // the one that failed too
  return { house, model: house.model, asked: house.model.requests().length, databaseUrl: house.databaseUrl }
}

async function everyRow({ ledger }: House): Promise<Record<string, unknown[]>> {
  const rows = async (query: string) => (await ledger.db.executeQuery(CompiledQuery.raw(query))).rows
  const tables = (await rows(`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`)) as {
    name: string
  }[]
  return Object.fromEntries(await Promise.all(tables.map(async ({ name }) => [name, await rows(`select * from "${name}" order by 1, 2`)])))
}
