import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentIdentity, NormalisedTrigger } from '../../core/routing/trigger.ts'
import { normalise } from './normalise.ts'
import { parseExact } from './payload.ts'

type Json = Record<string, unknown>

const agent: AgentIdentity = {
  source: 'github',
  kind: 'app',
  id: '900',
  login: 'switchyard[bot]',
  slug: 'switchyard',
  appId: '77',
  noReplyEmail: '900+switchyard[bot]@users.noreply.github.com',
}
const self = { id: 900, login: 'switchyard[bot]', type: 'Bot' }
const mia = { id: 5, login: 'mia', type: 'User' }
const noah = { id: 6, login: 'noah', type: 'User' }
const sha = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821'
const other = 'f95f852bd8fca8fcc58a9a2d6c842781e32a215e'
const zeros = '0'.repeat(40)
const opened = '2026-11-30T10:00:00Z'
const later = '2026-11-30T10:05:00Z'
const repository = { id: 9001, full_name: 'acme/shop', private: false, default_branch: 'main', html_url: 'https://github.com/acme/shop' }
const issue = {
  id: 70,
  number: 7,
  title: 'Cart total is wrong',
  body: 'Rounding.',
  user: mia,
  assignees: [] as Json[],
  html_url: 'https://github.com/acme/shop/issues/7',
  created_at: opened,
  updated_at: opened,
}
const pullRequest = {
  ...issue,
  id: 80,
  number: 8,
  html_url: 'https://github.com/acme/shop/pull/8',
  requested_reviewers: [] as Json[],
  head: { ref: 'fix', sha, repo: { id: 9001 } },
  base: { ref: 'main', sha: other, repo: { id: 9001 } },
}
const comment = {
  id: 55,
  body: 'hello',
  user: mia,
  html_url: 'https://github.com/acme/shop/issues/7#issuecomment-55',
  created_at: later,
  updated_at: later,
}
const base = { repository, sender: mia }

function one(event: string, payload: unknown): NormalisedTrigger {
  const result = normalise(event, payload, agent)
  if (!('triggers' in result)) throw new Error(`ignored: ${result.ignored}`)
  expect(result.triggers).toHaveLength(1)
  return result.triggers[0]!
}
const reason = (event: string, payload: unknown) => {
  const result = normalise(event, payload, agent)
  return 'ignored' in result ? result.ignored : 'not ignored'
}

const issues = (action: string, changed: Json = {}, rest: Json = {}) => ({ ...base, action, issue: { ...issue, ...changed }, ...rest })
const commented = (action: string, changed: Json = {}, rest: Json = {}) => ({
  ...base,
  action,
  issue,
  comment: { ...comment, ...changed },
  ...rest,
})
const pulls = (action: string, changed: Json = {}, rest: Json = {}) => ({
  ...base,
  action,
  pull_request: { ...pullRequest, ...changed },
  ...rest,
})
const reviewed = (action: string, changed: Json, rest: Json = {}) => ({
  ...base,
  action,
  pull_request: pullRequest,
  review: { id: 30, body: null, user: mia, state: 'commented', commit_id: sha, submitted_at: later, ...changed },
  ...rest,
})
const inline = (action: string, changed: Json = {}, rest: Json = {}) => ({
  ...base,
  action,
  pull_request: pullRequest,
  comment: { ...comment, id: 56, path: 'src/cart.ts', line: 12, commit_id: sha, ...changed },
  ...rest,
})
const checked = (changed: Json = {}, rest: Json = {}) => ({
  ...base,
  action: 'completed',
  check_run: {
    id: 40,
    name: 'unit',
    head_sha: sha,
    status: 'completed',
    conclusion: 'failure',
    completed_at: later,
    output: null,
    app: { id: 15368, slug: 'github-actions' },
    check_suite: { head_branch: 'fix' },
    pull_requests: [{ number: 8, base: { repo: { id: 9001 } } }],
    ...changed,
  },
  ...rest,
})
const pushed = (changed: Json = {}) => ({
  repository: { ...repository, pushed_at: Date.parse(later) / 1000 },
  sender: mia,
  ref: 'refs/heads/fix',
  before: other,
  after: sha,
  forced: false,
  commits: [],
  head_commit: {},
  compare: 'https://github.com/acme/shop/compare/a...b',
  ...changed,
})

