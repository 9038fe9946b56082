import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { markerLine } from '../../core/message/marker.ts'
import { createGithubClient, type GithubSettings } from './client.ts'
import { endpointsOf } from './endpoints.ts'
import { classify, GithubError, type GithubFailure } from './failure.ts'

const now = new Date('2026-11-30T12:00:00Z')
const inAnHour = new Date(now.getTime() + 3_600_000).toISOString()
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

interface Seen {
  request: string
  authorization: string
  body: unknown
}
type Answer = [status: number, body?: unknown, headers?: Record<string, string>] | 'reset'
type Serve = (request: string, nth: number) => Answer

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A small server that answers by table and remembers what it was asked. */
async function github(serve: Serve, settings: Partial<GithubSettings> = {}, clock = () => now) {
  const seen: Seen[] = []
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const name = `${request.method} ${request.url?.replace(/^\/api\/v3/, '')}`
    const text = Buffer.concat(await request.toArray()).toString()
    seen.push({ request: name, authorization: request.headers.authorization ?? '', body: text === '' ? null : JSON.parse(text) })
    const answer = serve(name, seen.filter((each) => each.request === name).length)
    if (answer === 'reset') return request.socket.destroy()
    const [status, body, headers] = answer
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    return response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createGithubClient(
    { apiUrl: `${root}/api/v3`, account: { kind: 'token', token: 'plain-secret-token' }, ...settings },
    { now: clock },
  )
  return { client, seen, root, count: (request: string) => seen.filter((each) => each.request === request).length }
}

const asApp: Partial<GithubSettings> = { account: { kind: 'app', appId: '77', privateKey } }
const failureOf = async (work: Promise<unknown>): Promise<GithubFailure> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof GithubError) return error.failure
  throw error ?? new Error('nothing failed')
}

const comment = {
  id: 55,
  html_url: 'https://x/1',
  body: 'hi',
  user: { id: 9 },
  created_at: '2026-11-30T11:00:00Z',
  updated_at: '2026-11-30T11:00:00Z',
}
const commentPath = 'POST /repos/acme/shop/issues/7/comments'
const pull = {
  number: 91,
  node_id: 'PR_1',
  state: 'open',
  title: 't',
  body: null,
  head: { ref: 'fix', sha: 'a'.repeat(40) },
  base: { ref: 'main' },
}

describe('one request per call', () => {
  test.each<[string, Answer, GithubFailure['kind']]>([
    ['[F128] 502', [502, { message: 'bad gateway' }], 'unknown-outcome'],
    ['[F128] 502 with a page in HTML', [502, '<html>', { 'content-type': 'text/html' }], 'unknown-outcome'],
    ['[F132] a connection that breaks', 'reset', 'unknown-outcome'],
    ['[M4] 201 with an empty answer', [201, ''], 'unknown-outcome'],
    ['[M4] 201 with JSON that is cut off', [201, '{"id":5'], 'unknown-outcome'],
    ['[F132] a refused token', [401, { message: 'Bad credentials' }], 'unauthorised'],
    ['[F132] a secondary limit', [403, { message: 'You have exceeded a secondary rate limit' }, { 'retry-after': '60' }], 'rate-limited'],
    ['[F132] too many requests', [429, {}], 'rate-limited'],
    ['[F056] no permission', [403, { message: 'Resource not accessible by integration' }], 'forbidden'],
    ['[H2] a locked issue', [403, { message: 'Unable to create comment because issue is locked.' }], 'locked'],
    ['[F130] 422', [422, { message: 'Validation Failed' }], 'invalid'],
    ['[F056] 404', [404, { message: 'Not Found' }], 'not-found'],
    ['[H2] a deleted issue', [410, { message: 'This issue was deleted' }], 'gone'],
  ])('%s: a comment is tried once', async (_, answer, kind) => {
    const { client, count } = await github(() => answer)
    expect((await failureOf(client.createComment('acme/shop', 7, 'hello'))).kind).toBe(kind)
    expect(count(commentPath)).toBe(1)
  })

  test('[F132] a 401 right after the token was made is not repeated either, and the next call asks for a new token', async () => {
    const { client, count } = await github((request, nth) => {
      if (request === 'GET /repos/acme/shop/installation') return [200, { id: 5001 }]
      if (request.endsWith('/access_tokens')) return [201, { token: `ghs_${nth}`, expires_at: inAnHour, permissions: {} }]
      return nth === 1 ? [401, { message: 'Bad credentials' }] : [201, comment]
    }, asApp)
    expect((await failureOf(client.createComment('acme/shop', 7, 'hello'))).kind).toBe('unauthorised')
    expect(count(commentPath)).toBe(1)
    expect((await client.createComment('acme/shop', 7, 'hello')).id).toBe('55')
    expect(count('POST /app/installations/5001/access_tokens')).toBe(2)
  })

  test('[F055] a write on a renamed repository is sent again as it was, and not as a GET', async () => {
    const { client, seen } = await github((request) =>
      request === commentPath ? [301, {}, { location: '/api/v3/repositories/9/issues/7/comments' }] : [201, comment],
    )
    await client.createComment('acme/shop', 7, 'hello')
    expect(seen.map(({ request, body }) => ({ request, body }))).toEqual([
      { request: commentPath, body: { body: 'hello' } },
      { request: 'POST /repositories/9/issues/7/comments', body: { body: 'hello' } },
    ])
  })

  test('[M8] a write is not sent to another host', async () => {
    const { client, seen } = await github(() => [307, {}, { location: 'http://127.0.0.1:1/x' }])
    expect((await failureOf(client.createComment('acme/shop', 7, 'hello'))).kind).toBe('not-found')
    expect(seen).toHaveLength(1)
  })
})

