/**
 * Scenario 2, for a second server of the same protocol: another repository, another order, other words. It looks round before it
 * acknowledges, writes new files instead of editing, keeps no list, reports before it tells the result, and goes by step numbers.
 */
import type { Line, Scenario } from '../model/script.ts'
import type { View } from '../model/view.ts'
import { concerns, issueIn, messageIn, pullRequestIn, routes, takesNote } from './conversation.ts'
import { acknowledgedThenResult, fileLike, onePullRequest, reportedDone } from './expected.ts'
import type { Expectation, World } from './world.ts'

const REPOSITORY = 'acme/gears'

/** The whole change. */
export const written = {
  'src/median.js': `/** The middle value, or the mean of the two in the middle; of no values there is none. */
export function median(values) {
  if (values.length === 0) throw new RangeError('no values: there is no median')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
`,
  'test/median.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { median } from '../src/median.js'

test('the middle of an odd count, by value and not by place', () => {
  assert.equal(median([9, 10, 1]), 9)
})

test('the mean of the two in the middle of an even count', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5)
})

test('no values have no median', () => {
  assert.throws(() => median([]), RangeError)
})
`,
} as const

export const world: World = {
  app: { slug: 'switchyard', name: 'Switchyard' },
  owner: { login: 'acme', name: 'Acme' },
  people: [{ login: 'jonas', name: 'Jonas Okafor' }],
  repository: {
    fullName: REPOSITORY,
    description: 'Small statistics over gear measurements.',
    defaultBranch: 'main',
    private: false,
    files: new URL('./second-server/repository/', import.meta.url),
    firstCommit: 'Add the mean',
  },
  members: [{ login: 'jonas', permission: 'maintain' }],
  issue: {
    author: 'jonas',
    title: 'We need a median',
    body: 'A single bad measurement spoils the mean.\n\n@switchyard add `median` in `src/median.js`, in the manner of `mean`, with tests.',
  },
}

const executor: Line[] = [
  {
    name: 'looks round',
    when: { step: 0 },
    answer: {
      text: 'What is there:',
      calls: [
        { name: 'glob', input: { pattern: '**/*.js' } },
        { name: 'grep', input: { pattern: 'export function' } },
      ],
    },
  },
  {
    name: 'acknowledges',
    when: { step: 1, contains: ['src/mean.js'] },
    answer: (view) => ({
      calls: [
        {
          name: 'orchestrator_acknowledge',
          input: { message: messageIn(view), text: 'I will add `median` with tests beside `mean` and open a pull request.' },
        },
      ],
    }),
  },
  {
    name: 'writes the function and its test',
    when: { step: 2, contains: ['[result orchestrator_acknowledge]'] },
    answer: { calls: Object.entries(written).map(([path, content]) => ({ name: 'write', input: { path, content } })) },
  },
  { name: 'tests', when: { step: 3 }, answer: { calls: [{ name: 'shell', input: { command: 'node --test' } }] } },
  {
    name: 'commits',
    when: { step: 4, contains: [/\bpass 5\b/, /\bfail 0\b/] },
    answer: {
      text: 'All five pass.',
      calls: [{ name: 'shell', input: { command: "git add src test && git commit -m 'Add the median'" } }],
    },
  },
  {
    name: 'pushes',
    when: { step: 5 },
    answer: (view) => ({ calls: [{ name: 'github_push', input: { branch: branchOf(view) } }] }),
  },
  {
    name: 'opens a pull request',
    when: { step: 6, contains: ['[result github_push]'] },
    answer: (view) => ({
      calls: [
        {
          name: 'github_pull_request',
          input: {
            action: 'open',
            branch: branchOf(view),
            title: 'Add the median',
            body: `Adds \`median\` in the manner of \`mean\`.\n\nEvidence: \`node --test\` has 5 passes and 0 failures.\n\nCloses #${issueIn(view, REPOSITORY)}`,
          },
        },
      ],
    }),
  },
  {
    name: 'makes it ready',
    when: { step: 7 },
    answer: (view) => ({
      calls: [{ name: 'github_pull_request', input: { action: 'ready', number: pullRequestIn(view, REPOSITORY) } }],
    }),
  },
  {
    name: 'reports',
    when: { step: 8 },
    answer: (view) => ({
      calls: [
        {
          name: 'orchestrator_report',
          input: { status: 'done', summary: '`median` is there, with tests.', pullRequest: pullRequestIn(view, REPOSITORY) },
        },
      ],
    }),
  },
  {
    name: 'tells the result',
    when: { step: 9, contains: ['[result orchestrator_report]'] },
    answer: (view) => ({
      calls: [
        {
          name: 'reply',
          input: {
            message: messageIn(view),
            purpose: 'result',
            text: `\`median\` is ready for review in #${pullRequestIn(view, REPOSITORY)}.`,
          },
        },
      ],
    }),
  },
  { name: 'ends its turn', when: { step: 10, contains: ['[result reply]'] }, answer: { text: 'That is all.' } },
  takesNote('Nothing to add.'),
]

export const secondServer: Scenario = {
  name: 'second-server',
  title: 'An issue asks for a missing function',
  applies: (view) => concerns(view, REPOSITORY),
  roles: {
    main: routes(REPOSITORY, { title: 'Add a median', note: 'Jonas wants it in the manner of mean.' }, 'All candidates are routed.'),
    executor,
  },
}

export const expected: readonly Expectation[] = [
  ...onePullRequest({
    title: /median/,
    base: world.repository.defaultBranch,
    changed: Object.keys(written),
    evidence: [/5 passes and 0 failures/],
  }),
  fileLike('src/median.js', /export function median\(/),
  acknowledgedThenResult(/`median`/),
  reportedDone,
]

function branchOf(view: View): string {
  return `median-for-${issueIn(view, REPOSITORY)}`
}
