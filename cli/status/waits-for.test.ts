import { expect, test } from 'vitest'
import type { TicketNow } from '../../ledger/story.ts'
import { waitsFor } from './waits-for.ts'

const at = new Date('2026-11-30T12:00:00Z')
const quiet: TicketNow = {
  state: 'working',
  closedReason: null,
  since: at,
  holds: [],
  unread: 0,
  running: [],
  alarms: [],
  pullRequests: [],
  threads: [{ place: 'acme/shop#7', url: 'https://github.example/acme/shop/issues/7', role: 'owner' }],
}
const paused = { scope: 'ticket-7', by: 'lin', reason: 'wait', since: at }
const shell = { what: 'tool' as const, name: 'shell', input: { command: 'npm test' }, since: at }
const open = { number: 8, url: 'https://github.example/acme/shop/pull/8', state: 'open' as const, draft: false }

const cases: [string, Partial<TicketNow>, string | null][] = [
  ['[R1] closed: nothing', { state: 'closed', closedReason: 'merged', unread: 2 }, null],
  [
    '[I1] paused: a member, even while messages wait',
    { holds: [paused], unread: 2, state: 'blocked' },
    'a member who resumes T-7: switchyard resume T-7',
  ],
  [
    '[I4] everything is paused: resuming the Ticket alone would not do',
    { holds: [{ ...paused, scope: 'all' }] },
    'a member who resumes everything: switchyard resume all',
  ],
  ['[R1, O2] blocked: a person', { state: 'blocked', unread: 1 }, 'a person who mends what the alarm says: then switchyard retry T-7'],
  ['asked the model', { running: [{ what: 'model', name: 'kimi', input: {}, since: at }] }, 'the answer of the model kimi'],
  ['runs a tool', { running: [shell] }, 'the end of its call of shell (npm test)'],
  ['a tool that has not begun', { running: [{ ...shell, since: null }] }, 'the start of its call of shell (npm test)'],
  ['messages that it has not read', { unread: 1, pullRequests: [open] }, 'its next step, in which it reads 1 new item'],
  ['its open pull request', { pullRequests: [open] }, 'reviews, checks and messages on https://github.example/acme/shop/pull/8'],
  [
    'a merged pull request is waited for no longer',
    { pullRequests: [{ ...open, state: 'merged' }] },
    'messages in https://github.example/acme/shop/issues/7',
  ],
  ['no Thread of its own', { threads: [] }, 'a message'],
]

test.each(cases)('%s', (_, situation, expected) => expect(waitsFor(7, { ...quiet, ...situation })).toBe(expected))