describe('messages', () => {
  test('an opened issue is its title and body, below its own number', () => {
    expect(one('issues', issues('opened', { body: 'Rounding.\r\nSee #3 and @switchyard' }))).toEqual({
      key: 'github:issue:70:asked-at-opening',
      kind: 'message',
      event: 'issues.opened',
      object: 'issue:70',
      place: {
        source: 'github',
        key: 'github:9001#7',
        kind: 'issue',
        repository: { id: '9001', fullName: 'acme/shop', private: false, defaultBranch: 'main' },
        number: 7,
        title: 'Cart total is wrong',
        url: 'https://github.com/acme/shop/issues/7',
      },
      author: { source: 'github', id: '5', login: 'mia', kind: 'user', viaApp: null },
      text: 'Cart total is wrong\n\nRounding.\nSee #3 and @switchyard',
      commandText: 'Cart total is wrong\n\nRounding.\nSee #3 and',
      url: 'https://github.com/acme/shop/issues/7',
      happenedAt: '2026-11-30T10:00:00.000Z',
      mentionsAgent: true,
      addressesAgent: true,
      references: [{ kind: 'issue', repository: 'acme/shop', number: 3 }],
      concerns: { pullRequests: [], branches: [], commits: [], reviewThread: null },
      facts: {},
    })
  })

  test.each([
    ['created', '@switchyard  Pause!', 'Pause!'],
    ['created', 'status', 'status'],
    ['edited', '@switchyard pause', ''],
  ])('[N5] a comment that is %s as %j is read for a command as %j', (action, body, commandText) => {
    const changes = action === 'edited' ? { changes: { body: { from: 'before' } } } : {}
    expect(one('issue_comment', commented(action, { body }, changes)).commandText).toBe(commandText)
  })

  test('[F034] an issue without a body that is assigned to the agent is the request', () => {
    const trigger = one('issues', issues('opened', { body: null, assignees: [self] }))
    expect(trigger).toMatchObject({ kind: 'message', text: 'Cart total is wrong', mentionsAgent: false, addressesAgent: true })
  })

  test.each(['issue', 'pull_request'] as const)(
    '[F110] an %s that asks at its opening and the assignment that belongs to it are one request',
    (kind) => {
      const [event, make] = kind === 'issue' ? (['issues', issues] as const) : (['pull_request', pulls] as const)
      const mention = { body: 'please, @switchyard' }
      const first = one(event, make('opened', { ...mention, assignees: [self] }))
      const second = one(event, make('assigned', { ...mention, assignees: [self], updated_at: '2026-11-30T10:00:02Z' }, { assignee: self }))
      expect(second.key).toBe(first.key)
      expect(second.text).toBe(first.text)
      expect(second.object).toBe(first.object)
      expect([first.addressesAgent, second.addressesAgent]).toEqual([true, true])
    },
  )

  test('[F110] an opening that asks nobody does not swallow the assignment that follows at once', () => {
    const first = one('issues', issues('opened'))
    const second = one('issues', issues('assigned', { assignees: [self], updated_at: '2026-11-30T10:00:02Z' }, { assignee: self }))
    expect(first.addressesAgent).toBe(false)
    expect(second.addressesAgent).toBe(true)
    expect(second.key).not.toBe(first.key)
  })

  test('[F110] a review request at the opening of a pull request is one request with it', () => {
    const first = one('pull_request', pulls('opened', { requested_reviewers: [self] }))
    const second = one('pull_request', pulls('review_requested', { requested_reviewers: [self] }, { requested_reviewer: self }))
    expect(second.key).toBe(first.key)
  })

  test('[F114] a later assignment is a message of its own without text, and each one is another', () => {
    const first = one('issues', issues('assigned', { updated_at: later }, { assignee: self }))
    const second = one('issues', issues('assigned', { updated_at: '2026-11-30T10:05:40Z' }, { assignee: self }))
    expect(first).toMatchObject({ kind: 'message', text: '', addressesAgent: true, object: 'issue:70/assignment', author: { id: '5' } })
    expect(second.key).not.toBe(first.key)
    expect(one('issues', issues('unassigned', { updated_at: later }, { assignee: self }))).toMatchObject({
      kind: 'fact',
      facts: { assignee: '900' },
    })
  })

  test('[F149] the author of an assignment is who assigned, never who wrote the issue', () => {
    const bot = { id: 44, login: 'triage[bot]', type: 'Bot' }
    const trigger = one('issues', issues('assigned', { assignees: [self] }, { assignee: self, sender: bot }))
    expect(trigger).toMatchObject({ text: '', author: { id: '44', kind: 'bot' } })
    expect(trigger.key).not.toContain('asked-at-opening')
  })

  test('[F049] a comment that mentions the agent addresses it', () => {
    const trigger = one('issue_comment', commented('created', { body: '@switchyard fix the flaky test' }))
    expect(trigger).toMatchObject({
      key: 'github:issue_comment:55:created:2026-11-30T10:05:00.000Z',
      kind: 'message',
      object: 'issue_comment:55',
      place: { key: 'github:9001#7', kind: 'issue' },
      mentionsAgent: true,
      addressesAgent: true,
    })
  })

  test('[F038] a comment below a pull request belongs to the pull request', () => {
    const payload = { ...commented('created'), issue: { ...issue, number: 8, pull_request: { url: 'x' } } }
    const trigger = one('issue_comment', payload)
    expect(trigger.place).toMatchObject({ key: 'github:9001#8', kind: 'pull_request' })
    expect(trigger.place.key).toBe(one('pull_request', pulls('opened')).place.key)
    expect(trigger.concerns.pullRequests).toEqual([8])
  })

  test('[F055] a renamed repository keeps its places', () => {
    const renamed = { ...commented('created'), repository: { ...repository, full_name: 'acme/store' } }
    expect(one('issue_comment', renamed).place.key).toBe(one('issue_comment', commented('created')).place.key)
  })

  test('[F032] a deleted author is nobody', () => {
    expect(one('issue_comment', commented('created', { user: null })).author).toEqual({
      source: 'github',
      id: null,
      login: 'ghost',
      kind: 'unknown',
      viaApp: null,
    })
  })

  test('[F138] [N2] what was written through an app says so', () => {
    expect(one('issue_comment', commented('created', { performed_via_github_app: { id: 77 } })).author).toMatchObject({
      id: '5',
      viaApp: '77',
    })
  })

  test('[F139] [F137] an account is known by its id, whatever it is called', () => {
    const renamed = { ...self, login: 'switchyard', type: 'User' }
    expect(one('issue_comment', commented('created', { user: renamed })).author.id).toBe(agent.id)
    const pretender = { id: 66, login: 'switchyard[bot]', type: 'User' }
    expect(one('issue_comment', commented('created', { user: pretender })).author).toMatchObject({ id: '66', kind: 'user' })
  })

  test('[F052] an id beyond 2^53 keeps its digits', () => {
    const body = JSON.stringify(commented('created')).replace('"id":55', '"id":9007199254740993')
    expect(one('issue_comment', parseExact(body)).object).toBe('issue_comment:9007199254740993')
  })

  test('[K6] a NUL or half a character in a text does not reach the ledger', () => {
    expect(one('issue_comment', commented('created', { body: 'a\0b\uD800c' })).text).toBe('a\uFFFDb\uFFFDc')
  })

  test('[F047] invisible characters are flagged and the text stays as it is', () => {
    const trigger = one('issue_comment', commented('created', { body: '@switch\u200Byard' }))
    expect(trigger).toMatchObject({ mentionsAgent: false, text: '@switch\u200Byard' })
  })

  test('[M5] a title in Markdown does not hide the body', () => {
    expect(one('issues', issues('opened', { title: '``` broken', body: '@switchyard help' })).mentionsAgent).toBe(true)
  })
})

