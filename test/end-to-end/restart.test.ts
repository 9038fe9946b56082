/** The program ends in the middle, politely or not, and another one goes on from what is written down (spec M4). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { textOf } from '../../rehearsal/model/protocol.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, finished, type House, openHouse } from './house.ts'
import { longFirstTest, rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 180_000 })

/** The first command lasts; the model thinks for a while after the push, so that a stop falls between push and pull request. */
const slow = rescript(fixFailingTest, {
  lines: { 'plans and reproduces': longFirstTest, 'opens a pull request with evidence': { delayMs: 3_000 } },
})

const MOMENTS: [string, (house: House) => Promise<unknown>][] = [
  [
    'after the acknowledgement',
    ({ ledger }) =>
      ledger.db.selectFrom('outbox').select('id').where('kind', '=', 'comment').where('state', '=', 'confirmed').executeTakeFirst(),
  ],
  ['while a command runs', shellRuns],
  [
    'between push and pull request',
    ({ ledger }) =>
      ledger.db.selectFrom('outbox').select('id').where('kind', '=', 'push').where('state', '=', 'confirmed').executeTakeFirst(),
  ],
]

test('[M4] [F325] [F330] stopped or killed in the middle three times, it goes on by itself to the same end, and nothing is said, asked or done twice', async () => {
  // side by side: most of the time passes while Temporal waits for the heartbeats of those that were killed
  await Promise.all([
    interrupted(await openHouse({ world, scenario: slow }), (house) => house.restart()),
    interrupted(await openHouse({ world, scenario: slow, child: true }), (house) => house.killAndRestart()),
  ])
})

async function interrupted(house: House, interrupt: (house: House) => Promise<void>): Promise<void> {
  const issue = await house.openIssue()
  for (const [moment, reached] of MOMENTS) {
    await eventually(moment, () => reached(house))
    await interrupt(house)
  }
  await finished(house)

  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(house.model.unexpected()).toEqual([])
  await commandsRanOnce(house)
  conversationsOnlyGrow(house)
  const { db } = house.ledger
  const cutOff = await db.selectFrom('toolCall').select('tool').where('outcome', '=', 'interrupted').execute()
  expect(cutOff).toEqual([{ tool: 'shell' }])
  const open = await db.selectFrom('outbox').select('key').where('state', '!=', 'confirmed').execute()
  expect(open).toEqual([])
}

/** What the model was told and what it answered stays as it was, and nothing is told a second time (F330). */
function conversationsOnlyGrow({ model }: House): void {
  for (const role of ['main', 'executor'] as const) {
    // of a step that was asked for twice the last one was answered
    const steps = new Map(model.requests().flatMap((each) => (each.role === role ? [[each.step, each.body.messages]] : [])))
    const talks = [...steps.values()].map((messages) => messages.filter((message) => message.role !== 'system'))
    for (const [nth, talk] of talks.entries()) {
      const before = talks[nth - 1] ?? []
      expect(talk.slice(0, before.length)).toEqual(before)
      const told = talk.filter((message) => message.role === 'user').map(({ content }) => textOf(content))
      expect(new Set(told).size).toBe(told.length)
    }
    expect(talks.length).toBeGreaterThan(1)
  }
}

/** Not only written down as begun: the command itself has said so. */
async function shellRuns({ home }: House): Promise<boolean> {
  return existsSync(join(inSandbox(home), 'waited'))
}

const inSandbox = (home: string): string => join(home, 'workspaces', 't-1', '@home')

/** The command that was cut off began once, and once more when the model asked for it again. */
async function commandsRanOnce({ home, ledger }: House): Promise<void> {
  const calls = await ledger.db.selectFrom('toolCall').select('input').where('tool', '=', 'shell').execute()
  const asked = calls.filter(({ input }) => JSON.stringify(input).includes('$HOME/runs'))
  const runs = readFileSync(join(inSandbox(home), 'runs'), 'utf8')
    .trim()
    .split('\n')
  expect(runs.length).toBeLessThanOrEqual(asked.length)
  expect(asked).toHaveLength(2)
}
