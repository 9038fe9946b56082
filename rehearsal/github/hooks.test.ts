/** Webhooks as GitHub posts them: signed, named by headers, in full shape, never sent again by themselves. */
import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listen, type Receiver } from './receiver.ts'
import { type Stage, setStage } from './stage.ts'

const SECRET = 'not so secret'
const SHOP = '/repos/acme/shop'
const at = { repository: 'acme/shop', as: 'mona' }
let receiver: Receiver
let stage: Stage

beforeEach(async () => {
  receiver = await listen()
  stage = await setStage({ url: receiver.url, secret: SECRET })
})
afterEach(async () => {
  await stage.end()
  await receiver.close()
  expect(stage.github.contractFaults).toEqual([])
})

test('[M1] an opened issue arrives signed over its exact bytes, with the headers of an App’s hook', async () => {
  stage.github.operator.openIssue({ ...at, title: 'Preis ist falsch 💶', body: 'Bitte richten.' })
  await stage.github.operator.delivered()
  const [{ headers, raw, payload }] = receiver.received as [Receiver['received'][number]]
  expect(headers['x-hub-signature-256']).toBe(`sha256=${createHmac('sha256', SECRET).update(raw).digest('hex')}`)
  expect(headers['x-github-delivery']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-hook-id': expect.stringMatching(/^\d+$/),
    'x-github-hook-installation-target-type': 'integration',
    'x-github-hook-installation-target-id': String(stage.app.id),
    'user-agent': expect.stringMatching(/^GitHub-Hookshot\//),
  })
  expect(payload).toMatchObject({
    action: 'opened',
    issue: { title: 'Preis ist falsch 💶', user: { login: 'mona', type: 'User' } },
    repository: { full_name: 'acme/shop' },
    organization: { login: 'acme' },
    installation: { id: stage.installationId },
    sender: { login: 'mona' },
  })
})

test('the App’s own comment and push raise deliveries, too', async () => {
  const bot = stage.as(await stage.installationToken())
  stage.github.operator.openIssue({ ...at, title: 'One' })
  await bot('POST', `${SHOP}/issues/1/comments`, { body: 'I am on it' })
  const { body: main } = await bot('GET', `${SHOP}/git/ref/heads/main`)
  await bot('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/agent', sha: main.object.sha })
  await stage.github.operator.delivered()
  expect(receiver.heard()).toEqual(['issues.opened', 'issue_comment.created', 'push'])
  expect(receiver.received.map(({ payload }) => payload.sender.login)).toEqual(['mona', 'switchyard[bot]', 'switchyard[bot]'])
})

