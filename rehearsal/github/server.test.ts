/** The server as a whole: tokens, GraphQL, what it does not serve, and its memory. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { moveRef, resolve } from './git.ts'
import { listen } from './receiver.ts'
import { startGithub } from './server.ts'
import { type Stage, setStage } from './stage.ts'

const SHOP = '/repos/acme/shop'
const at = { repository: 'acme/shop', as: 'mona' }
let stage: Stage

beforeEach(async () => {
  stage = await setStage()
})
afterEach(() => stage.end())

test.each<[string, Record<string, unknown>, RegExp]>([
  ['expired', { exp: 1 }, /'exp'/],
  ['living too long', { exp: Math.floor(Date.now() / 1000) + 3600 }, /too far in the future/],
  ['from the future', { iat: Math.floor(Date.now() / 1000) + 600 }, /'iat'/],
  ['of another App', { iss: 1 }, /'iss'/],
])('an App’s token that is %s is refused', async (_, claims, words) => {
  const reply = await stage.as(stage.appToken(claims))('GET', '/app')
  expect(reply.status).toBe(401)
  expect(reply.body.message).toMatch(words)
})

test('an App’s token is refused when another key signed it, and taken by client id', async () => {
  const [head, claims] = stage.appToken().split('.')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const forged = sign('RSA-SHA256', Buffer.from(`${head}.${claims}`), privateKey).toString('base64url')
  expect((await stage.as(`${head}.${claims}.${forged}`)('GET', '/app')).status).toBe(401)
  expect((await stage.as(stage.appToken({ iss: stage.app.clientId }))('GET', '/app')).status).toBe(200)
})

test('an installation’s token ends after its hour', async () => {
  const token = await stage.installationToken()
  expect((await stage.as(token)('GET', SHOP)).status).toBe(200)
  stage.github.operator.state().tokens.find((row) => row.token === token)!.installation!.expiresAt = new Date(
    Date.now() - 1000,
  ).toISOString()
  expect((await stage.as(token)('GET', SHOP)).body.message).toBe('Bad credentials')
})

async function ask(token: string | null, query: string, variables: Record<string, unknown> = {}) {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `token ${token}` } : {}) }
  const reply = await fetch(stage.github.graphqlUrl, { method: 'POST', headers, body: JSON.stringify({ query, variables }) })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever a query asks for
  return { status: reply.status, body: (await reply.json()) as any }
}

async function openReviewed() {
  const { operator } = stage.github
  await operator.push({ ...at, branch: 'fix', message: 'Fix', files: { 'src/cart.js': 'one\n' } })
  const pull = await operator.openPull({ ...at, title: 'Fix', head: 'fix' })
  await operator.review({
    ...at,
    as: 'hubot-human',
    number: pull.number,
    state: 'COMMENTED',
    comments: [{ path: 'src/cart.js', line: 1, body: 'why?' }],
  })
  return pull
}

const THREADS = `query ($number: Int!) { repository(owner: "acme", name: "shop") { pullRequest(number: $number) { id isDraft headRefOid mergeStateStatus author { login }
  reviewThreads(first: 10) { totalCount pageInfo { hasNextPage endCursor } nodes { id isResolved isOutdated path line comments(first: 5) { nodes { databaseId body author { login } } } } } } } }`

test('[F297] GraphQL answers 200 with errors: an unknown field, a missing boundary, a missing pull request', async () => {
  const token = stage.token('mona')
  expect((await ask(null, '{ viewer { login } }')).status).toBe(401)
  expect(await ask(token, '{ viewer { login shoeSize } }')).toMatchObject({
    status: 200,
    body: { errors: [{ message: expect.stringContaining('shoeSize') }] },
  })
  expect((await ask(token, 'query {')).body.errors[0].message).toContain('Syntax Error')
  const missing = await ask(token, THREADS, { number: 99 })
  expect(missing).toMatchObject({
    status: 200,
    body: { data: { repository: { pullRequest: null } }, errors: [{ type: 'NOT_FOUND', path: ['repository', 'pullRequest'] }] },
  })
  const pull = await openReviewed()
  const boundless = await ask(
    token,
    `{ repository(owner: "acme", name: "shop") { pullRequest(number: ${pull.number}) { reviewThreads { totalCount } } } }`,
  )
  expect(boundless.body.errors[0].type).toBe('MISSING_PAGINATION_BOUNDARIES')
})

test('[F137] review threads are read, answered and resolved by GraphQL, where a bot’s login has no `[bot]`; a draft is made ready', async () => {
  const pull = await openReviewed()
  const token = await stage.installationToken()
  const { body } = await ask(token, THREADS, { number: pull.number })
  const shown = body.data.repository.pullRequest
  expect(shown).toMatchObject({ isDraft: false, headRefOid: pull.headSha, mergeStateStatus: 'CLEAN', author: { login: 'mona' } })
  const [thread] = shown.reviewThreads.nodes
  expect(thread).toMatchObject({
    isResolved: false,
    path: 'src/cart.js',
    line: 1,
    comments: { nodes: [{ body: 'why?', author: { login: 'hubot-human' } }] },
  })

  const reply =
    'mutation ($id: ID!) { addPullRequestReviewThreadReply(input: { pullRequestReviewThreadId: $id, body: "because" }) { comment { databaseId author { __typename login } replyTo { body } } } }'
  expect((await ask(token, reply, { id: thread.id })).body.data.addPullRequestReviewThreadReply.comment).toMatchObject({
    author: { __typename: 'Bot', login: 'switchyard' },
    replyTo: { body: 'why?' },
  })
  const resolve = 'mutation ($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { isResolved resolvedBy { login } } } }'
  const narrow = await stage.installationToken({ permissions: { pull_requests: 'write', contents: 'read' } })
  expect((await ask(narrow, resolve, { id: thread.id })).body.errors[0]).toMatchObject({
    type: 'FORBIDDEN',
    message: 'Resource not accessible by integration',
  })
  expect((await ask(token, resolve, { id: thread.id })).body.data.resolveReviewThread.thread.isResolved).toBe(true)
  const unresolve = 'mutation ($id: ID!) { unresolveReviewThread(input: { threadId: $id }) { thread { isResolved } } }'
  expect((await ask(stage.token('stranger'), unresolve, { id: thread.id })).body.errors[0].type).toBe('FORBIDDEN')
  expect((await ask(token, unresolve, { id: thread.id })).body.data.unresolveReviewThread.thread.isResolved).toBe(false)

  const toDraft = 'mutation ($id: ID!) { convertPullRequestToDraft(input: { pullRequestId: $id }) { pullRequest { isDraft } } }'
  const toReady = 'mutation ($id: ID!) { markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } } }'
  expect((await ask(token, toDraft, { id: shown.id })).body.data.convertPullRequestToDraft.pullRequest.isDraft).toBe(true)
  expect((await ask(token, toReady, { id: shown.id })).body.data.markPullRequestReadyForReview.pullRequest.isDraft).toBe(false)
  expect(
    (await ask(token, 'query ($id: ID!) { node(id: $id) { ... on PullRequest { number } } viewer { login } }', { id: shown.id })).body.data,
  ).toEqual({
    node: { number: pull.number },
    viewer: { login: 'switchyard[bot]' },
  })
})

test('what the rehearsal does not serve is refused and said aloud, over REST and GraphQL', async () => {
  const loud = vi.fn<(line: string) => void>()
  await stage.restart({ loud })
  const reply = await stage.as(stage.token('mona'))('GET', `${SHOP}/actions/runs`)
  expect(reply).toMatchObject({ status: 404, body: { message: 'Not Found', documentation_url: expect.any(String) } })
  expect(loud.mock.calls.join()).toContain(`GET ${SHOP}/actions/runs`)
  expect(stage.github.unserved).toEqual([`GET ${SHOP}/actions/runs`])
  const { body } = await ask(stage.token('mona'), '{ viewer { isHireable } }')
  expect(body.errors[0].message).toBe('the rehearsal does not serve User.isHireable')
})

test('another form than JSON is refused and said aloud, never answered with JSON', async () => {
  const headers = { authorization: `Bearer ${stage.token('mona')}`, accept: 'application/vnd.github.diff' }
  expect((await fetch(`${stage.github.apiUrl}${SHOP}/pulls/1`, { headers })).status).toBe(415)
  expect(stage.github.unserved.join()).toContain('as vnd.github.diff')
})

test('an issue’s and a pull request’s address show a page on which nothing that was written runs', async () => {
  const pull = await openReviewed()
  stage.github.operator.comment({ ...at, number: pull.number, body: '<script>alert(1)</script>' })
  const { body } = await stage.as(null)('GET', `${SHOP}/pulls/${pull.number}`)
  const page = await (await fetch(body.html_url)).text()
  expect(page).toContain('why?')
  expect(page).toContain('+one')
  expect(page).toContain('&#60;script&#62;')
  expect(page).not.toContain('<script>')
  expect((await fetch(`${stage.github.url}/acme/shop/pull/99`)).status).toBe(404)
})

test('a body that is no JSON object is refused with 400', async () => {
  for (const body of ['{"title":', '"x"', '[]', 'null']) {
    const headers = { authorization: `Bearer ${stage.token('mona')}` }
    const reply = await fetch(`${stage.github.apiUrl}${SHOP}/issues`, { method: 'POST', headers, body })
    expect(reply.status).toBe(400)
  }
  expect((await stage.as(null)('GET', `${SHOP}/issues`)).body).toEqual([])
})

test('a restart keeps everything: accounts, tokens, issues, pull requests, keys', async () => {
  const pull = await openReviewed()
  const before = JSON.stringify(stage.github.operator.state())
  await stage.restart()
  expect(JSON.stringify(stage.github.operator.state())).toBe(before)
  expect((await stage.as(stage.token('mona'))('GET', `${SHOP}/pulls/${pull.number}`)).body.head.sha).toBe(pull.headSha)
  expect((await stage.as(stage.appToken())('GET', '/app')).status).toBe(200)
})

test('a push that git took while nobody could tell it is told after the start', async () => {
  const receiver = await listen()
  stage.github.operator.createHook({ repository: 'acme/shop', url: receiver.url, secret: 's' })
  const pull = await openReviewed()
  await stage.github.operator.delivered()
  const folder = join(stage.folder, 'git', `${pull.repositoryId}.git`)
  const main = (await resolve(folder, 'main'))!
  expect(await moveRef(folder, 'refs/heads/later', main, '0'.repeat(40))).toBe(true)
  const seen = receiver.received.length
  await stage.restart()
  await stage.github.operator.delivered()
  expect(receiver.received.slice(seen).map(({ payload }) => payload.ref)).toEqual(['refs/heads/later'])
  await receiver.close()
})

test('killed with -9, it has after the next start all that it had answered, and sends what it had not sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offline-github-killed-'))
  const receiver = await listen()
  try {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), '--folder', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const { url } = JSON.parse(line) as { url: string }
    const operate = async (deed: string, given: unknown) => {
      const reply = await fetch(`${url}/_rehearsal/${deed}`, { method: 'POST', body: JSON.stringify(given) })
      expect(reply.status).toBe(200)
      return reply.json()
    }
    await operate('createAccount', { login: 'mona' })
    await operate('createRepository', { owner: 'mona', name: 'shop' })
    await operate('createHook', { repository: 'mona/shop', url: receiver.url, secret: 's' })
    for (let number = 1; number <= 20; number++)
      await operate('openIssue', { repository: 'mona/shop', as: 'mona', title: `Issue ${number}` })
    child.kill('SIGKILL')
    await once(child, 'exit')

    const again = await startGithub({ folder })
    expect(again.operator.state().issues.map((issue) => issue.number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    await again.operator.delivered()
    // the one in flight when it died is logged as failed and not sent again by itself
    const interrupted = again.operator.state().deliveries.filter((delivery) => delivery.status !== 'OK')
    expect(interrupted.length).toBeLessThanOrEqual(1)
    const heard = new Set(receiver.received.map(({ payload }) => payload.issue.number as number))
    expect(heard.size).toBeGreaterThanOrEqual(20 - interrupted.length)
    await again.close()
  } finally {
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the operator’s mistakes are told in plain words', async () => {
  const operate = (deed: string, given: unknown) =>
    fetch(`${stage.github.url}/_rehearsal/${deed}`, { method: 'POST', body: JSON.stringify(given) })
  const unknown = await operate('openIssue', { repository: 'acme/shop', as: 'nobody', title: 'x' })
  expect(unknown.status).toBe(422)
  expect(await unknown.json()).toMatchObject({
    message: expect.stringContaining('no account "nobody": create it first. Known: acme, mona'),
  })
  expect((await operate('conjure', {})).status).toBe(404)
  expect((await fetch(`${stage.github.url}/_rehearsal/state`)).status).toBe(200)
})