describe('edits and deletions', () => {
  const edit = (from: string, body: string) => commented('edited', { body }, { changes: { body: { from } } })

  test.each([
    ['[F041] appears', 'fix it', '@switchyard fix it', true, {}],
    ['[F043] goes away', '@switchyard fix it', 'fix it', false, {}],
    ['[F039] stays', '@switchyard fix', '@switchyard fix it', false, { mentionKept: 'true' }],
    ['[F041] comes out of a quotation', '> @switchyard fix it', '@switchyard fix it', true, {}],
  ])('%s: a mention by edit', (_, from, body, mentions, facts) => {
    const trigger = one('issue_comment', edit(from, body))
    expect(trigger).toMatchObject({
      kind: 'message',
      object: 'issue_comment:55',
      text: body,
      mentionsAgent: mentions,
      addressesAgent: mentions,
    })
    expect(trigger.facts).toEqual(facts)
  })

  test.each<[string, unknown]>([
    ['issue_comment', commented('edited', {}, { changes: {} })],
    ['issue_comment', commented('edited')],
    ['issue_comment', edit('same', 'same')],
    ['issues', issues('edited', {}, { changes: {} })],
    ['pull_request', pulls('edited', {}, { changes: {} })],
    ['pull_request_review', reviewed('edited', { body: 'x' }, { changes: {} })],
    ['pull_request_review_comment', inline('edited', {}, { changes: {} })],
  ])('[F042] %s.edited without a change of words is ignored', (event, payload) => {
    expect(reason(event, payload)).toBe(`${event}.edited leaves the text as it was`)
  })

  test('[F041] a title or body of an issue or pull request counts alike', () => {
    const changes = { changes: { body: { from: 'Rounding.' } } }
    expect(one('issues', issues('edited', { body: 'Rounding. @switchyard' }, changes)).mentionsAgent).toBe(true)
    expect(one('pull_request', pulls('edited', { body: 'x @switchyard' }, { changes: { body: { from: null } } })).mentionsAgent).toBe(true)
    expect(one('issues', issues('edited', { body: '@switchyard' }, { changes: { title: { from: 'Old' } } })).facts).toEqual({
      mentionKept: 'true',
    })
  })

  test("[N7] who edited another's words is told, since the weaker authority holds", () => {
    const payload = { ...edit('a', 'b'), sender: noah }
    expect(one('issue_comment', payload)).toMatchObject({
      author: { id: '5' },
      facts: { editor: '6', editorLogin: 'noah', editorKind: 'user' },
    })
    expect(one('issue_comment', { ...edit('a', 'b'), sender: undefined }).facts).toEqual({
      editor: 'unknown',
      editorLogin: 'ghost',
      editorKind: 'unknown',
    })
  })

  test('[F040] a deletion is a fact about the same object, and carries no words', () => {
    const trigger = one('issue_comment', commented('deleted', { body: '@switchyard secret' }, { sender: noah }))
    expect(trigger).toMatchObject({
      kind: 'fact',
      object: 'issue_comment:55',
      text: '',
      addressesAgent: false,
      author: { id: '6' },
      facts: { writtenBy: '5' },
    })
    expect(JSON.stringify(trigger)).not.toContain('secret')
  })

  test('[M6] two edits of a review differ, though GitHub gives it no time of edit', () => {
    const edited = (from: string, body: string) =>
      one('pull_request_review', reviewed('edited', { body }, { changes: { body: { from } } })).key
    expect(edited('a', 'b')).not.toBe(edited('b', 'c'))
    expect(edited('a', 'b')).toBe(edited('a', 'b'))
  })

  test('[M6] a new base branch is a fact', () => {
    const trigger = one('pull_request', pulls('edited', {}, { changes: { base: { ref: { from: 'develop' } } } }))
    expect(trigger).toMatchObject({ kind: 'fact', facts: { baseBefore: 'develop', base: 'main' } })
  })
})

