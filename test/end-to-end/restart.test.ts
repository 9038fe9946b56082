/** The program ends in the middle, politely or not, and another one goes on from what is written down (spec M4). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
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

test('[M4] stopped or killed in the middle three times, it comes to the same end, and nothing is said or done twice', async () => {
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
  const { db } = house.ledger
  const cutOff = await db.selectFrom('toolCall').select('tool').where('outcome', '=', 'interrupted').execute()
  expect(cutOff).toEqual([{ tool: 'shell' }])
  const open = await db.selectFrom('outbox').select('key').where('state', '!=', 'confirmed').execute()
  expect(open).toEqual([])
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
