/**
 * `npm run chaos -- --kills N --seed S [--minutes M] [--keep]`: one run of chaos; prints what happens, then the table of invariants.
 * Exit code 0 only if every one holds. `--keep` leaves the folder with the logs, as a run that failed does.
 */
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { holds, table } from './invariants.ts'
import { removeFolder, runChaos } from './run.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    minutes: { type: 'string', default: '30' },
    keep: { type: 'boolean', default: false },
  },
})
const [kills, seed, minutes] = [whole('kills', 1), whole('seed', 0), whole('minutes', 1)]

// the next run of the tests ends and removes what a killed run left in such a folder
const folder = mkdtempSync(join(tmpdir(), `switchyard-test-${process.pid}-chaos-`))
chmodSync(folder, 0o711)
const began = performance.now()
const say = (line: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}`)
say(`${kills} kills, seed ${seed}; logs in ${folder}`)

const rows = await runChaos({ kills, seed, minutes, folder, say })
const broken = rows.filter((row) => !holds(row))
console.log(`\n${kills} kills, seed ${seed}, ${((performance.now() - began) / 60_000).toFixed(1)} minutes\n\n${table(rows)}\n`)
for (const { name, detail } of broken) console.log(`${name}:\n${detail ?? 'no more is known'}\n`)
if (broken.length === 0 && !values.keep) removeFolder(folder)
process.exitCode = broken.length === 0 ? 0 : 1

function whole(name: 'kills' | 'seed' | 'minutes', least: number): number {
  const number = Number(values[name])
  if (/^\d+$/.test(values[name]) && number >= least) return number
  process.stderr.write(`chaos: --${name} "${values[name]}" is not a whole number from ${least}\n`)
  process.exit(1)
}
