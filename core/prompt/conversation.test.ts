import { expect, test } from 'vitest'
import { conversation, INTERRUPTED, type LogEntry } from './conversation.ts'

const input = (seq: number, step: number, text: string): LogEntry => ({ seq, kind: 'input', step, body: { text } })
const call = (id: string) => ({ id, name: 'read', input: { path: id } })
const answer = (seq: number, step: number, text: string, ...ids: string[]): LogEntry => ({
  seq,
  kind: 'answer',
  step,
  body: { text, calls: ids.map(call) },
})
const result = (seq: number, step: number, id: string): LogEntry => ({
  seq,
  kind: 'result',
  step,
  call: id,
  body: { text: `result of ${id}` },
})

test('[D8] what came in before one step is one user message, cards divided by a blank line', () => {
  expect(conversation([input(1, 1, 'card 1'), input(2, 1, 'card 2'), answer(3, 1, 'ok'), input(4, 2, 'card 3')])).toEqual([
    { role: 'user', text: 'card 1\n\ncard 2' },
    { role: 'assistant', text: 'ok', calls: [] },
    { role: 'user', text: 'card 3' },
  ])
})

test('[D8] results follow their answer in the order of the calls, however they came in', () => {
  const entries = [
    input(1, 1, 'card'),
    answer(2, 1, '', 'a', 'b', 'c'),
    result(3, 1, 'c'),
    result(4, 1, 'a'),
    result(5, 1, 'b'),
    input(6, 2, 'late'),
  ]
  expect(conversation(entries.toReversed()).map((message) => (message.role === 'tool' ? message.call : message.role))).toEqual([
    'user',
    'assistant',
    'a',
    'b',
    'c',
    'user',
  ])
})

test('[M4] a call whose result never came is interrupted, so that each call has one result', () => {
  expect(conversation([input(1, 1, 'card'), answer(2, 1, '', 'a', 'b'), result(3, 1, 'b'), input(4, 2, 'next')])).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    { role: 'tool', call: 'a', name: 'read', text: INTERRUPTED },
    { role: 'tool', call: 'b', text: 'result of b' },
    { role: 'user', text: 'next' },
  ])
})

test('[D8] reasoning is kept with its answer, and an answer of nothing is not sent back', () => {
  const thinking: LogEntry = { seq: 2, kind: 'answer', step: 1, body: { text: 'x', reasoning: 'because', calls: [] } }
  expect(conversation([thinking, answer(4, 2, '')])).toEqual([{ role: 'assistant', text: 'x', reasoning: 'because', calls: [] }])
})

test.each(['', ' ', '\n\n', '\u3000\t'])(
  '[F331] [D8] of an answer that says %j only its calls are sent back, and without calls nothing',
  (text) => {
    const thought: LogEntry = { seq: 2, kind: 'answer', step: 1, body: { text, reasoning: 'because', calls: [] } }
    expect(conversation([input(1, 1, 'card'), thought, input(3, 2, 'next'), answer(4, 2, text, 'a'), result(5, 2, 'a')])).toEqual([
      { role: 'user', text: 'card' },
      { role: 'user', text: 'next' },
      { role: 'assistant', text: '', calls: [call('a')] },
      { role: 'tool', call: 'a', name: 'read', text: 'result of a' },
    ])
  },
)

test.each([
  ['a result of a call that was not made', [answer(1, 1, '', 'a'), result(2, 1, 'z')], /entry 2 is a result of call z/],
  ['a second result', [answer(1, 1, '', 'a'), result(2, 1, 'a'), result(3, 1, 'a')], /entry 3 is a second result of call a/],
  ['a second answer', [answer(1, 1, 'x'), answer(2, 1, 'y')], /entry 2 is a second answer/],
])('[D8] a log that holds %s is refused loudly', (_, entries, message) => expect(() => conversation(entries)).toThrow(message))
