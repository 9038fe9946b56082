/**
 * Scenario 1: an issue asks to mend a failing test. The Executor acknowledges, reproduces, reads, edits, tests, commits, pushes,
 * opens a pull request with evidence, makes it ready, tells the result and reports. Lines go by what was done so far, not by
 * step numbers, so that a restart, an interrupted command or a fact in between does not lose the thread.
 */
import type { Line, Scenario } from '../model/script.ts'
import type { View } from '../model/view.ts'
import { againWhenCutOff, concerns, issueIn, messageIn, pullRequestIn, routes, takesNote } from './conversation.ts'
import { acknowledgedThenResult, fileLike, onePullRequest, reportedDone } from './expected.ts'
import type { Expectation, World } from './world.ts'

const REPOSITORY = 'acme/widgets'
const COMMIT = 'git add -A && git commit -m "Count a partly filled last page"'

/** The whole change. */
export const edit = {
  path: 'src/pages.js',
  old: 'return Math.floor(total / perPage)',
  new: 'return Math.ceil(total / perPage)',
}

export const world: World = {
  app: { slug: 'switchyard', name: 'Switchyard' },
  owner: { login: 'acme', name: 'Acme' },
  people: [{ login: 'mara', name: 'Mara Lindqvist' }],
  repository: {
    fullName: REPOSITORY,
    description: 'The widget catalogue, one page at a time.',
    defaultBranch: 'main',
    private: false,
    files: new URL('./fix-failing-test/repository/', import.meta.url),
    firstCommit: 'Show the widget catalogue page by page',
  },
  members: [{ login: 'mara', permission: 'write' }],
  issue: {
    author: 'mara',
    title: 'The last page of the catalogue is missing',
    body: [
      'With 5 widgets and 2 on each page the catalogue shows 2 pages, and the fifth widget cannot be reached.',
      '',
      'The test "a partly filled last page is counted" in `test/pages.test.js` is red for the same reason:',
      '',
      '```',
      'Expected values to be strictly equal:',
      '2 !== 3',
      '```',
      '',
      '@switchyard please find the cause, fix it and open a pull request.',
    ].join('\n'),
  },
}