describe('reviews', () => {
  test('[F037] an inline comment is the Trigger and the empty review around it is none', () => {
    expect(reason('pull_request_review', reviewed('submitted', { body: '' }))).toMatch(/without words/)
    expect(reason('pull_request_review', reviewed('submitted', { body: null, state: 'COMMENTED' }))).toMatch(/without words/)
    expect(one('pull_request_review_comment', inline('created'))).toMatchObject({
      kind: 'message',
      place: { key: 'github:9001#8/review:56', kind: 'review_thread', number: 8 },
      concerns: { pullRequests: [8], branches: ['fix'], commits: [sha], reviewThread: 'github:9001#8/review:56' },
      facts: { path: 'src/cart.ts', line: '12', commit: sha },
    })
  })

  test("[M5] a reply and the thread's state stand in the thread of its first comment", () => {
    const reply = one('pull_request_review_comment', inline('created', { id: 57, in_reply_to_id: 56, line: null }))
    const resolved = one('pull_request_review_thread', {
      ...base,
      action: 'resolved',
      pull_request: pullRequest,
      thread: { node_id: 'PRRT_1', comments: [{ id: 57, in_reply_to_id: 56 }, { id: 56 }] },
    })
    expect(reply.place.key).toBe('github:9001#8/review:56')
    expect(resolved).toMatchObject({ kind: 'fact', place: { key: 'github:9001#8/review:56' }, facts: { nodeId: 'PRRT_1' } })
    expect(resolved.concerns.reviewThread).toBe(reply.concerns.reviewThread)
  })

  test.each([
    ['approved', null, 'fact'],
    ['changes_requested', '', 'fact'],
    ['approved', 'nice', 'message'],
    ['commented', 'one thing', 'message'],
  ])('[P5] a review %s with the words %j is a %s', (state, body, kind) => {
    expect(one('pull_request_review', reviewed('submitted', { state, body }))).toMatchObject({ kind, facts: { state } })
  })
})

