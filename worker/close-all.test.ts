/** Closing goes on past a closer that throws. */
import { expect, test } from 'vitest'
import { closeAll } from './close-all.ts'

test('what was opened last closes first, a closer that throws keeps none open, and every error is told', async () => {
  const closed: string[] = []
  const failing = (name: string) => async () => {
    closed.push(name)
    throw new Error(`${name} does not close`)
  }
  const closers = [() => closed.push('lock'), failing('ledger'), () => closed.push('workers'), failing('servers')]
  await expect(closeAll(closers)).rejects.toThrow('servers does not close; ledger does not close')
  expect(closed).toEqual(['servers', 'workers', 'ledger', 'lock'])
  await closeAll(closers)
  expect(closed).toHaveLength(4)
})

test('one error stays the error that it is', async () => {
  const error = new RangeError('too far')
  await expect(
    closeAll([
      () => {
        throw error
      },
    ]),
  ).rejects.toBe(error)
})
