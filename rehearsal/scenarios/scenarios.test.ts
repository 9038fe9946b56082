import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { card } from '../../core/message/card.ts'
import { findTool, parseInput } from '../../core/tool/parse-input.ts'
import { TOOLS } from '../../core/tool/tools.ts'
import { type Answer, parseRequest } from '../model/protocol.ts'
import { choose } from '../model/script.ts'
import { viewOf } from '../model/view.ts'
import * as first from './fix-failing-test.ts'
import { SCENARIOS } from './scenarios.ts'
import * as second from './second-server.ts'
import { type End, faultsOf, filesOf, type World } from './world.ts'

type Message = Record<string, unknown>
type Results = (call: Call) => Promise<string>

interface Call {
  name: string
  input: Input
}

/** The fields of every tool's input that a test here looks at; a call has those of its own tool. */
interface Input {
  action: string
  body: string
  branch: string
  command: string
  content: string
  decisions: { candidate: number; title: string }[]
  draft?: boolean
  message: number
  new: string
  old: string
  path: string
  pullRequest: number
  status: string
  text: string
  title: string
}

const OFFERED = {
  main: TOOLS.filter((tool) => tool.for.includes('main')),
  executor: TOOLS.filter((tool) => tool.for.includes('executor')),
}
const PULL_REQUEST = 8

/** The product's own card and tool schemas: a script that drifts from them is wrong. */
const cardOf = (world: World, given: { message: number; candidate?: number }) =>
  card({
    message: given.message,
    kind: 'message',
    candidate: given.candidate === undefined ? null : { id: `C-${given.candidate}`, explicit: true, returned: [] },
    standing: given.candidate === undefined ? 'started this Ticket' : null,
    event: 'issues.opened',
    place: `${world.repository.fullName}#7`,
    title: world.issue.title,
    author: { login: world.issue.author, authority: 'member' },
    url: `https://github.example/${world.repository.fullName}/issues/7`,
    happenedAt: '2026-03-04T05:06:07Z',
    facts: {},
    text: `${world.issue.title}\n\n${world.issue.body}`,
    whole: 'the issue',
  })
const executorCard = (world: World) => cardOf(world, { message: 12 })
const user = (content: string): Message => ({ role: 'user', content })