describe('facts', () => {
  test.each<[string, unknown, Record<string, string>]>([
    ['issues', issues('closed', { state_reason: 'completed' }), { reason: 'completed' }],
    ['issues', issues('labeled', {}, { label: { name: 'area: ui' } }), { label: 'area: ui' }],
    ['issues', issues('assigned', {}, { assignee: noah }), { assignee: '6', assigneeLogin: 'noah' }],
    [
      'pull_request',
      pulls('closed', { merged: true, merge_commit_sha: other }),
      { merged: 'true', mergeCommit: other, head: 'fix', base: 'main' },
    ],
    ['pull_request', pulls('closed', { merged: false, merge_commit_sha: other }), { merged: 'false', head: 'fix', base: 'main' }],
    ['pull_request', pulls('synchronize', {}, { before: other, after: sha }), { before: other, after: sha, head: 'fix', base: 'main' }],
    ['pull_request', pulls('review_requested', {}, { requested_team: { slug: 'core' } }), { team: 'core', head: 'fix', base: 'main' }],
  ])('[F058] [P5] %s: %#', (event, payload, facts) => {
    expect(one(event, payload)).toMatchObject({ kind: 'fact', text: '', facts, addressesAgent: false })
  })

  test('[F058] two labels of one second are two facts', () => {
    const key = (name: string) => one('issues', issues('labeled', {}, { label: { name } })).key
    expect(key('a')).not.toBe(key('b'))
  })

  test("[F054] a transfer is two facts that name each other's place, and no new request", () => {
    const away = issues('transferred', {}, { changes: { new_repository: { id: 9002 }, new_issue: { number: 3 } } })
    const arrived = issues('opened', { body: '@switchyard' }, { changes: { old_repository: { id: 9003 }, old_issue: { number: 4 } } })
    expect(one('issues', away)).toMatchObject({ kind: 'fact', facts: { transferredTo: 'github:9002#3' } })
    expect(one('issues', arrived)).toMatchObject({ kind: 'fact', facts: { transferredFrom: 'github:9003#4' }, addressesAgent: false })
  })

  test('[F035] a finished check is read from its conclusion', () => {
    expect(one('check_run', checked())).toMatchObject({
      key: `github:check_run:40:completed/${sha}/failure:2026-11-30T10:05:00.000Z`,
      kind: 'fact',
      place: { key: 'github:9001#8', kind: 'pull_request', url: 'https://github.com/acme/shop/pull/8' },
      concerns: { pullRequests: [8], branches: ['fix'], commits: [sha] },
      facts: { name: 'unit', conclusion: 'failure', app: 'github-actions', branch: 'fix', sha },
    })
  })

  test("[P1] a check of the agent's own push is not the agent's own word", () => {
    expect(one('check_run', checked({}, { sender: self })).author).toEqual({
      source: 'github',
      id: null,
      login: 'github-actions[bot]',
      kind: 'bot',
      viaApp: '15368',
    })
  })

  test('[F053] a check of a fork is found by its commit alone', () => {
    const forks = checked({ pull_requests: [] })
    expect(one('check_run', forks)).toMatchObject({
      place: { key: 'github:9001', kind: 'repository', number: null },
      concerns: { pullRequests: [], branches: [], commits: [sha] },
    })
    const listed = checked({ pull_requests: [{ number: 8, base: { repo: { id: 4242 } } }] })
    expect(one('check_run', listed).concerns.pullRequests).toEqual([])
  })

  test("[F053] a fork's branch is not taken for the repository's own", () => {
    const trigger = one('pull_request', pulls('synchronize', { head: { ref: 'main', sha, repo: null } }))
    expect(trigger.concerns).toMatchObject({ branches: [], commits: [sha] })
  })

  test('[P5] a push is a fact about its branch', () => {
    expect(one('push', pushed())).toMatchObject({
      key: `github:push:9001/refs/heads/fix:push:${other}..${sha}`,
      event: 'push',
      place: { key: 'github:9001', kind: 'repository' },
      happenedAt: '2026-11-30T10:05:00.000Z',
      concerns: { branches: ['fix'], commits: [sha] },
      facts: { branch: 'fix', before: other, after: sha },
    })
  })

  test('[F033] a deleted branch concerns no commit', () => {
    const trigger = one('push', pushed({ after: zeros, deleted: true, head_commit: null, sender: undefined }))
    expect(trigger).toMatchObject({
      concerns: { branches: ['fix'], commits: [] },
      facts: { branch: 'fix', deleted: 'true' },
      author: { id: null },
    })
    expect(JSON.stringify(trigger)).not.toContain(zeros)
  })
})