describe('failures', () => {
  const asked = { request: 'POST /x', write: true, now }
  const answered = (status: number, headers: Record<string, string>, message = 'no') =>
    Object.assign(new Error(message), { response: { status, headers, data: { message } } })

  test.each([
    ['retry-after', { 'retry-after': '90' }, '2026-11-30T12:01:30.000Z'],
    [
      'the reset of the primary limit',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now.getTime() / 1000 + 600) },
      '2026-11-30T12:10:00.000Z',
    ],
    ['a minute without either', {}, '2026-11-30T12:01:00.000Z'],
  ])('[O2] a rate limit is waited out by %s', (_, headers, at) => {
    const failure = classify(answered(403, headers, 'API rate limit exceeded'), asked)
    expect(failure.kind === 'rate-limited' && failure.retryAt.toISOString()).toBe(at)
  })

  test.each([500, 502, 503, 504])('[F129] %i is unknown for a write and only a bad server for a read', (status) => {
    expect(classify(answered(status, {}), asked).kind).toBe('unknown-outcome')
    expect(classify(answered(status, {}), { ...asked, write: false }).kind).toBe('server')
  })

  test('[M4] what is no answer at all is unknown for a write', () => {
    for (const error of [new TypeError('fetch failed'), 'x', null, undefined, { response: undefined }]) {
      expect(classify(error, asked).kind).toBe('unknown-outcome')
    }
  })

  test('[M8] no message holds a token', async () => {
    const { client } = await github(() => [422, { message: 'plain-secret-token and ghs_abc123 and eyJh.eyJi.sig' }])
    const { message } = await failureOf(client.createComment('acme/shop', 7, 'x'))
    expect(message).toContain('[secret]')
    expect(message).not.toMatch(/plain-secret-token|ghs_abc123|eyJh/)
  })

  test('[M8] a key that cannot sign is told without the key', async () => {
    const { client, seen } = await github(() => [200], { account: { kind: 'app', appId: '77', privateKey: 'not-a-key-but-secret' } })
    const failure = await failureOf(client.whoAmI())
    expect(failure.kind).toBe('unauthorised')
    expect(failure.message).not.toContain('not-a-key-but-secret')
    expect(seen).toEqual([])
  })
})