function ask(role: keyof typeof OFFERED, messages: Message[]) {
  const tools = OFFERED[role].map(({ name }) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const parsed = parseRequest({ model: 'scripted', messages, tools })
  if ('fault' in parsed) throw new Error(parsed.fault.message)
  return choose(SCENARIOS, viewOf(parsed.request))
}

/** One turn of the agent loop, with tools that the test answers: until the model ends its turn. */
async function play(role: keyof typeof OFFERED, messages: Message[], results: Results): Promise<{ lines: string[]; calls: Call[] }> {
  const lines: string[] = []
  const made: Call[] = []
  for (;;) {
    const choice = ask(role, messages)
    if ('unexpected' in choice) throw new Error(choice.unexpected)
    lines.push(choice.line)
    if (lines.length > 40) throw new Error(`the turn does not end: ${lines.join(', ')}`)
    const calls = (choice.answer.calls ?? []) as Call[]
    const ids = calls.map((_, index) => `call_${lines.length}_${index}`)
    messages.push(spoken(choice.answer, ids))
    if (calls.length === 0) return { lines, calls: made }
    for (const [index, call] of calls.entries()) {
      made.push(call)
      const found = findTool(call.name, OFFERED[role])
      if ('refused' in found) throw new Error(found.refused)
      expect(parseInput(found.tool, call.input)).toMatchObject({ ok: true })
      messages.push({ role: 'tool', tool_call_id: ids[index], content: await results(call) })
    }
  }
}

function spoken({ text, calls }: Answer, ids: string[]): Message {
  const made = calls?.map(({ name, input }, index) => ({
    id: ids[index],
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return { role: 'assistant', content: text ?? null, ...(made ? { tool_calls: made } : {}) }
}

const canned =
  (world: World): Results =>
  async ({ name, input }) => {
    if (name === 'shell' && input.command === 'node --test') return world === first.world ? 'ℹ pass 4\nℹ fail 1' : 'ℹ pass 5\nℹ fail 0'
    if (name === 'read') return 'return Math.floor(total / perPage)'
    if (name === 'glob') return 'src/mean.js'
    if (name === 'github_pull_request') return `${input.action} ${world.repository.fullName}#${PULL_REQUEST}`
    return 'done'
  }

/** As `canned`, but the tests pass once the edit was made. */
function mended(): Results {
  let edited = false
  return async (call) => {
    if (call.name === 'edit') edited = true
    return call.name === 'shell' && edited ? 'ℹ pass 5\nℹ fail 0' : canned(first.world)(call)
  }
}

describe('the main Session', () => {
  const candidate = (world: World, number: number) => cardOf(world, { candidate: number, message: number + 9 })

  test('[E2] starts a Ticket for each candidate in one call, then ends its turn', async () => {
    const { calls, lines } = await play(
      'main',
      [user(`${candidate(first.world, 3)}\n\n${candidate(first.world, 4)}`)],
      async () => 'C-3: started T-1',
    )
    expect(calls).toEqual([
      {
        name: 'orchestrator_route',
        input: {
          decisions: [3, 4].map((number) => ({ decision: 'start', candidate: number, title: 'Bring back the last page of the catalogue' })),
        },
      },
    ])
    expect(lines).toHaveLength(2)
  })

  test('[E2] two scenarios side by side each route their own, and later candidates too', async () => {
    const messages = [user(`${candidate(first.world, 1)}\n\n${candidate(second.world, 2)}`)]
    const { calls } = await play('main', messages, async () => 'started')
    expect(calls.map(({ input }) => input.decisions.map((decision) => [decision.candidate, decision.title]))).toEqual([
      [[1, 'Bring back the last page of the catalogue']],
      [[2, 'Add a median']],
    ])
    messages.push(user('report: T-1 says done'), user(candidate(second.world, 5)))
    const later = await play('main', messages, async () => 'started')
    expect(later.calls.map(({ input }) => input.decisions[0]?.candidate)).toEqual([5])
  })

  test('[E3] a Report ends the turn without a call', async () => {
    const messages = [user(candidate(first.world, 3))]
    await play('main', messages, async () => 'started')
    messages.push(user('report from T-1: done'))
    expect((await play('main', messages, async () => 'never')).calls).toEqual([])
  })

  test('a card in another form is no silent end of the turn', () => {
    const choice = ask('main', [user(`C-3 (message 12): ${first.world.repository.fullName}#7`)])
    expect(choice).toMatchObject({ unexpected: expect.stringContaining('role main, step 0') })
  })
})

describe.each([
  { name: 'scenario 1', world: first.world, results: mended, todos: 1 },
  { name: 'scenario 2', world: second.world, results: () => canned(second.world), todos: 0 },
])('the Executor of $name', ({ world, results, todos }) => {
  test('[H2] acknowledges before it changes or sends anything, once, and concretely', async () => {
    const { calls } = await play('executor', [user(executorCard(world))], results())
    const names = calls.map((call) => call.name)
    const at = names.indexOf('orchestrator_acknowledge')
    expect(names.filter((name) => name === 'orchestrator_acknowledge')).toHaveLength(1)
    expect(names.slice(0, at).every((name) => ['read', 'glob', 'grep'].includes(name))).toBe(true)
    expect(calls[at]?.input).toMatchObject({ message: 12, text: expect.stringMatching(/`(pageCount|median)`.*pull request/) })
  })

  test('[H7] opens a draft with evidence, makes that one ready, tells it once and reports it', async () => {
    const { calls } = await play('executor', [user(executorCard(world))], results())
    const of = (name: string) => calls.filter((call) => call.name === name).map((call) => call.input)
    const [open, ready] = of('github_pull_request')
    expect(open).toMatchObject({ action: 'open', branch: of('github_push')[0]?.branch, body: expect.stringMatching(/#7/) })
    expect(open?.draft).not.toBe(false)
    expect(ready).toEqual({ action: 'ready', number: PULL_REQUEST })
    expect(of('reply')).toEqual([{ message: 12, purpose: 'result', text: expect.stringContaining(`#${PULL_REQUEST}`) }])
    expect(of('orchestrator_report')).toMatchObject([{ status: 'done', pullRequest: PULL_REQUEST }])
    expect(of('todo_write')).toHaveLength(todos)
  })

  test('a fact after the Report is noted, another request is not guessed at', async () => {
    const messages = [user(executorCard(world))]
    await play('executor', messages, results())
    messages.push(user('fact · pull request merged'))
    expect((await play('executor', messages, results())).calls).toEqual([])
    expect(ask('executor', [...messages, user('@switchyard and now the docs')])).toHaveProperty('unexpected')
  })

  test('a repository that it does not know is unexpected', () => {
    expect(ask('executor', [user('message 12 · acme/other#7')])).toMatchObject({
      unexpected: expect.stringContaining('does not take this conversation for its own'),
    })
  })
})

describe('the Executor of scenario 1 in trouble', () => {
  test('[M4] a call that was cut off at any point is made again, and the end is the same', async () => {
    const whole = await play('executor', [user(executorCard(first.world))], mended())
    for (let cut = 0; cut < whole.calls.length; cut++) {
      const answers = mended()
      let count = -1
      const { calls } = await play('executor', [user(executorCard(first.world))], async (call) => {
        count++
        return count === cut ? 'interrupted: the worker stopped while it ran' : answers(call)
      })
      expect(
        calls
          .filter((_, index) => index !== cut)
          .map((call) => JSON.stringify(call))
          .toSorted(),
      ).toEqual(whole.calls.map((call) => JSON.stringify(call)).toSorted())
    }
  })

  test('a fact in the middle of the turn does not lose the thread', async () => {
    const messages = [user(executorCard(first.world))]
    await play('executor', messages, mended())
    const middle = messages.findIndex((message) => JSON.stringify(message).includes('"github_push')) + 2
    const again = [...messages.slice(0, middle), user('fact · a label was set'), ...messages.slice(middle)]
    const expected = ask('executor', messages.slice(0, middle))
    expect(ask('executor', again.slice(0, middle + 1))).toEqual(expected)
    expect(expected).toMatchObject({ line: 'opens a pull request with evidence' })
  })

  test('a refused pull request is not passed over', async () => {
    const answers = mended()
    const refusing: Results = async (call) => (call.name === 'github_pull_request' ? 'refused: the branch has no commits' : answers(call))
    await expect(play('executor', [user(executorCard(first.world))], refusing)).rejects.toThrow(
      /"makes it ready": matches, but .* named no pull request/,
    )
  })

  test('tests that still fail after the edit are not committed', async () => {
    await expect(play('executor', [user(executorCard(first.world))], canned(first.world))).rejects.toThrow(
      /"commits when they pass": the conversation lacks/,
    )
  })
})

describe.each([
  {
    name: 'scenario 1',
    scenario: first.fixFailingTest,
    world: first.world,
    expected: first.expected,
    before: /\bfail 1\b/,
    path: 'src/pages.js',
  },
  {
    name: 'scenario 2',
    scenario: second.secondServer,
    world: second.world,
    expected: second.expected,
    before: /\bfail 0\b/,
    path: 'src/median.js',
  },
])('$name in a real folder', ({ world, expected, before, path }) => {
  let folder: string
  let made: (Call & { text: string })[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scenario '))
    for (const [name, text] of Object.entries(await filesOf(world.repository.files))) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    await run(
      'git init -q -b main && git config user.name a && git config user.email a@example.invalid && git add -A && git commit -q -m first',
    )
    made = []
    const other = canned(world)
    await play('executor', [user(executorCard(world))], async (call) => {
      const text = (await inFolder(call)) ?? (await other(call))
      made.push({ ...call, text })
      return text
    })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('the tests fail before where they should, and pass after, and the work is committed', async () => {
    const runs = made.filter(({ name, input }) => name === 'shell' && input.command === 'node --test').map(({ text }) => text)
    expect(runs[0]).toMatch(before)
    expect(runs.at(-1)).toMatch(/\bfail 0\b/)
    expect(await run('node --test')).toMatch(/\bfail 0\b/)
    expect(await run('git status --porcelain')).toBe('')
    expect(await run('git log --format=%s')).toMatch(/last page|median/)
  })

  test('[H7] what was done meets what is expected, and each expectation can fail', async () => {
    const end = await endOf()
    expect(faultsOf(expected, end)).toEqual([])

    const [pull] = end.pullRequests
    if (!pull) throw new Error('no pull request')
    const wrong: [string, End][] = [
      ['one pull request', { ...end, pullRequests: [] }],
      ['one pull request', { ...end, pullRequests: [pull, pull] }],
      ['written by', { ...end, pullRequests: [{ ...pull, author: 'mara' }] }],
      ['open and ready', { ...end, pullRequests: [{ ...pull, draft: true }] }],
      ['open and ready', { ...end, pullRequests: [{ ...pull, state: 'closed' }] }],
      ['default branch', { ...end, pullRequests: [{ ...pull, base: 'next' }] }],
      ['title', { ...end, pullRequests: [{ ...pull, title: 'Update' }] }],
      ['names the issue', { ...end, pullRequests: [{ ...pull, body: pull.body.replace('#7', '#71') }] }],
      ['evidence', { ...end, pullRequests: [{ ...pull, body: 'Fixes #7' }] }],
      ['changes what it should', { ...end, pullRequests: [{ ...pull, changed: [...pull.changed, 'package.json'] }] }],
      ['is like', { ...end, pullRequests: [{ ...pull, files: { ...pull.files, [path]: '' } }] }],
      ['is like', { ...end, pullRequests: [{ ...pull, files: {} }] }],
      ['acknowledges', { ...end, issue: { ...end.issue, comments: end.issue.comments.slice(2) } }],
      ['acknowledges', { ...end, issue: { ...end.issue, comments: [...end.issue.comments, ...end.issue.comments] } }],
      ['acknowledges', { ...end, issue: { ...end.issue, comments: end.issue.comments.toReversed() } }],
      ['reported', { ...end, reports: [] }],
      ['reported', { ...end, reports: [{ status: 'draft', pullRequest: PULL_REQUEST }] }],
      ['reported', { ...end, reports: [{ status: 'done', pullRequest: null }] }],
    ]
    for (const [name, changed] of wrong) expect(faultsOf(expected, changed).join('\n'), name).toContain(name)
  })

  async function endOf(): Promise<End> {
    const input = (name: string) => made.filter((call) => call.name === name).map((call) => call.input)
    const [open] = input('github_pull_request')
    const [report] = input('orchestrator_report')
    if (!open || !report) throw new Error('the Executor opened no pull request or made no Report')
    const changed = (await run('git diff --name-only HEAD~1')).trim().split('\n')
    const files = await Promise.all(changed.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const))
    return {
      agent: 'switchyard[bot]',
      issue: {
        number: 7,
        comments: [
          { author: 'mara', body: 'any news?' },
          { author: 'switchyard[bot]', body: `Opening.\n\n${input('orchestrator_acknowledge')[0]?.text}` },
          { author: 'switchyard[bot]', body: `Opening.\n\n${input('reply')[0]?.text}` },
        ],
      },
      pullRequests: [
        {
          number: PULL_REQUEST,
          author: 'switchyard[bot]',
          title: open.title,
          body: open.body,
          base: 'main',
          state: 'open',
          draft: !input('github_pull_request').some(({ action }) => action === 'ready'),
          files: Object.fromEntries(files),
          changed,
        },
      ],
      reports: [{ status: report.status, pullRequest: report.pullRequest }],
    }
  }

  /** The tools that need a folder, at their plainest. */
  async function inFolder({ name, input }: Call): Promise<string | null> {
    if (name === 'shell') return run(input.command)
    if (name === 'read') return readFile(join(folder, input.path), 'utf8')
    if (name === 'write') {
      await writeFile(join(folder, input.path), input.content)
      return 'written'
    }
    if (name !== 'edit') return null
    const text = await readFile(join(folder, input.path), 'utf8')
    expect(text.split(input.old)).toHaveLength(2)
    await writeFile(join(folder, input.path), text.replace(input.old, input.new))
    return 'edited'
  }

  /** Output of a command, whatever its exit code: a failing test is what the script wants to see. */
  function run(command: string): Promise<string> {
    return new Promise((resolve) => {
      execFile('bash', ['-c', command], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } }, (_, stdout, stderr) =>
        resolve(stdout + stderr),
      )
    })
  }
})

test('scenario names are unique, and each has lines for main and the Executor', () => {
  const names = SCENARIOS.map((scenario) => scenario.name)
  expect(new Set(names).size).toBe(names.length)
  for (const { roles } of SCENARIOS)
    expect([roles.main?.length, roles.executor?.length].every((count) => count !== undefined && count > 1)).toBe(true)
})
