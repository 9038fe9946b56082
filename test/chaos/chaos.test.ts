/** A short run of chaos with a fixed seed; longer ones are `npm run chaos` (docs/chaos.md). */
import { expect, test } from 'vitest'
import { testFolder } from '../services.ts'
import { holds, table } from './invariants.ts'
import { plan, VICTIMS } from './plan.ts'
import { runChaos } from './run.ts'

const KILLS = 30
const SEED = 5

test('[M1] [M4] [I1] killed thirty times at any moment, all comes to one correct end, nothing lost, nothing doubled, no pause lifted', async () => {
  const said: string[] = []
  const rows = await runChaos({ kills: KILLS, seed: SEED, minutes: 7, folder: testFolder('chaos-'), say: (line) => said.push(line) })
  const told = [...said, table(rows), ...rows.filter((row) => !holds(row)).map(({ name, detail }) => `${name}: ${detail}`)]
  expect(rows.every(holds), told.join('\n')).toBe(true)
}, 480_000)

test('the same seed plans the same deeds, and all that runs is killed', () => {
  expect(plan(SEED, 50)).toEqual(plan(SEED, 50))
  expect(plan(SEED, 50)).not.toEqual(plan(SEED + 1, 50))
  const victims = plan(SEED, KILLS).flatMap(({ deed }) => (deed.kind === 'kill' ? [deed.victim] : []))
  expect(victims).toHaveLength(KILLS)
  expect(new Set(victims)).toEqual(new Set(VICTIMS))
})
