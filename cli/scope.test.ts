import { expect, test } from 'vitest'
import { parseScope, scopeName, scopeWord } from './scope.ts'

test.each([
  ['T-7', 'ticket-7'],
  ['t-7', 'ticket-7'],
  ['7', 'ticket-7'],
  ['ticket-7', 'ticket-7'],
  ['Ticket-12', 'ticket-12'],
  [' T-7 ', 'ticket-7'],
  ['T-999999999', 'ticket-999999999'],
  ['main', 'main'],
  ['Main', 'main'],
  ['ALL', 'all'],
])('[I4] %j is the scope %s', (text, scope) => expect(parseScope(text)).toEqual({ scope }))

test.each(['', 'T-', 'T-0', 'T-07', 'T-1.5', '-7', 'C-3', 'everything', 'T-7 T-8', 'T-9999999999', 'ticket 7', 'main!', '７'])(
  '[I4] %j is refused with the legal forms',
  (text) => {
    expect(parseScope(text)).toEqual({
      refused: `"${text}" names nothing that can be held: a Ticket (T-7, ticket-7 or 7), main (the main Session) or all (everything)`,
    })
  },
)

test('what a scope is called can be typed again, and means the same', () => {
  for (const scope of ['ticket-7', 'main', 'all']) expect(parseScope(scopeWord(scope))).toEqual({ scope })
  expect(['ticket-7', 'main', 'all'].map(scopeName)).toEqual(['T-7', 'the main Session', 'everything'])
})
