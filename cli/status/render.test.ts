import { describe, expect, test } from 'vitest'
import type { Entry, Overview, Story } from '../../ledger/story.ts'
import type { ShownTrigger } from '../../ledger/triggers.ts'
import { dayOf } from '../lines.ts'
import { columns, type Style } from '../live/style.ts'
import { renderOverview } from './overview.ts'
import { renderStory } from './story.ts'

const style = (width = 140): Style => ({ colour: false, width, since: 0 })
/** Local, as people read it: the tests pass in every time zone. */
const at = (minute: number) => new Date(2026, 10, 30, 12, minute, 7)
const now = at(59)

const message: ShownTrigger = {
  id: 12,
  kind: 'message',
  event: 'issues.opened',
  text: 'fix it',
  url: 'https://github.example/acme/shop/issues/7',
  happenedAt: at(0),
  author: 'lin',
  member: true,
  addressesAgent: true,
  facts: {},
  place: {
    source: 'github',
    kind: 'issue',
    repository: 'acme/shop',
    number: 7,
    title: 'Sum',
    url: 'https://github.example/acme/shop/issues/7',
  },
}
const pull = 'https://github.example/acme/shop/pull/8'
const session = 't3-1'
const call = { kind: 'call' as const, session, step: 1, call: 'a', fault: null, ended: null }

/** Every kind of entry, and what it becomes. */
const LINES: [Entry, string][] = [
  [
    { at: at(1), kind: 'asked', message },
    'asked                by lin in acme/shop#7 · issues.opened · https://github.example/acme/shop/issues/7',
  ],
  [{ at: at(1), kind: 'candidate', candidate: 4, explicit: true, round: 2 }, 'candidate C-4        asked for · round 2'],
  [
    { at: at(2), kind: 'decided', candidate: 4, decision: 'started', by: 'main-1', reason: 'small' },
    'started              C-4 by main-1 · small',
  ],
  [
    { at: at(2), kind: 'started', title: 'Fix the sum', requester: 'lin', effects: ['comment', 'branch'], note: 'small' },
    'Ticket               Fix the sum · for lin · may: comment, branch',
  ],
  [{ at: at(3), kind: 'session', session: 't3-2' }, 'new Session          t3-2'],
  [
    { at: at(3), kind: 'arrived', item: 'message', message, text: null, taken: 't3-1 step 2', dropped: null },
    'message 12           by lin · issues.opened · https://github.example/acme/shop/issues/7 · read in t3-1 step 2',
  ],
  [
    { at: at(3), kind: 'arrived', item: 'notice', message: null, text: 'lin asks to try again: now', taken: null, dropped: null },
    'notice               lin asks to try again: now · waits',
  ],
  [
    { at: at(3), kind: 'arrived', item: 'fact', message, text: null, taken: null, dropped: 'superseded by message 13' },
    'fact 12              by lin · issues.opened · https://github.example/acme/shop/issues/7 · dropped: superseded by message 13',
  ],
  [
    { at: at(4), kind: 'unanswered', session, step: 1, outcome: 'failed', error: '503', times: 3, last: at(5) },
    'request failed       t3-1 step 1 · 3 times until 12:05:07 · 503',
  ],
  [
    { at: at(6), kind: 'step', session, step: 1, outcome: 'tools', revision: 2, model: 'kimi', inputTokens: 3210, outputTokens: 20 },
    'model step 1         revision 2 · kimi · 3,210 tokens in, 20 out',
  ],
  [{ at: at(6), ...call, tool: 'shell', input: { command: 'npm test' }, outcome: 'done' }, '  shell              npm test'],
  [
    { at: at(6), ...call, tool: 'write', input: { path: 'a.js' }, outcome: 'refused', fault: 'content: missing' },
    '  write              a.js · refused · content: missing',
  ],
  [{ at: at(6), ...call, tool: 'read', input: { path: 'a.js' }, outcome: null }, '  read               a.js · not ended'],
  [
    {
      at: at(7),
      kind: 'effect',
      effect: 'comment',
      key: 'ticket-3.1/acknowledge/message:12',
      payload: {},
      state: 'confirmed',
      url: 'https://c',
      error: null,
    },
    'said: acknowledge    https://c',
  ],
  [
    {
      at: at(7),
      kind: 'effect',
      effect: 'push',
      key: 'ticket-3/push/a',
      payload: { branch: 'switchyard/t-3', sha: '0123456789abcdef' },
      state: 'failed',
      url: null,
      error: 'protected branch',
    },
    'pushed               switchyard/t-3 at 0123456789 · failed · protected branch',
  ],
  [
    { at: at(8), kind: 'effect', effect: 'pull_request.open', key: 'k', payload: { title: 'Sum' }, state: 'sent', url: pull, error: null },
    'pull request opened  Sum · https://github.example/acme/shop/pull/8 · sent, not confirmed yet',
  ],
  [
    { at: at(9), kind: 'report', status: 'done', summary: 'It adds up.', evidence: ['12 tests'], pullRequest: pull },
    'report: done         It adds up. · https://github.example/acme/shop/pull/8 · 12 tests',
  ],
  [
    { at: at(9), kind: 'step', session, step: 2, outcome: 'end', revision: 2, model: 'kimi', inputTokens: null, outputTokens: null },
    'model step 2         revision 2 · kimi · its turn ended',
  ],
  [
    { at: at(10), kind: 'command', command: 'pause', scope: 'all', by: 'mara', via: 'cli', reason: 'freeze', heard: null },
    'pause                everything · by mara (cli) · freeze · not heard by the workflow yet',
  ],
  [
    { at: at(10), kind: 'alarm', alarm: 'provider', subject: 'ticket-3', body: 'no answer', ended: at(11) },
    `ALARM provider       no answer · over at ${dayOf(at(11))} 12:11:07`,
  ],
  [{ at: at(12), kind: 'closed', reason: 'merged' }, 'closed               merged'],
]