const executor: Line[] = [
  againWhenCutOff,
  {
    name: 'acknowledges',
    when: { contains: [/\bmessage \d+ · /], lacks: ['[call orchestrator_acknowledge]'] },
    answer: (view) => ({
      reasoning: 'Mara wants the lost last page back. First I say what I will do, then I reproduce it.',
      calls: [
        {
          name: 'orchestrator_acknowledge',
          input: {
            message: messageIn(view),
            text: 'I will find out why `pageCount` loses a partly filled last page and open a pull request in which `node --test` passes.',
          },
        },
      ],
    }),
  },
  {
    name: 'plans and reproduces',
    when: { contains: ['[result orchestrator_acknowledge]'], lacks: ['[call shell]'] },
    answer: {
      text: 'First the plan, and the failure as it is now.',
      calls: [
        {
          name: 'todo_write',
          input: {
            items: [
              { content: 'Reproduce the failure with node --test', status: 'in_progress' },
              { content: 'Mend pageCount in src/pages.js', status: 'pending' },
              { content: 'Run the tests again', status: 'pending' },
              { content: 'Open a pull request with the evidence', status: 'pending' },
            ],
          },
        },
        { name: 'shell', input: { command: 'node --test', timeoutSeconds: 60 } },
      ],
    },
  },
  {
    name: 'reads the code and its test side by side',
    when: { contains: [/\[result shell\].*\bfail 1\b/s], lacks: ['[call read]'] },
    answer: {
      text: 'One test fails, as reported. The code and the test:',
      calls: [
        { name: 'read', input: { path: edit.path } },
        { name: 'read', input: { path: 'test/pages.test.js' } },
      ],
    },
  },
  {
    name: 'mends the bug',
    when: { contains: [/\[result read\].*Math\.floor/s], lacks: ['[call edit]'] },
    answer: {
      reasoning: 'Math.floor drops the page that is not full. The README says 3 for (5, 2), so the test is right and the code is wrong.',
      calls: [{ name: 'edit', input: edit }],
    },
  },
  {
    name: 'runs the tests again',
    when: { contains: ['[result edit]'], lacks: [/\[call edit\].*\[call shell\]/s] },
    answer: { calls: [{ name: 'shell', input: { command: 'node --test', timeoutSeconds: 60 } }] },
  },
  {
    name: 'commits when they pass',
    when: { contains: [/\[call edit\].*\[result shell\].*\bfail 0\b/s], lacks: ['git add -A'] },
    answer: { calls: [{ name: 'shell', input: { command: COMMIT } }] },
  },
  {
    name: 'pushes a branch',
    when: { contains: [/git add -A.*\[result shell\]/s], lacks: ['[call github_push]'] },
    answer: (view) => ({ calls: [{ name: 'github_push', input: { branch: branchOf(view) } }] }),
  },
  {
    name: 'opens a pull request with evidence',
    when: { contains: ['[result github_push]'], lacks: ['[call github_pull_request]'] },
    answer: (view) => ({
      calls: [
        {
          name: 'github_pull_request',
          input: { action: 'open', branch: branchOf(view), title: 'Count a partly filled last page', body: bodyOf(view), draft: true },
        },
      ],
    }),
  },
  {
    name: 'makes it ready',
    when: { contains: ['[result github_pull_request]'], lacks: ['"action":"ready"'] },
    answer: (view) => ({
      calls: [{ name: 'github_pull_request', input: { action: 'ready', number: pullRequestIn(view, REPOSITORY) } }],
    }),
  },
  {
    name: 'tells the result',
    when: { contains: [/"action":"ready".*\[result github_pull_request\]/s], lacks: ['[call reply]'] },
    answer: (view) => ({
      calls: [
        {
          name: 'reply',
          input: {
            message: messageIn(view),
            purpose: 'result',
            text: `#${pullRequestIn(view, REPOSITORY)} counts the partly filled last page again and is ready for review.`,
          },
        },
      ],
    }),
  },
  {
    name: 'reports',
    when: { contains: ['[result reply]'], lacks: ['[call orchestrator_report]'] },
    answer: (view) => ({
      calls: [
        {
          name: 'orchestrator_report',
          input: {
            status: 'done',
            summary: '`pageCount` rounded down; it rounds up now, and the failing test passes.',
            evidence: [`node --test before: ${count(view, 'first')}`, `node --test after: ${count(view, 'last')}`],
            pullRequest: pullRequestIn(view, REPOSITORY),
          },
        },
      ],
    }),
  },
  {
    name: 'ends its turn',
    when: (view) => view.last.startsWith('[result orchestrator_report]'),
    answer: { text: 'The pull request is ready and reported; nothing else is open.' },
  },
  takesNote('Noted; the Report stands.'),
]

export const fixFailingTest: Scenario = {
  name: 'fix-failing-test',
  title: 'An issue asks to mend a failing test',
  applies: (view) => concerns(view, REPOSITORY),
  roles: {
    main: routes(REPOSITORY, { title: 'Bring back the last page of the catalogue' }, 'Nothing is left to decide.'),
    executor,
  },
}

export const expected: readonly Expectation[] = [
  ...onePullRequest({
    title: /last page/i,
    base: world.repository.defaultBranch,
    changed: [edit.path],
    evidence: [/before.*1 failed/i, /after.*0 failed/i],
  }),
  fileLike(edit.path, /Math\.ceil\(total \/ perPage\)/),
  acknowledgedThenResult(/`pageCount`.*`node --test`/),
  reportedDone,
]

function branchOf(view: View): string {
  return `switchyard/last-page-${issueIn(view, REPOSITORY)}`
}

function bodyOf(view: View): string {
  return [
    '`pageCount` rounded down, so a last page that is not full was not counted. It rounds up now.',
    '',
    '| `node --test` | result |',
    '|---|---|',
    `| before | ${count(view, 'first')}: "a partly filled last page is counted" |`,
    `| after | ${count(view, 'last')} |`,
    '',
    `Fixes #${issueIn(view, REPOSITORY)}`,
  ].join('\n')
}

/** What the test runner itself counted: evidence is read from its output, not asserted. */
function count(view: View, run: 'first' | 'last'): string {
  const outputs = view.calls
    .filter(({ name, result }) => name === 'shell' && /\bfail \d+\b/.test(result ?? ''))
    .map(({ result }) => result ?? '')
  const output = run === 'first' ? outputs[0] : outputs.at(-1)
  const [passed, failed] = ['pass', 'fail'].map((word) => new RegExp(`\\b${word} (\\d+)\\b`).exec(output ?? '')?.[1])
  if (passed === undefined || failed === undefined) throw new Error('no output of node --test says how many tests passed and failed')
  return `${passed} passed, ${failed} failed`
}
