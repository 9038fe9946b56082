import { expect, test } from 'vitest'
import { parseCommand } from './command.ts'

test.each([
  ['pause', 'pause', null],
  ['  Stop. ', 'pause', null],
  ['停一下', 'pause', null],
  ['resume t-7!', 'resume', 'T-7'],
  ['关闭', 'close', null],
  ['STATUS?', 'status', null],
  ['accept C-3', 'accept', 'C-3'],
  ['拒绝', 'decline', null],
])('[N5] "%s" is the command %s', (text, name, target) => {
  expect(parseCommand(text)).toEqual({ name, target })
})

test.each(['the stop-word list is wrong', 'please pause', 'pause it', 'pause T-7 and T-8', '', 'go on'])(
  '[N5] "%s" is language',
  (text) => {
    expect(parseCommand(text)).toBeNull()
  },
)