describe('what is ignored says why', () => {
  test.each<[string, unknown, RegExp]>([
    ['ping', { zen: 'x', organization: {} }, /^ping only tests the hook$/],
    ['issue_dependencies', base, /^issue_dependencies is not read$/],
    ['__proto__', base, /^__proto__ is not read$/],
    ['constructor', base, /^constructor is not read$/],
    ['issue_comment', commented('pinned'), /^issue_comment\.pinned is not read$/],
    ['pull_request', pulls('stacked'), /^pull_request\.stacked is not read$/],
    ['issues', issues('toString'), /^issues\.toString is not read$/],
    ['check_run', checked({}, { action: 'created' }), /only finished checks/],
    ['installation', { action: 'created', requester: null, installation: {} }, /^installation is not read$/],
    ['issues', { action: 'opened', issue }, /names no repository/],
    ['issues', issues('opened', { number: null }), /no issue or pull request number/],
    ['issues', issues('opened', { id: null }), /which object/],
    ['issue_comment', commented('created', { updated_at: null, created_at: null }), /no time/],
    ['push', pushed({ ref: null }), /neither a branch nor a tag/],
    ['push', pushed({ before: zeros, after: zeros }), /no commit/],
  ])('[F029] [F031] [F036] %s: %#', (event, payload, words) => expect(reason(event, payload)).toMatch(words))
})