test('all that people do to a pull request is told in the shape of GitHub’s description', async () => {
  const { operator } = stage.github
  operator.openIssue({ ...at, title: 'Wrong', labels: ['bug'], assignees: ['mona'] })
  operator.editIssue({ ...at, number: 1, title: 'Wrong total' })
  const comment = operator.comment({ ...at, number: 1, body: 'soon?' })
  operator.editComment({ as: 'mona', comment: comment.id, body: 'soon!' })
  operator.deleteComment({ as: 'mona', comment: comment.id })
  await operator.push({ ...at, branch: 'fix', message: 'Fix', files: { 'src/cart.js': 'export const total = () => 1\n' } })
  await operator.openPull({ ...at, title: 'Fix', body: 'Fixes #1', head: 'fix', draft: true })
  operator.setDraft({ ...at, number: 2, draft: false })
  operator.comment({ ...at, number: 2, body: 'on the conversation' })
  const line = { path: 'src/cart.js', line: 1, body: 'why 1?' }
  await operator.review({ repository: 'acme/shop', as: 'hubot-human', number: 2, state: 'CHANGES_REQUESTED', body: 'no', comments: [line] })
  const [thread] = operator.state().reviewThreads
  operator.replyInThread({ as: 'mona', thread: thread!.id, body: 'because' })
  operator.resolveThread({ as: 'mona', thread: thread!.id, resolved: true })
  operator.resolveThread({ as: 'mona', thread: thread!.id, resolved: false })
  await operator.setCheck({ repository: 'acme/shop', at: 'fix', name: 'unit' })
  await operator.setCheck({ repository: 'acme/shop', at: 'fix', name: 'unit', conclusion: 'failure', summary: '1 of 3 failed' })
  await operator.push({ ...at, branch: 'fix', message: 'Fix it', files: { 'src/cart.js': 'export const total = () => 2\n' } })
  await operator.merge({ ...at, number: 2 })
  await operator.deleteBranch({ ...at, branch: 'fix' })
  await operator.delivered()

  expect(receiver.heard()).toEqual([
    'issues.opened',
    'issues.labeled',
    'issues.assigned',
    'issues.edited',
    'issue_comment.created',
    'issue_comment.edited',
    'issue_comment.deleted',
    'push',
    'pull_request.opened',
    'pull_request.ready_for_review',
    'issue_comment.created',
    'pull_request_review.submitted',
    'pull_request_review_comment.created',
    'pull_request_review.submitted',
    'pull_request_review_comment.created',
    'pull_request_review_thread.resolved',
    'pull_request_review_thread.unresolved',
    'check_run.created',
    'check_run.completed',
    'check_suite.completed',
    'push',
    'pull_request.synchronize',
    'pull_request.closed',
    'issues.closed',
    'push',
    'push',
  ])
  const told = (event: string) =>
    receiver.received.filter(({ headers }) => headers['x-github-event'] === event).map(({ payload }) => payload)
  expect(told('issue_comment').at(-1).issue.pull_request.url).toContain('/pulls/2')
  expect(told('pull_request_review')[1]).toMatchObject({ review: { state: 'commented', body: null } })
  expect(told('check_run')[1].check_run).toMatchObject({ conclusion: 'failure', pull_requests: [{ number: 2 }] })
  expect(told('pull_request').at(-1).pull_request).toMatchObject({ merged: true, merged_by: { login: 'mona' } })
  expect(told('push').at(-1)).toMatchObject({ deleted: true, after: '0'.repeat(40), head_commit: null })
})

test('[M3] a delivery that was refused stays in the log and comes again only when it is asked for, under its GUID', async () => {
  receiver.answer = 503
  stage.github.operator.openIssue({ ...at, title: 'Unheard' })
  await stage.github.operator.delivered()
  expect(receiver.received).toHaveLength(1)
  const app = stage.as(stage.appToken())
  const [failed] = (await app('GET', '/app/hook/deliveries?status=failure')).body
  expect(failed).toMatchObject({ event: 'issues', action: 'opened', status_code: 503, redelivery: false })

  receiver.answer = 202
  await app('POST', `/app/hook/deliveries/${failed.id}/attempts`)
  await stage.github.operator.delivered()
  const [first, again] = receiver.received
  expect(again!.headers['x-github-delivery']).toBe(first!.headers['x-github-delivery'])
  expect(again!.raw.equals(first!.raw)).toBe(true)
  expect((await app('GET', '/app/hook/deliveries?status=success')).body).toMatchObject([
    { guid: failed.guid, redelivery: true, status: 'OK' },
  ])
})

test('[M5] what a deleted account wrote has no author, and the delivery carries null', async () => {
  const { operator } = stage.github
  operator.openIssue({ ...at, as: 'stranger', title: 'From one who left' })
  operator.deleteAccount({ login: 'stranger' })
  operator.comment({ ...at, number: 1, body: 'who was it?' })
  await operator.delivered()
  expect(receiver.received[1]!.payload.issue.user).toBeNull()
  // the description promises a user here; GitHub itself does not keep to it
  expect(stage.github.contractFaults.splice(0)).toEqual(['delivery issue-comment-created/issue/user must be object'])
  expect((await stage.as(stage.token('mona'))('GET', `${SHOP}/issues/1`)).body.user).toBeNull()
})
