/** Each fault knob through a real request, a real git or a real webhook. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Rule } from './faults.ts'
import { GIT_ENVIRONMENT } from './git.ts'
import { listen, type Receiver } from './receiver.ts'
import { type Stage, setStage } from './stage.ts'

const at = { repository: 'acme/shop', as: 'mona' }
const COMMENTS = '/repos/acme/shop/issues/1/comments'
const onComments = { method: 'POST', path: '/comments$' }
let receiver: Receiver
let stage: Stage
let scratch: string

beforeEach(async () => {
  receiver = await listen()
  stage = await setStage({ url: receiver.url, secret: 's' })
  scratch = mkdtempSync(join(tmpdir(), 'offline-github-faults-'))
  stage.github.operator.openIssue({ ...at, title: 'One' })
  await stage.github.operator.delivered()
  receiver.received.length = 0
})
afterEach(async () => {
  await stage.end()
  await receiver.close()
  rmSync(scratch, { recursive: true, force: true })
  expect(stage.github.contractFaults).toEqual([])
})

const setFaults = (...rules: Rule[]) => stage.github.operator.setFaults(rules)
const comments = () => stage.github.operator.state().comments.map(({ body }) => body)
/** The plain answer, or the code of the broken connection. */
async function post(body: string, token = stage.token('mona')): Promise<{ status: number; headers: Headers; text: string } | string> {
  try {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`${stage.github.apiUrl}${COMMENTS}`, { method: 'POST', headers, body: JSON.stringify({ body }) })
    return { status: reply.status, headers: reply.headers, text: await reply.text() }
  } catch (error) {
    return ((error as Error).cause as { code: string }).code
  }
}

