import { expect, test } from 'vitest'
import { git, node } from './machine.ts'

test.each([
  ['24.0.0', 'ok'],
  ['25.1.0', 'ok'],
  ['22.20.0', 'problem'],
  ['9.0.0', 'problem'],
])('Node %s is %s', (version, state) => expect(node(version).state).toBe(state))

test('git that is missing is a problem with its fix', async () => {
  expect(await git()).toMatchObject({ state: 'ok', says: expect.stringMatching(/^\d+\.\d+/) })
  expect(await git('/nowhere/git')).toMatchObject({ state: 'problem', fix: 'install git, e.g. apt-get install git' })
})