test('[M2] [F107] the key is the same over two hooks, since neither hook nor installation is part of it', () => {
  for (const [event, payload] of [
    ['issue_comment', commented('created')],
    ['push', pushed()],
    ['check_run', checked()],
  ] as const) {
    const overApp = { ...payload, installation: { id: 1 }, organization: { id: 2 } }
    expect(one(event, overApp).key).toBe(one(event, payload).key)
  }
})

describe('any object', () => {
  const file = createRequire(import.meta.url).resolve('@octokit/webhooks-examples/api.github.com/index.json')
  const events = JSON.parse(readFileSync(file, 'utf8')) as { name: string; examples: Json[] }[]
  const examples = [...new Map(events.flatMap(({ name, examples }) => examples.map((each) => [JSON.stringify(each), name] as const)))]

  test('[M5] every example payload of GitHub becomes a Trigger or is ignored with a reason', () => {
    expect(examples).toHaveLength(324)
    const results = examples.map(([body, name]) => normalise(name, parseExact(body), agent))
    const triggers = results.flatMap((result) => ('triggers' in result ? result.triggers : []))
    expect(triggers.length).toBeGreaterThan(80)
    for (const trigger of triggers) expectWhole(trigger)
    for (const result of results) if ('ignored' in result) expect(result.ignored).toMatch(/\w/)
  })

  const read = examples.filter(([, name]) => /^(issues|issue_comment|pull_request.*|check_.*|push)$/.test(name))
  const junk = fc.oneof(
    fc.constantFrom(null, '', [], {}, -1, 0, 1e30, '0'.repeat(40), '9999-99-99T', { constructor: 1 }, 'a\0', '\uD800'),
    fc.jsonValue(),
  )

  test('[M5] an example with fields taken out or replaced by anything never throws, and what comes out is whole', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...read),
        fc.array(fc.tuple(fc.nat(), fc.option(junk, { nil: undefined })), { minLength: 1, maxLength: 6 }),
        ([body, name], changes) => {
          const payload = JSON.parse(body) as Json
          for (const [where, value] of changes) mutate(payload, where, value)
          const result = normalise(name, payload, agent)
          if ('triggers' in result) for (const trigger of result.triggers) expectWhole(trigger)
          else expect(result.ignored).not.toBe('')
        },
      ),
      { numRuns: 3_000 },
    )
  }, 60_000)

  test('[M5] any JSON under any event never throws', () => {
    fc.assert(
      fc.property(fc.constantFrom(...new Set(read.map(([, name]) => name))), fc.jsonValue(), (name, payload) => {
        expect(normalise(name, payload, agent)).toHaveProperty('ignored')
      }),
    )
  })
})

/** Changes one of all fields, at whatever depth. */
function mutate(payload: Json, where: number, value: unknown): void {
  const fields: [Json, string][] = []
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const name of Object.keys(value)) {
      fields.push([value as Json, name])
      visit((value as Json)[name])
    }
  }
  visit(payload)
  const field = fields[where % Math.max(fields.length, 1)]
  if (!field) return
  if (value === undefined) delete field[0][field[1]]
  else field[0][field[1]] = structuredClone(value) // one value may come twice, and must not end up inside itself
}

function expectWhole(trigger: NormalisedTrigger): void {
  expect(trigger.key).toMatch(/^github:\w+:/)
  expect(trigger.place.key).toMatch(/^github:\d+(#\d+(\/review:\d+)?)?$/)
  expect(new Date(trigger.happenedAt).toISOString()).toBe(trigger.happenedAt)
  const texts = [trigger.text, trigger.key, trigger.url, trigger.place.title, trigger.author.login, ...Object.values(trigger.facts)]
  for (const text of texts) {
    expect(typeof text).toBe('string')
    expect(text.isWellFormed() && !/[\0\r]/.test(text)).toBe(true)
  }
  for (const commit of trigger.concerns.commits) expect(commit).not.toMatch(/^0+$/)
}
