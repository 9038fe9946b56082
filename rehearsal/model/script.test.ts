import { describe, expect, test } from 'vitest'
import { parseRequest } from './protocol.ts'
import { choose, type Line, type Scenario } from './script.ts'
import { type View, viewOf } from './view.ts'

type Said =
  | { role: 'system' | 'user' | 'assistant'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls: object[] }
  | { role: 'tool'; tool_call_id: string; content: string }

function view(messages: Said[], tools: string[] = ['orchestrator_report']): View {
  const offered = tools.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const parsed = parseRequest({ model: 'scripted', messages, tools: offered })
  if ('fault' in parsed) throw new Error(parsed.fault.message)
  return viewOf(parsed.request)
}

const calling = (id: string, name: string, input: string): Said => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: input } }],
})

const scenario = (lines: Line[], applies = () => true): Scenario => ({ name: 'play', title: '', applies, roles: { executor: lines } })

describe('the view of a request', () => {
  test.each([
    ['main', ['orchestrator_route', 'orchestrator_read']],
    ['executor', ['shell', 'orchestrator_report']],
    ['subagent', ['shell', 'read']],
    ['subagent', []],
  ])('the role is %s when %j is offered', (role, tools) => {
    expect(view([{ role: 'user', content: 'hello' }], tools).role).toBe(role)
  })

  test('calls carry their input and result, and a pattern tells a call from talk about it', () => {
    const seen = view([
      { role: 'system', content: 'message 99 is only an example' },
      { role: 'user', content: 'message 12: the [shell] is broken' },
      calling('a', 'shell', '{"command":"node --test"}'),
      { role: 'tool', tool_call_id: 'a', content: 'fail 1' },
      calling('b', 'shell', 'no json'),
      { role: 'tool', tool_call_id: 'b', content: 'refused' },
    ])
    expect(seen.step).toBe(2)
    expect(seen.calls).toEqual([
      { name: 'shell', input: { command: 'node --test' }, result: 'fail 1', step: 0 },
      { name: 'shell', input: 'no json', result: 'refused', step: 1 },
    ])
    expect(seen.result('shell')).toBe('refused')
    expect(seen.result('read')).toBeNull()
    expect(seen.find(/message (\d+)/)).toBe('12')
    expect(seen.find(/C-\d+/)).toBeNull()
    expect(seen.conversation).toContain('[call shell] {"command":"node --test"}\n\n[result shell] fail 1')
    expect(seen.last).toBe('[result shell] refused')
  })

  test('an id that comes again in a later step belongs to that step', () => {
    const seen = view([
      calling('0', 'read', '{}'),
      { role: 'tool', tool_call_id: '0', content: 'first' },
      calling('0', 'shell', '{}'),
      { role: 'tool', tool_call_id: '0', content: 'second' },
    ])
    expect(seen.calls.map((call) => [call.name, call.result])).toEqual([
      ['read', 'first'],
      ['shell', 'second'],
    ])
    expect(seen.conversation).toContain('[result shell] second')
  })
})

describe('the line that answers', () => {
  const heard = view([{ role: 'user', content: 'message 12: please' }])

  test('is the first that matches, and no other', () => {
    const lines: Line[] = [
      { name: 'not yet', when: { step: 1 }, answer: { text: 'no' } },
      {
        name: 'this one',
        when: { contains: [/message \d+/], lacks: ['thanks'] },
        answer: (seen) => ({ text: seen.need(/message (\d+)/) }),
      },
      { name: 'too late', when: {}, answer: { text: 'no' } },
    ]
    expect(choose([scenario(lines)], heard)).toEqual({ scenario: 'play', line: 'this one', answer: { text: '12' }, delayMs: 0 })
  })

  test('of a scenario whose conversation it is not stays silent', () => {
    const line: Line = { name: 'any', when: {}, answer: { text: 'mine' } }
    const other = { ...scenario([line], () => false), name: 'other' }
    expect(choose([other, scenario([line])], heard)).toMatchObject({ scenario: 'play' })
    expect(choose([other], heard)).toMatchObject({ unexpected: expect.stringContaining('other: does not take this conversation') })
  })

  test('a pattern with flags that remember a place answers the same twice', () => {
    const line: Line = { name: 'global', when: { contains: [/message/g] }, answer: { text: 'yes' } }
    expect(choose([scenario([line])], heard)).toEqual(choose([scenario([line])], heard))
    expect(choose([scenario([line])], heard)).toMatchObject({ line: 'global' })
  })

  test('an answer that cannot find what it needs is unexpected too, and names its line', () => {
    const line: Line = { name: 'lost', when: {}, answer: (seen) => ({ text: seen.need(/C-(\d+)/) }) }
    const choice = choose([scenario([line])], heard)
    expect(choice).toMatchObject({ unexpected: expect.stringContaining('"lost": matches, but its answer cannot be given') })
  })

  test('every reason is told: step, what is lacking, what is too much, a condition, a role without lines', () => {
    const lines: Line[] = [
      { name: 'a', when: { step: 3, contains: ['x-y'], lacks: [/please/] }, answer: {} },
      { name: 'b', when: () => false, answer: {} },
    ]
    const choice = choose([scenario(lines), { ...scenario([]), name: 'empty' }], heard)
    if (!('unexpected' in choice)) throw new Error('a line matched')
    expect(choice.unexpected.split('\n')).toEqual([
      'no line expects this request: role executor, step 0, last message:',
      '[user] message 12: please',
      'why each line did not match:',
      '- play, "a": the step is 0, not 3; the conversation lacks "x-y"; the conversation holds /please/',
      '- play, "b": its condition does not hold',
      '- empty: has no line for the role executor',
    ])
  })

  test('a long last message is shown in part, and the rest is counted', () => {
    const choice = choose([], view([{ role: 'user', content: '🛤'.repeat(2_500) }]))
    expect(choice).toMatchObject({ unexpected: expect.stringContaining('(507 more characters; the recorded request holds them all)') })
  })
})
