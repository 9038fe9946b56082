import { expect, test } from 'vitest'
import { type Closing, type ClosingFacts, decideClosing } from './closing.ts'

const base: ClosingFacts = {
  report: { status: 'done', outdated: false, reminders: 0 },
  pendingClaims: 0,
  openQuestions: 0,
  runningJobs: 0,
  openPullRequests: [],
  lastTurn: null,
}
const report = (status: NonNullable<ClosingFacts['report']>['status'], rest: Partial<NonNullable<ClosingFacts['report']>> = {}) => ({
  status,
  outdated: false,
  reminders: 0,
  ...rest,
})
const last = (rest: Partial<NonNullable<ClosingFacts['lastTurn']>> = {}) => ({
  merged: true,
  pushedInIt: false,
  unreportedRequest: false,
  ...rest,
})

const table: [string, Partial<ClosingFacts>, Closing][] = [
  ['[R2] done with nothing open closes as delivered', {}, { closes: 'delivered' }],
  ['[R2] cannot_complete closes', { report: report('cannot_complete') }, { closes: 'cannot_complete' }],
  ['[R2] yielded closes', { report: report('yielded') }, { closes: 'yielded' }],
  ['[R2] progress stays', { report: report('progress') }, { stays: ['no Report says that the work has ended'] }],
  ['[R2] a draft stays', { report: report('draft') }, { stays: ['no Report says that the work has ended'] }],
  ['[R2] no Report stays', { report: null }, { stays: ['no Report says that the work has ended'] }],
  ['[R2] a pending claim keeps it open', { pendingClaims: 1 }, { stays: ['1 message to claim or hand back'] }],
  ['[R2] an open question keeps it open', { openQuestions: 2 }, { stays: ['2 open questions'] }],
  ['[R2] a running job keeps it open', { runningJobs: 1 }, { stays: ['1 running job'] }],
  ['[R2] an open pull request keeps it open', { openPullRequests: ['#2', '#5'] }, { stays: ['open pull requests #2, #5'] }],
  [
    '[R2] what was read after the Report asks for another one',
    { report: report('done', { outdated: true }) },
    { remind: expect.stringContaining('Report again') as unknown as string },
  ],
  ['[R2] after two reminders the Report stands', { report: report('done', { outdated: true, reminders: 2 }) }, { closes: 'delivered' }],
  [
    '[R2, P5] the last turn after a merge closes as merged, whatever was reported',
    { report: report('progress'), lastTurn: last() },
    { closes: 'merged' },
  ],
  [
    '[R2, P5] the last turn after people closed everything closes as stopped',
    { report: null, lastTurn: last({ merged: false }) },
    { closes: 'stopped' },
  ],
  [
    '[R2, P5] a push in the last turn keeps the Ticket',
    { report: report('progress'), lastTurn: last({ pushedInIt: true }) },
    { stays: ['no Report says that the work has ended'] },
  ],
  [
    '[R2, P5] an unreported claimed request keeps the Ticket',
    { report: null, lastTurn: last({ unreportedRequest: true }) },
    { stays: ['no Report says that the work has ended'] },
  ],
]

test.each(table)('%s', (_, facts, closing) => {
  expect(decideClosing({ ...base, ...facts })).toEqual(closing)
})
