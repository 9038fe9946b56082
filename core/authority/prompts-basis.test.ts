import { expect, test } from 'vitest'
import { type BasisFacts, promptsBasis } from './prompts-basis.ts'

const said: NonNullable<BasisFacts['said']> = {
  kind: 'message',
  author: 'lin',
  member: true,
  addressesAgent: true,
  words: 'From now on, no changelog.',
  isCommand: false,
  since: null,
  permission: 'admin',
  usedFor: null,
}

test.each<[string, Partial<typeof said> | null, string | null]>([
  ['[B8] an admin who asks in words', {}, null],
  ['[B8] [Q3] one with maintain permission', { permission: 'maintain' }, null],
  ['[B8] a message that does not exist', null, 'does not exist'],
  ['[B8] an event', { kind: 'fact' }, 'is an event'],
  ['[B8] [M6] a message that was deleted since', { since: 'deleted' }, 'was deleted since'],
  ['[B8] [N7] the old text of a message that was edited since', { since: 'edited' }, 'was edited since'],
  ['[B8] [O6] words that were removed from the record', { since: 'purged' }, 'was removed from the record'],
  ['[B8] [P2] a command', { isCommand: true }, 'was a command'],
  ['[B8, F256] an outsider', { member: false }, 'who is no member there'],
  ['[B8] words to somebody else', { addressesAgent: false }, 'was not addressed to the agent'],
  ['[B8] an assignment without words', { words: ' \n' }, 'says nothing in words'],
  ['[B8] [Q3] a member who is no admin, or an editor who is none', { permission: 'write' }, 'no admin'],
  ['[B8] a place that GitHub cannot be asked about', { permission: null }, 'no admin'],
  ['[B8] a message that was the ground of a save already', { usedFor: 4 }, 'was the ground of revision 4 already'],
])('%s', (_, changes, reason) => {
  const result = promptsBasis({ message: 12, said: changes && { ...said, ...changes } })
  if (reason === null) expect(result).toEqual({ allowed: true })
  else expect(result).toEqual({ refused: expect.stringMatching(new RegExp(`^Refused: message 12 .*${reason}.*Nothing was saved\\.$`)) })
})