describe('identity and tokens', () => {
  test("[G7] an app is its bot account, whose id is not the app's", async () => {
    const { client, seen } = await github((request) => {
      if (request === 'GET /app') return [200, { id: 77, slug: 'switchyard' }]
      if (request.startsWith('GET /app/installations')) return [200, [{ id: 5002 }]]
      if (request.endsWith('/access_tokens')) return [201, { token: 'ghs_x', expires_at: inAnHour, permissions: {} }]
      return [200, { id: 900 }]
    }, asApp)
    expect(await client.whoAmI()).toEqual({
      source: 'github',
      kind: 'app',
      id: '900',
      login: 'switchyard[bot]',
      slug: 'switchyard',
      appId: '77',
      noReplyEmail: '900+switchyard[bot]@users.noreply.127.0.0.1',
    })
    expect(seen.at(-1)).toMatchObject({ request: 'GET /users/switchyard%5Bbot%5D', authorization: 'Bearer ghs_x' })
  })

  test('[G7] a token is its user; without an id nothing is assumed', async () => {
    const { client } = await github(() => [200, { id: 12, login: 'helper' }])
    expect(await client.whoAmI()).toMatchObject({ kind: 'user', id: '12', login: 'helper', slug: 'helper', appId: null })
    const nobody = await github(() => [200, {}])
    expect((await failureOf(nobody.client.whoAmI())).kind).toBe('server')
  })

  test('[M8] an installation is looked up once and its token kept while it lives long enough', async () => {
    let time = now.getTime()
    const { client, count } = await github(
      (request) => {
        if (request === 'GET /repos/acme/shop/installation') return [200, { id: 5003 }]
        if (request.endsWith('/access_tokens'))
          return [201, { token: 'ghs_y', expires_at: new Date(time + 3_600_000).toISOString(), permissions: {} }]
        return [200, { permission: 'write', role_name: 'maintain' }]
      },
      asApp,
      () => new Date(time),
    )
    expect(await client.permission('acme/shop', 'mia')).toBe('maintain')
    expect(await client.permission('Acme/Shop', 'mia')).toBe('maintain')
    expect(count('GET /repos/acme/shop/installation')).toBe(1)
    expect(count('POST /app/installations/5003/access_tokens')).toBe(1)
    time += 3_595_000
    await client.gitAuth('acme/shop')
    expect(count('POST /app/installations/5003/access_tokens')).toBe(2)
  })

  test('[M8] git gets the token in a header and not in the address', async () => {
    const { client, root } = await github(() => [200])
    const { url, header } = await client.gitAuth('acme/shop')
    expect(url).toBe(`${root}/acme/shop.git`)
    expect(header).toBe(`Authorization: Basic ${Buffer.from('x-access-token:plain-secret-token').toString('base64')}`)
  })

  test.each<[string, Answer, string]>([
    ['[F142] a role by name', [200, { permission: 'write', role_name: 'write' }], 'write'],
    ["[Q1] a role of the organisation's own by its base", [200, { permission: 'read', role_name: 'release-captain' }], 'read'],
    ['[Q1] a bot', [404, { message: 'dependabot[bot] is not a user' }], 'none'],
  ])('%s', async (_, answer, permission) => {
    const { client } = await github(() => answer)
    expect(await client.permission('acme/shop', 'someone')).toBe(permission)
  })

  test.each<[string, Answer, GithubFailure['kind']]>([
    ['[Q1] a repository that cannot be seen makes nobody an outsider', [404, { message: 'Not Found' }], 'not-found'],
    ['[Q1] nor does an outage', [503, {}], 'server'],
    ['[Q1] nor an answer without a permission', [200, {}], 'server'],
  ])('%s', async (_, answer, kind) => {
    const { client } = await github(() => answer)
    expect((await failureOf(client.permission('acme/shop', 'someone'))).kind).toBe(kind)
  })
})

