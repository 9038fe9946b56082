/** `switchyard policy …` as people run it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLedger } from '../../ledger/fixture.ts'
import { testFolder } from '../../test/services.ts'
import { type Ended, switchyard } from '../process.test-help.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
let env: Record<string, string>
beforeAll(async () => {
  ledger = await openLedger()
  env = { DATABASE_URL: ledger.appUrl, SWITCHYARD_HOME: testFolder('policy-') }
})
afterAll(() => ledger.drop())

const run = (...args: string[]): Promise<Ended> => switchyard(args, env)

describe('the Policy', () => {
  test('[F5] rules and mode are changed one version after another, seen, and brought back', async () => {
    const added = await run('policy', 'rule', 'add', '--name', 'red main', '--instruction', 'Fix a red default branch.')
    expect(added.out).toMatch(/r1 {2}enabled {2}red main: Fix a red default branch\./)
    expect((await run('policy', 'set-mode', 'automatic')).out).toMatch(/^Policy v3, accept mode automatic/)
    expect((await run('policy', 'rule', 'edit', 'r1', '--instruction', 'Only on main.')).out).toContain('red main: Only on main.')
    expect((await run('policy', 'rule', 'disable', 'r1')).out).toContain('disabled')
    expect((await run('policy', 'rule', 'remove', 'r1')).out).toContain('No rule.')
    expect((await run('policy', 'restore', '4')).out).toMatch(/r1 {2}enabled {2}red main: Only on main\./)
    expect(
      JSON.parse((await run('policy', 'history', '--json')).out).versions.map(
        ({ number, restored }: { number: number; restored: number | null }) => [number, restored],
      ),
    ).toEqual([
      [7, 4],
      [6, null],
      [5, null],
      [4, null],
      [3, null],
      [2, null],
      [1, null],
    ])
  })

  test('[F5, F244] a stale base is refused with the newest version; a wrong mode or rule with those that are legal', async () => {
    const stale = await run('policy', 'set-mode', 'confirm', '--base', '2')
    expect(stale.err).toMatch(/nothing was saved: v7 by .* is newer than v2/)
    expect(stale.code).toBe(1)
    expect((await run('policy', 'set-mode', 'automatc')).err).toMatch(/did you mean automatic\? Legal are explicit, confirm, automatic/)
    expect((await run('policy', 'rule', 'enable', 'r9')).err).toMatch(/there is no rule r9. Those there are: r1 \(red main\)/)
  })
})