const story: Story = {
  ticket: 3,
  title: 'Fix the sum',
  tokens: 4_321,
  sessions: ['t3-1', 't3-2'],
  entries: LINES.map(([entry]) => entry),
  now: {
    state: 'waiting',
    closedReason: null,
    since: at(57),
    holds: [{ scope: 'all', by: 'mara', reason: 'freeze', since: at(58) }],
    unread: 2,
    running: [],
    alarms: [{ kind: 'provider', subject: 'ticket-3', body: 'no answer', since: at(50), ended: null }],
    pullRequests: [{ number: 8, url: pull, state: 'open', draft: true }],
    threads: [],
  },
}

describe("a Ticket's story", () => {
  const lines = renderStory(story, style(), now).split('\n')

  test.each(LINES.map(([entry, expected]) => ({ entry, kind: entry.kind, expected })))(
    '$kind is one line in its columns: $expected',
    ({ entry, expected }) => {
      const clock = `12:${String(entry.at.getMinutes()).padStart(2, '0')}:07`
      expect(lines).toContain(`  ${clock}  ${expected}`)
    },
  )

  test('[I2, R1, O1] then where it stands: state, hold, alarm, what waits, and for what it waits', () => {
    expect(lines.slice(lines.indexOf('Now'))).toEqual([
      'Now',
      '  state         waiting, for 2 min',
      '  held          everything is paused by mara for 1 min: freeze',
      '  alarm         provider, for 9 min: no answer',
      '  inbox         2 messages wait',
      '  waits for     a member who resumes everything: switchyard resume all',
      '  pull request  https://github.example/acme/shop/pull/8 (draft)',
      '  tokens        4,321',
      '  every word    switchyard log t3-2',
    ])
  })

  test('each day has its line', () => {
    const next: Entry = { at: new Date(2026, 11, 1, 9, 0, 0), kind: 'session', session: 't3-3' }
    const days = renderStory({ ...story, entries: [...story.entries, next] }, style(), now).split('\n')
    expect(days.filter((line) => /^\d{4}-\d\d-\d\d$/.test(line))).toEqual(['2026-11-30', '2026-12-01'])
  })

  test('in a narrow terminal every line fits, but for addresses, which stay whole', () => {
    for (const line of renderStory(story, style(60), now)
      .split('\n')
      .filter((line) => !line.includes('https://'))) {
      expect(columns(line), line).toBeLessThanOrEqual(60)
    }
  })
})