describe('requests', () => {
  test.each<[string, Rule, number | string, boolean]>([
    ['502 before: nothing was done', { does: '502 before', match: onComments }, 502, false],
    ['502 after commit: it was done', { does: '502 after commit', match: onComments }, 502, true],
    ['reset before', { does: 'reset before', match: onComments }, 'ECONNRESET', false],
    ['reset after commit', { does: 'reset after commit', match: onComments }, 'ECONNRESET', true],
    ['hang, then reset', { does: 'hang', ms: 20, match: onComments }, 'ECONNRESET', false],
    ['done, hang, then reset', { does: 'hang after commit', ms: 20, match: onComments }, 'ECONNRESET', true],
    ['a delay changes nothing', { does: 'delay', ms: 20, match: onComments }, 201, true],
  ])('%s; once, and then all is well', async (_, rule, outcome, isDone) => {
    await setFaults(rule)
    const met = await post('first')
    expect(typeof met === 'string' ? met : met.status).toBe(outcome)
    expect(comments()).toEqual(isDone ? ['first'] : [])
    expect(await post('second')).toMatchObject({ status: 201 })
  })

  test('an answer is cut in the middle of its JSON under the right status', async () => {
    await setFaults({ does: 'truncate', match: onComments })
    const met = (await post('first')) as { status: number; text: string }
    expect(met.status).toBe(201)
    expect(met.text).toMatch(/^\{"/)
    expect(() => JSON.parse(met.text)).toThrow(SyntaxError)
    expect(comments()).toEqual(['first'])
  })

  test('a secondary limit names its wait, as often as it is told', async () => {
    await setFaults({ does: 'secondary limit', seconds: 7, times: 2 })
    for (const _ of [1, 2]) {
      const met = (await post('first')) as { status: number; headers: Headers; text: string }
      expect(met.status).toBe(403)
      expect(met.headers.get('retry-after')).toBe('7')
      expect(met.text).toContain('secondary rate limit')
    }
    expect(await post('first')).toMatchObject({ status: 201 })
  })

  test('a primary limit stands at zero until its reset; GraphQL says so with status 200', async () => {
    await setFaults({ does: 'primary limit', seconds: 90, times: null })
    const met = (await post('first')) as { status: number; headers: Headers }
    expect(met.status).toBe(403)
    expect(met.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(met.headers.get('x-ratelimit-reset')) * 1000 - Date.now()).toBeGreaterThan(60_000)
    const query = await fetch(stage.github.graphqlUrl, { method: 'POST', body: JSON.stringify({ query: '{ viewer { login } }' }) })
    expect({ status: query.status, body: await query.json() }).toMatchObject({ status: 200, body: { errors: [{ type: 'RATE_LIMITED' }] } })
    await setFaults()
    expect(await post('first')).toMatchObject({ status: 201 })
  })

  test('a token that has ended is refused until a new one is minted', async () => {
    const token = await stage.installationToken()
    await setFaults({ does: 'token expired', match: onComments })
    for (const _ of [1, 2])
      expect(await post('first', token)).toMatchObject({ status: 401, text: expect.stringContaining('Bad credentials') })
    expect(await post('first', await stage.installationToken())).toMatchObject({ status: 201 })
  })

  test('one GraphQL mutation of many by its text', async () => {
    await setFaults({ does: '502 before', match: { graphql: 'markPullRequest' }, times: null })
    const ask = (query: string) =>
      fetch(stage.github.graphqlUrl, {
        method: 'POST',
        headers: { authorization: `Bearer ${stage.token('mona')}` },
        body: JSON.stringify({ query }),
      })
    expect((await ask('mutation { markPullRequestReadyForReview(input: { pullRequestId: "x" }) { clientMutationId } }')).status).toBe(502)
    expect((await ask('{ viewer { login } }')).status).toBe(200)
  })
})

describe('git', () => {
  const run = async (...args: string[]) => {
    const env = { ...GIT_ENVIRONMENT, GIT_AUTHOR_NAME: 'm', GIT_AUTHOR_EMAIL: 'm@x', GIT_COMMITTER_NAME: 'm', GIT_COMMITTER_EMAIL: 'm@x' }
    return (await promisify(execFile)('git', args, { cwd: scratch, env: { ...env, GIT_ASKPASS: '/bin/false' } })).stdout.trim()
  }
  const addressOf = (name: string, token: string) => `http://x-access-token:${token}@${new URL(stage.github.gitUrl).host}/${name}.git`
  const branch = () => stage.github.operator.state().repositories[0]!.refs['refs/heads/x'] ?? null
  async function cloned(token: string): Promise<string> {
    await run('clone', '--quiet', addressOf('acme/shop', token), '.')
    writeFileSync(join(scratch, 'new.txt'), 'new\n')
    await run('add', '.')
    await run('commit', '--quiet', '-m', 'New')
    return run('rev-parse', 'HEAD')
  }
  const pushed = () => run('push', '--quiet', 'origin', 'HEAD:refs/heads/x')
  const BROKEN = /reset|hung up|Recv failure|Empty reply|Send failure/i
  const onPush = { path: '/git-receive-pack$' }

  // curl repeats by itself what was reset on a connection that it had used before, so a push may be sent twice
  test.each<[string, Rule, RegExp, boolean]>([
    ['502 before', { does: '502 before', match: onPush }, /502/, false],
    ['502 after commit', { does: '502 after commit', match: onPush }, /502/, true],
    ['reset before', { does: 'reset before', match: onPush, times: null }, BROKEN, false],
    ['reset after commit', { does: 'reset after commit', match: onPush, times: null }, BROKEN, true],
    ['hang', { does: 'hang', ms: 20, match: onPush, times: null }, BROKEN, false],
  ])('a push that meets %s fails for git, and the branch tells what happened', async (_, rule, words, isDone) => {
    const sha = await cloned(stage.token('mona'))
    await setFaults(rule)
    await expect(pushed()).rejects.toThrow(words)
    expect(branch()).toBe(isDone ? sha : null)
    await setFaults()
    await pushed()
    expect(branch()).toBe(sha)
  })

  test('a fetch is met before and after, and an expired token is asked for', async () => {
    const token = await stage.installationToken()
    await cloned(token)
    await setFaults({ does: '502 after commit', match: { path: '/info/refs$' } })
    await expect(run('fetch')).rejects.toThrow(/502/)
    await run('fetch')
    const look = (withToken: string) => run('ls-remote', addressOf('acme/vault', withToken))
    await look(token)
    await setFaults({ does: 'token expired' })
    for (const _ of [1, 2]) await expect(look(token)).rejects.toThrow(/Authentication failed/)
    await look(await stage.installationToken())
  })
})

describe('deliveries', () => {
  const say = (...bodies: string[]) => {
    for (const body of bodies) stage.github.operator.comment({ ...at, number: 1, body })
    return stage.github.operator.delivered()
  }
  const heard = () => receiver.received.map(({ payload }) => payload.comment.body)

  test('a duplicate comes under the same GUID', async () => {
    await setFaults({ does: 'duplicate', copies: 3 })
    await say('a', 'b')
    expect(heard()).toEqual(['a', 'a', 'a', 'b'])
    expect(new Set(receiver.received.slice(0, 3).map(({ headers }) => headers['x-github-delivery'])).size).toBe(1)
  })

  test('deliveries are kept back and come in reverse; what is kept when the rules go comes then', async () => {
    await setFaults({ does: 'reorder', hold: 3 })
    await say('a', 'b')
    expect(heard()).toEqual([])
    await say('c', 'd')
    expect(heard()).toEqual(['c', 'b', 'a', 'd'])
    await setFaults({ does: 'reorder', hold: 3 })
    await say('e')
    await setFaults()
    await stage.github.operator.delivered()
    expect(heard().slice(4)).toEqual(['e'])
  })

  test('a dropped one is never sent, and stands in the log as failed with all that it would have said', async () => {
    await setFaults({ does: 'drop', match: { event: '^issue_comment\\.created$' } })
    await say('a', 'b')
    expect(heard()).toEqual(['b'])
    const app = stage.as(stage.appToken())
    const [item] = (await app('GET', '/app/hook/deliveries?status=failure')).body
    expect(item).toMatchObject({ event: 'issue_comment', action: 'created', status: 'failed to connect to host' })
    const { body } = await app('GET', `/app/hook/deliveries/${item.id}`)
    expect(body.request.payload.comment.body).toBe('a')
    expect(body.request.headers).toMatchObject({ 'X-GitHub-Delivery': item.guid, 'X-GitHub-Hook-ID': expect.stringMatching(/^\d+$/) })
    expect(body.response).toEqual({ headers: null, payload: null })
  })

  test('a delayed one comes all the same, and after a start if the sender stopped before', async () => {
    await setFaults({ does: 'delay delivery', ms: 20 })
    await say('a')
    expect(heard()).toEqual(['a'])
    await setFaults({ does: 'delay delivery', ms: 60_000 })
    stage.github.operator.comment({ ...at, number: 1, body: 'b' })
    await stage.restart()
    await stage.github.operator.delivered()
    expect(heard()).toEqual(['a', 'b'])
  })
})

describe('an outage', () => {
  test('answers 503 to everything but the operator, keeps webhooks back, and ends with the rules', async () => {
    await setFaults({ does: 'outage', ms: 600_000 })
    expect(await post('lost')).toMatchObject({ status: 503 })
    expect((await fetch(`${stage.github.gitUrl}/acme/shop.git/info/refs?service=git-upload-pack`)).status).toBe(503)
    stage.github.operator.comment({ ...at, number: 1, body: 'meanwhile' })
    expect(receiver.received).toEqual([])
    const cleared = await fetch(`${stage.github.url}/_rehearsal/setFaults`, { method: 'POST', body: JSON.stringify({ rules: [] }) })
    expect(cleared.status).toBe(200)
    await stage.github.operator.delivered()
    expect(receiver.heard()).toEqual(['issue_comment.created'])
    expect(await post('found')).toMatchObject({ status: 201 })
  })

  test('refuses connections, tears off those that are there, and is over after its span at the same address', async () => {
    await setFaults({ does: 'hang', ms: 600_000 })
    const hanging = post('torn off')
    await expect.poll(() => stage.github.operator.state().comments.length).toBe(0)
    const rules = [{ does: 'outage', ms: 1_500, answer: 'refused' }]
    const begun = await fetch(`${stage.github.url}/_rehearsal/setFaults`, { method: 'POST', body: JSON.stringify({ rules }) })
    expect(begun.status).toBe(200)
    expect(await post('lost')).toBe('ECONNREFUSED')
    expect(['ECONNRESET', 'UND_ERR_SOCKET', 'ECONNREFUSED']).toContain(await hanging)
    await expect.poll(() => post('back').then((met) => typeof met !== 'string' && met.status), { timeout: 20_000 }).toBe(201)
    expect(comments()).toEqual(['back'])
  })

  test('that is still on does not hold up the end', async () => {
    await setFaults({ does: 'outage', ms: 600_000, answer: 'refused' })
    stage.github.operator.comment({ ...at, number: 1, body: 'later' })
    await stage.restart()
    await stage.github.operator.delivered()
    expect(receiver.heard()).toEqual(['issue_comment.created'])
  })
})