describe('comments and pull requests', () => {
  const key = 'ticket-1/report/done'
  const marker = markerLine(key)

  test('[F141] a comment is found by its marker only if the agent wrote it and its own marker stands last', async () => {
    const copied = { ...comment, id: 1, body: `x\n${marker}`, user: { id: 8 } }
    const ghost = { ...copied, id: 2, user: null }
    const quoted = { ...comment, id: 3, body: `> ${marker}` }
    const own = { ...comment, id: 4, body: `hello\r\n\r\n${marker}` }
    const older = { ...comment, id: 5, body: `as I wrote:\n${marker}\n${markerLine('ticket-1/report/blocked')}` }
    const search = { number: 7, key, authorId: '9', since: now }
    const { client } = await github(() => [200, [copied, ghost, quoted, older, own]])
    expect((await client.findCommentByMarker('acme/shop', search))?.id).toBe('4')
    const others = await github(() => [200, [copied, ghost, quoted, older]])
    expect(await others.client.findCommentByMarker('acme/shop', search)).toBeNull()
  })

  test('[M4] a reply is looked for in its own review thread', async () => {
    const reply = { ...comment, body: marker, in_reply_to_id: 30 }
    const { client, seen } = await github(() => [
      200,
      [
        { ...reply, id: 1, in_reply_to_id: 31 },
        { ...reply, id: 2 },
      ],
    ])
    const found = await client.findCommentByMarker('acme/shop', { number: 91, reviewComment: '30', key, authorId: '9', since: now })
    expect(found?.id).toBe('2')
    expect(seen[0]?.request).toContain('GET /repos/acme/shop/pulls/91/comments?since=2026-11-30T12%3A00%3A00.000Z')
  })

  test('[M3] a list is read to its last page', async () => {
    const own = { ...comment, id: 4, body: marker }
    const { client } = await github((request) => [200, request.endsWith('page=1') ? Array(100).fill(comment) : [own]])
    expect((await client.findCommentByMarker('acme/shop', { number: 7, key, authorId: '9', since: now }))?.id).toBe('4')
  })

  test('[F052] a comment id beyond 2^53 is kept exactly', async () => {
    const { client } = await github(() => [201, '{"id":9007199254740993}'])
    expect((await client.createComment('acme/shop', 7, 'x')).id).toBe('9007199254740993')
  })

  test('[F130] the open pull request of a branch is found, and a list that was not filtered is', async () => {
    const { client } = await github(() => [
      200,
      [{ ...pull, number: 93, head: { ref: 'other' } }, { ...pull, number: 92, state: 'closed', merged_at: null }, pull],
    ])
    expect(await client.findPullRequest('acme/shop', 'fix')).toMatchObject({ number: 91, state: 'open', merged: false })
    expect(await client.findPullRequest('acme/shop', 'none')).toBeNull()
  })

  test('[M4] pull requests are opened, changed and closed with just what was given', async () => {
    const { client, seen } = await github(() => [200, { ...pull, id: 5 }])
    await client.createPullRequest('acme/shop', { head: 'fix', base: 'main', title: 't', body: 'b', draft: true })
    await client.updatePullRequest('acme/shop', 91, { body: 'c' })
    await client.closePullRequest('acme/shop', 91)
    await client.replyInReviewThread('acme/shop', 91, '30', 'done')
    expect(seen.map(({ request, body }) => [request, body])).toEqual([
      ['POST /repos/acme/shop/pulls', { head: 'fix', base: 'main', title: 't', body: 'b', draft: true }],
      ['PATCH /repos/acme/shop/pulls/91', { body: 'c' }],
      ['PATCH /repos/acme/shop/pulls/91', { state: 'closed' }],
      ['POST /repos/acme/shop/pulls/91/comments/30/replies', { body: 'done' }],
    ])
  })

  test('[F299] a branch is asked for by its exact name', async () => {
    const sha = 'b'.repeat(40)
    const { client, seen } = await github(() => [200, { ref: 'refs/heads/team/fix#12', object: { sha } }])
    expect(await client.getRef('acme/shop', 'team/fix#12')).toBe(sha)
    expect(seen[0]?.request).toBe('GET /repos/acme/shop/git/ref/heads/team/fix%2312')
    expect(await client.getRef('acme/shop', 'team/fix')).toBeNull()
  })

  test('[M4] draft and ready go by GraphQL, whose errors come with 200', async () => {
    const { client, seen } = await github(() => [200, { data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } } }])
    await client.markReady('acme/shop', 'PR_1')
    expect(seen[0]).toMatchObject({ request: 'POST /api/graphql', body: { variables: { id: 'PR_1' } } })
    const refused = await github(() => [
      200,
      { data: null, errors: [{ type: 'FORBIDDEN', message: 'Resource not accessible by integration' }] },
    ])
    expect((await failureOf(refused.client.convertToDraft('acme/shop', 'PR_1'))).kind).toBe('forbidden')
    const empty = await github(() => [200, ''])
    expect((await failureOf(empty.client.convertToDraft('acme/shop', 'PR_1'))).kind).toBe('unknown-outcome')
  })
})

test.each([
  ['https://api.github.com', 'https://api.github.com/graphql', 'https://github.com', 'users.noreply.github.com'],
  [
    'https://git.acme.example/api/v3/',
    'https://git.acme.example/api/graphql',
    'https://git.acme.example',
    'users.noreply.git.acme.example',
  ],
  ['https://api.acme.ghe.com', 'https://api.acme.ghe.com/graphql', 'https://acme.ghe.com', 'users.noreply.acme.ghe.com'],
  ['http://127.0.0.1:9/api/v3', 'http://127.0.0.1:9/api/graphql', 'http://127.0.0.1:9', 'users.noreply.127.0.0.1'],
])('the addresses of %s follow', (apiUrl, graphql, git, noReplyHost) => {
  expect(endpointsOf({ apiUrl })).toMatchObject({ graphql, git, noReplyHost })
})

test('addresses that do not follow are asked for by name', () => {
  expect(endpointsOf({ apiUrl: 'http://127.0.0.1:9' })).toEqual({ problem: expect.stringContaining('GITHUB_GRAPHQL_URL') })
  expect(endpointsOf({ apiUrl: 'http://127.0.0.1:9', graphqlUrl: 'http://127.0.0.1:9/g' })).toEqual({
    problem: expect.stringContaining('GITHUB_GIT_URL'),
  })
  expect(endpointsOf({ apiUrl: 'github.com' })).toEqual({ problem: expect.stringContaining('github.com') })
  expect(() => createGithubClient({ apiUrl: 'x', account: { kind: 'token', token: 't' } }, { now: () => now })).toThrow(/no http address/)
})