describe('everything at a glance', () => {
  const empty: Overview = {
    held: [],
    main: { unread: 0 },
    tickets: [],
    closed: { count: 0, shown: [] },
    candidates: [],
    alarms: [],
    deliveries: { count: 0, shown: [] },
    ignored: { count: 0, shown: [] },
    unheard: [],
  }
  const line = { closedReason: null, since: at(54), title: 'Fix the sum', place: 'acme/shop#7', url: 'https://u', unread: 0 }

  test('nothing to tell is one line', () => {
    expect(renderOverview(empty, style(), now)).toBe('0 live Tickets, 0 closed · nothing is held · no alarm')
  })

  test('[I2, M5, O1] holds, what waits under them, alarms, and what was ignored and why', () => {
    const full: Overview = {
      held: [{ scope: 'ticket-3', by: 'lin', reason: 'look first', since: at(58) }],
      main: { unread: 1 },
      tickets: [
        { ...line, ticket: 12, state: 'blocked', title: '修复总数' },
        { ...line, ticket: 3, state: 'working', unread: 3 },
      ],
      closed: { count: 9, shown: [{ ...line, ticket: 1, state: 'closed', closedReason: 'merged' }] },
      candidates: [{ candidate: 4, state: 'waiting', explicit: true, place: 'acme/shop#9', url: 'https://u/9', by: 'mara', since: at(56) }],
      alarms: [{ kind: 'provider', subject: 'ticket-12', body: 'the key is refused', since: at(49), ended: null }],
      deliveries: { count: 1, shown: [{ delivery: 5, state: 'pending', event: 'issues', since: at(49), tries: 2, reason: 'no answer' }] },
      ignored: {
        count: 2,
        shown: [
          {
            what: 'message',
            id: 8,
            event: 'issue_comment.created',
            place: 'acme/shop#7',
            by: 'eve',
            reason: 'only members can ask',
            at: at(49),
          },
          { what: 'delivery', id: 6, event: 'gollum', place: null, by: null, reason: 'unknown event', at: at(48) },
        ],
      },
      unheard: [{ command: 'pause', scope: 'ticket-3', by: 'lin', since: at(58), error: 'Temporal is down' }],
    }
    expect(renderOverview(full, style(), now).split('\n')).toEqual([
      '2 live Tickets, 9 closed · held: T-3 · 1 open alarm',
      '',
      'Held',
      '  T-3  1 min  by lin · look first · switchyard resume T-3',
      '',
      'Tickets',
      '  T-12  blocked          5 min  acme/shop#7  修复总数',
      '  T-3   working, paused  5 min  acme/shop#7  Fix the sum · 3 messages wait',
      '',
      'The main Session',
      '  1 item waits for its next step',
      '',
      'Candidates that wait',
      '  C-4  asked for  3 min  acme/shop#9 by mara · https://u/9',
      '',
      'Alarms',
      '  provider  10 min  ticket-12: the key is refused',
      '',
      'Commands that the workflows have not heard yet (they hold all the same)',
      '  pause T-3  1 min  by lin · Temporal is down',
      '',
      'Deliveries that are not decided',
      '  5  pending  10 min  issues · tried 2 times · no answer',
      '',
      'Closed lately',
      '  T-1  merged  5 min  acme/shop#7  Fix the sum',
      '  and 8 others',
      '',
      'Ignored lately',
      '  message 8   10 min  issue_comment.created · acme/shop#7 · by eve · only members can ask',
      '  delivery 6  11 min  gollum · unknown event',
    ])
  })
})
