/** Every route, asked and answered under the contract: GitHub's own description of both sides of the wire. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROUTES } from './server.ts'
import { type Caller, type Stage, setStage } from './stage.ts'

const SHOP = '/repos/acme/shop'
let stage: Stage
let mona: Caller
let human: Caller
let stranger: Caller
let nobody: Caller
let app: Caller
let bot: Caller

beforeAll(async () => {
  stage = await setStage({ url: 'http://127.0.0.1:9/nobody-listens', secret: 'unheard' })
  mona = stage.as(stage.token('mona'))
  human = stage.as(stage.token('hubot-human'))
  stranger = stage.as(stage.token('stranger'))
  nobody = stage.as(null)
  app = stage.as(stage.appToken())
  bot = stage.as(await stage.installationToken())
})
afterAll(() => stage.end())

test('accounts and repositories are shown to those who may see them', async () => {
  expect((await mona('GET', '/user')).body).toMatchObject({ login: 'mona', type: 'User' })
  expect((await bot('GET', '/user')).status).toBe(403)
  expect((await nobody('GET', '/user')).status).toBe(401)
  expect((await stage.as('ghp_wrong')('GET', '/user')).body.message).toBe('Bad credentials')
  expect((await mona('GET', '/users/switchyard%5Bbot%5D')).body).toMatchObject({ login: 'switchyard[bot]', type: 'Bot' })
  expect((await nobody('GET', '/users/nobody-there')).status).toBe(404)
  const { body: shop } = await mona('GET', SHOP)
  expect(shop).toMatchObject({ full_name: 'acme/shop', default_branch: 'main', permissions: { admin: true } })
  expect((await mona('GET', `/repositories/${shop.id}`)).body.full_name).toBe('acme/shop')
  expect((await mona('GET', `/repositories/${shop.id}/issues`)).status).toBe(200)
  expect((await nobody('GET', '/repos/acme/vault')).status).toBe(404)
  expect((await stranger('GET', '/repos/acme/vault')).status).toBe(404)
  expect((await mona('GET', '/user/repos')).body).toHaveLength(2)
  expect((await nobody('GET', '/orgs/acme/repos')).body).toHaveLength(1)
  expect((await mona('GET', `${SHOP}/collaborators/mona`)).status).toBe(204)
  expect((await mona('GET', `${SHOP}/collaborators/stranger`)).status).toBe(404)
  expect((await mona('GET', `${SHOP}/assignees`)).body.map((one: { login: string }) => one.login)).toEqual(['mona', 'hubot-human'])
})

test.each([
  ['mona', 'admin', 'admin'],
  ['hubot-human', 'write', 'write'],
  ['stranger', 'read', 'read'],
])('[Q1] %s has the permission %s in the repository', async (login, permission, role) => {
  expect((await bot('GET', `${SHOP}/collaborators/${login}/permission`)).body).toMatchObject({
    permission,
    role_name: role,
    user: { login },
  })
})

test('an App shows itself, its installations and their tokens', async () => {
  expect((await app('GET', '/app')).body).toMatchObject({ slug: 'switchyard', id: stage.app.id })
  expect((await app('GET', '/app/installations')).body).toHaveLength(1)
  expect((await app('GET', `/app/installations/${stage.installationId}`)).body.account.login).toBe('acme')
  expect((await app('GET', `${SHOP}/installation`)).body.id).toBe(stage.installationId)
  expect((await app('GET', '/orgs/acme/installation')).body.id).toBe(stage.installationId)
  expect((await app('GET', '/users/acme/installation')).body.id).toBe(stage.installationId)
  expect((await app('GET', '/users/mona/installation')).status).toBe(404)
  const narrow = await app('POST', `/app/installations/${stage.installationId}/access_tokens`, {
    repositories: ['shop'],
    permissions: { issues: 'read' },
  })
  expect(narrow.body).toMatchObject({ repository_selection: 'selected', permissions: { issues: 'read' } })
  const narrowly = stage.as(narrow.body.token)
  expect((await narrowly('GET', '/installation/repositories')).body.repositories).toHaveLength(1)
  expect((await narrowly('GET', '/repos/acme/vault')).status).toBe(404)
  expect((await narrowly('POST', `${SHOP}/issues`, { title: 'no' })).body.message).toBe('Resource not accessible by integration')
  expect(
    (await app('POST', `/app/installations/${stage.installationId}/access_tokens`, { permissions: { administration: 'write' } })).status,
  ).toBe(422)
  expect((await mona('GET', '/installation/repositories')).status).toBe(403)
})

test('issues are opened, changed, labelled, assigned, locked, and listed in pages', async () => {
  expect((await nobody('POST', `${SHOP}/issues`, { title: 'x' })).status).toBe(401)
  const opened = await mona('POST', `${SHOP}/issues`, {
    title: 'Total is wrong',
    body: 'It counts items.',
    labels: ['bug'],
    assignees: ['mona'],
  })
  expect(opened).toMatchObject({ status: 201, body: { number: 1, state: 'open', author_association: 'MEMBER', labels: [{ name: 'bug' }] } })
  expect((await mona('POST', `${SHOP}/issues`, { title: ' ' })).status).toBe(422)
  const dropped = await stranger('POST', `${SHOP}/issues`, { title: 'Another', labels: ['bug'] })
  expect(dropped.body).toMatchObject({ number: 2, labels: [], author_association: 'NONE' })
  expect((await mona('GET', `${SHOP}/issues/1`)).body.title).toBe('Total is wrong')
  expect((await mona('GET', `${SHOP}/issues/99`)).status).toBe(404)
  expect((await stranger('PATCH', `${SHOP}/issues/1`, { title: 'mine' })).status).toBe(403)
  expect(
    (await mona('PATCH', `${SHOP}/issues/1`, { title: 'Total is wrong!', body: null, labels: ['bug', 'cart'] })).body.labels,
  ).toHaveLength(2)
  expect((await mona('PATCH', `${SHOP}/issues/2`, { state: 'closed', state_reason: 'not_planned' })).body).toMatchObject({
    state: 'closed',
    state_reason: 'not_planned',
    closed_by: { login: 'mona' },
  })
  expect((await mona('PATCH', `${SHOP}/issues/2`, { state: 'open' })).body.state_reason).toBe('reopened')
  expect((await mona('POST', `${SHOP}/issues/2/assignees`, { assignees: ['hubot-human'] })).body.assignees).toHaveLength(1)
  expect((await mona('POST', `${SHOP}/issues/2/labels`, { labels: ['later'] })).body).toHaveLength(1)
  expect((await mona('GET', `${SHOP}/issues/2/labels`)).body[0].name).toBe('later')
  expect((await mona('DELETE', `${SHOP}/issues/2/labels/later`)).body).toEqual([])
  expect((await mona('DELETE', `${SHOP}/issues/2/labels/later`)).status).toBe(404)

  const first = await mona('GET', `${SHOP}/issues?per_page=1&state=all`)
  expect(first.body.map((issue: { number: number }) => issue.number)).toEqual([2])
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1]
  expect(next).toContain('page=2')
  expect((await mona('GET', next!.slice(stage.github.apiUrl.length))).body[0].number).toBe(1)
  expect((await mona('GET', `${SHOP}/issues?labels=bug`)).body).toHaveLength(1)
  expect((await mona('GET', `${SHOP}/issues?since=2999-01-01T00:00:00Z`)).body).toEqual([])
  expect(first.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
})

test('comments are written, found again since a moment, changed and taken away', async () => {
  const written = await bot('POST', `${SHOP}/issues/1/comments`, { body: 'On it. <!-- agent:v1 k=abc -->' })
  expect(written).toMatchObject({
    status: 201,
    body: { user: { login: 'switchyard[bot]', type: 'Bot' }, performed_via_github_app: { slug: 'switchyard' } },
  })
  const { id } = written.body
  expect((await mona('GET', `${SHOP}/issues/1/comments?since=2020-01-01T00:00:00Z`)).body).toHaveLength(1)
  expect((await mona('GET', `${SHOP}/issues/1/comments?since=2999-01-01T00:00:00Z`)).body).toHaveLength(0)
  expect((await mona('GET', `${SHOP}/issues/comments?sort=updated&direction=desc`)).body[0].id).toBe(id)
  expect((await mona('GET', `${SHOP}/issues/comments/${id}`)).body.body).toContain('agent:v1')
  expect((await stranger('PATCH', `${SHOP}/issues/comments/${id}`, { body: 'mine' })).status).toBe(403)
  expect((await bot('PATCH', `${SHOP}/issues/comments/${id}`, { body: 'Done.' })).body.body).toBe('Done.')
  expect((await mona('POST', `${SHOP}/issues/1/comments`, { body: 'x'.repeat(65_536) })).status).toBe(201)
  expect((await mona('POST', `${SHOP}/issues/1/comments`, { body: 'x'.repeat(65_537) })).status).toBe(422)
  expect((await mona('DELETE', `${SHOP}/issues/comments/${id}`)).status).toBe(204)
  expect((await mona('GET', `${SHOP}/issues/comments/${id}`)).status).toBe(404)
})

test('[F296] a locked issue refuses the App’s comment with 403', async () => {
  expect((await mona('PUT', `${SHOP}/issues/2/lock`, {})).status).toBe(204)
  expect((await bot('POST', `${SHOP}/issues/2/comments`, { body: 'hello' })).body.message).toBe(
    'Unable to create comment because issue is locked.',
  )
  expect((await mona('POST', `${SHOP}/issues/2/comments`, { body: 'members may' })).status).toBe(201)
  expect((await mona('DELETE', `${SHOP}/issues/2/lock`)).status).toBe(204)
})

test('a reaction is given once: 201, then 200 with the same id', async () => {
  const { body: comment } = await mona('POST', `${SHOP}/issues/1/comments`, { body: 'look' })
  for (const subject of [`${SHOP}/issues/1`, `${SHOP}/issues/comments/${comment.id}`]) {
    const fresh = await bot('POST', `${subject}/reactions`, { content: 'eyes' })
    expect(fresh.status).toBe(201)
    expect(await bot('POST', `${subject}/reactions`, { content: 'eyes' })).toMatchObject({ status: 200, body: { id: fresh.body.id } })
    expect((await mona('GET', `${subject}/reactions?content=eyes`)).body).toHaveLength(1)
    expect((await bot('DELETE', `${subject}/reactions/${fresh.body.id}`)).status).toBe(204)
  }
  expect((await stage.as(stage.token('mona'))('GET', `${SHOP}/issues/1`)).body.reactions.total_count).toBe(0)
})

test('refs, branches, commits, comparisons and files come from git', async () => {
  const main = await mona('GET', `${SHOP}/git/ref/heads%2Fmain`)
  const { sha } = main.body.object
  expect((await mona('GET', `${SHOP}/git/ref/heads/none`)).status).toBe(404)
  expect((await mona('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/agent/t-1', sha })).status).toBe(201)
  expect((await mona('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/agent/t-1', sha })).body.message).toBe('Reference already exists')
  expect((await stranger('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/evil', sha })).status).toBe(403)
  expect((await mona('GET', `${SHOP}/git/matching-refs/heads/agent`)).body).toHaveLength(1)
  const { sha: tip } = await stage.github.operator.push({
    repository: 'acme/shop',
    as: 'mona',
    branch: 'agent/t-1',
    message: 'Sum the prices\n\nNot the count.',
    files: {
      'src/cart.js': 'export const total = (items) => items.reduce((sum, item) => sum + item.price, 0)\n',
      'docs/a b.md': 'new\n',
      'run.sh': null,
    },
  })
  expect((await mona('GET', `${SHOP}/branches`)).body).toHaveLength(2)
  expect((await mona('GET', `${SHOP}/branches/agent%2Ft-1`)).body.commit.sha).toBe(tip)
  expect((await mona('GET', `${SHOP}/branches/none`)).status).toBe(404)
  expect((await mona('GET', `${SHOP}/commits?sha=agent/t-1`)).body).toHaveLength(2)
  expect((await mona('GET', `${SHOP}/commits/agent%2Ft-1`)).body.files.map((file: { filename: string }) => file.filename).sort()).toEqual([
    'docs/a b.md',
    'run.sh',
    'src/cart.js',
  ])
  expect((await mona('GET', `${SHOP}/commits/none`)).status).toBe(422)
  expect((await mona('GET', `${SHOP}/git/commits/${tip}`)).body).toMatchObject({
    message: 'Sum the prices\n\nNot the count.',
    author: { name: 'mona of the tests' },
  })
  expect((await mona('GET', `${SHOP}/compare/main...agent/t-1`)).body).toMatchObject({ status: 'ahead', ahead_by: 1, behind_by: 0 })
  const { body: file } = await mona('GET', `${SHOP}/contents/src/cart.js?ref=agent/t-1`)
  expect(Buffer.from(file.content, 'base64').toString()).toContain('item.price')
  expect((await mona('GET', `${SHOP}/contents/src`)).body).toHaveLength(1)
  expect((await mona('GET', `${SHOP}/contents/`)).body).toHaveLength(3)
  expect((await mona('GET', `${SHOP}/contents/none.txt`)).status).toBe(404)
  expect((await mona('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/gone', sha })).status).toBe(201)
  expect((await mona('PATCH', `${SHOP}/git/refs/heads/gone`, { sha: tip })).body.object.sha).toBe(tip)
  expect((await mona('PATCH', `${SHOP}/git/refs/heads/gone`, { sha })).body.message).toBe('Update is not a fast forward')
  expect((await mona('DELETE', `${SHOP}/git/refs/heads/gone`)).status).toBe(204)
})

test('a pull request is opened once, found by its head, reviewed, checked and merged at the sha that was seen', async () => {
  const wanted = { title: 'Sum the prices', body: 'Fixes #1', head: 'agent/t-1', base: 'main', draft: true }
  const opened = await bot('POST', `${SHOP}/pulls`, wanted)
  expect(opened).toMatchObject({
    status: 201,
    body: { draft: true, mergeable_state: 'draft', changed_files: 3, user: { login: 'switchyard[bot]' } },
  })
  const pull = `${SHOP}/pulls/${opened.body.number}`
  const { sha } = opened.body.head
  expect((await bot('POST', `${SHOP}/pulls`, wanted)).body.errors[0].message).toBe('A pull request already exists for acme:agent/t-1.')
  expect((await bot('POST', `${SHOP}/pulls`, { ...wanted, head: 'none' })).body.errors[0]).toMatchObject({ field: 'head', code: 'invalid' })
  await mona('POST', `${SHOP}/git/refs`, { ref: 'refs/heads/same', sha: opened.body.base.sha })
  expect((await bot('POST', `${SHOP}/pulls`, { ...wanted, head: 'same' })).body.errors[0].message).toBe('No commits between main and same')
  expect((await bot('GET', `${SHOP}/pulls?head=acme:agent/t-1&state=all`)).body).toHaveLength(1)
  expect((await bot('GET', `${SHOP}/pulls?head=acme:other&state=all`)).body).toHaveLength(0)
  expect((await bot('GET', pull)).body.title).toBe('Sum the prices')
  expect((await bot('PATCH', pull, { title: 'Sum the prices of a cart' })).body.title).toBe('Sum the prices of a cart')
  expect((await bot('GET', `${pull}/files`)).body).toHaveLength(3)
  expect((await bot('GET', `${pull}/commits`)).body).toHaveLength(1)
  expect((await bot('GET', `${SHOP}/commits/${sha}/pulls`)).body).toHaveLength(1)
  expect((await bot('GET', `${pull}/merge`)).status).toBe(404)
  expect((await bot('GET', `${SHOP}/issues/${opened.body.number}`)).body.pull_request.url).toContain('/pulls/')

  expect((await bot('POST', `${pull}/requested_reviewers`, { reviewers: ['mona'] })).body.requested_reviewers).toHaveLength(1)
  expect((await bot('POST', `${pull}/reviews`, { event: 'APPROVE' })).status).toBe(422)
  const line = { path: 'src/cart.js', line: 1, side: 'RIGHT', body: 'And discounts?' }
  const review = await mona('POST', `${pull}/reviews`, { event: 'REQUEST_CHANGES', body: 'One question.', comments: [line] })
  expect(review.body).toMatchObject({ state: 'CHANGES_REQUESTED', user: { login: 'mona' } })
  expect((await mona('POST', `${pull}/reviews`, { event: 'COMMENT', comments: [{ ...line, line: 77 }] })).status).toBe(422)
  expect((await bot('GET', `${pull}/reviews`)).body).toHaveLength(1)
  expect((await bot('GET', `${pull}/reviews/${review.body.id}`)).body.body).toBe('One question.')
  const [root] = (await bot('GET', `${pull}/reviews/${review.body.id}/comments`)).body
  expect(root.diff_hunk).toMatch(/^@@ /)
  const answer = await bot('POST', `${pull}/comments/${root.id}/replies`, { body: 'Later.' })
  expect(answer).toMatchObject({ status: 201, body: { in_reply_to_id: root.id } })
  expect((await mona('POST', `${pull}/comments`, { ...line, commit_id: sha, body: 'Another line.' })).status).toBe(201)
  expect((await bot('GET', `${pull}/comments`)).body).toHaveLength(3)
  expect((await bot('GET', `${SHOP}/pulls/comments?since=2020-01-01T00:00:00Z`)).body).toHaveLength(3)
  expect((await bot('GET', `${SHOP}/pulls/comments/${root.id}`)).body.path).toBe('src/cart.js')
  expect((await bot('PATCH', `${SHOP}/pulls/comments/${answer.body.id}`, { body: 'In another one.' })).body.body).toBe('In another one.')
  const eyes = await bot('POST', `${SHOP}/pulls/comments/${root.id}/reactions`, { content: 'eyes' })
  expect(eyes.status).toBe(201)
  expect((await bot('GET', `${SHOP}/pulls/comments/${root.id}/reactions`)).body).toHaveLength(1)
  expect((await bot('DELETE', `${SHOP}/pulls/comments/${root.id}/reactions/${eyes.body.id}`)).status).toBe(204)
  expect((await bot('DELETE', `${SHOP}/pulls/comments/${answer.body.id}`)).status).toBe(204)

  const queued = await bot('POST', `${SHOP}/check-runs`, { name: 'unit', head_sha: sha, status: 'in_progress' })
  expect(queued.body).toMatchObject({ status: 'in_progress', conclusion: null, pull_requests: [{ number: opened.body.number }] })
  expect((await mona('POST', `${SHOP}/check-runs`, { name: 'unit', head_sha: sha })).status).toBe(403)
  expect((await bot('GET', `${SHOP}/check-runs/${queued.body.id}`)).body.name).toBe('unit')
  expect(
    (await bot('PATCH', `${SHOP}/check-runs/${queued.body.id}`, { conclusion: 'failure', output: { title: 'unit', summary: '1 failed' } }))
      .body,
  ).toMatchObject({ status: 'completed', conclusion: 'failure' })
  expect((await bot('GET', `${SHOP}/commits/agent%2Ft-1/check-runs`)).body.total_count).toBe(1)
  expect((await bot('GET', `${SHOP}/commits/${sha}/check-suites`)).body.check_suites[0].conclusion).toBe('failure')
  expect((await mona('POST', `${SHOP}/statuses/${sha}`, { state: 'success', context: 'ci/old' })).status).toBe(201)
  expect((await bot('GET', `${SHOP}/commits/${sha}/status`)).body.state).toBe('success')

  const merge = `${pull}/merge`
  expect((await bot('PUT', merge, { sha })).status).toBe(405)
  stage.github.operator.setDraft({ repository: 'acme/shop', number: opened.body.number, as: 'mona', draft: false })
  expect((await bot('GET', pull)).body.mergeable_state).toBe('unstable')
  expect((await bot('PUT', merge, { sha: 'f'.repeat(40) })).status).toBe(409)
  expect((await stranger('PUT', merge, { sha })).status).toBe(403)
  const merged = await human('PUT', merge, { sha, merge_method: 'squash' })
  expect(merged.body.merged).toBe(true)
  expect((await bot('GET', merge)).status).toBe(204)
  expect((await bot('GET', pull)).body).toMatchObject({
    merged: true,
    state: 'closed',
    merge_commit_sha: merged.body.sha,
    merged_by: { login: 'hubot-human' },
  })
  expect((await bot('GET', `${SHOP}/git/ref/heads/main`)).body.object.sha).toBe(merged.body.sha)
  expect((await bot('GET', `${SHOP}/issues/1`)).body.state).toBe('closed')
})

test('the deliveries log is read by cursor and a delivery is sent again on request', async () => {
  await stage.github.operator.delivered()
  const first = await app('GET', '/app/hook/deliveries?per_page=5&status=failure')
  expect(first.body).toHaveLength(5)
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1]
  expect((await app('GET', next!.slice(stage.github.apiUrl.length))).body[0].id).toBeLessThan(first.body[4].id)
  const [newest] = first.body
  expect((await app('GET', `/app/hook/deliveries/${newest.id}`)).body.request.headers['X-GitHub-Delivery']).toBe(newest.guid)
  expect((await app('POST', `/app/hook/deliveries/${newest.id}/attempts`)).status).toBe(202)
  await stage.github.operator.delivered()
  expect((await app('GET', '/app/hook/deliveries?per_page=1')).body[0]).toMatchObject({ guid: newest.guid, redelivery: true })
  expect((await mona('GET', '/app/hook/deliveries')).status).toBe(401)

  const hook = stage.github.operator.createHook({ repository: 'acme/shop', url: 'http://127.0.0.1:9/', secret: 's' })
  await mona('POST', `${SHOP}/issues/1/comments`, { body: 'both hooks hear this' })
  await stage.github.operator.delivered()
  const [own] = (await mona('GET', `${SHOP}/hooks/${hook.id}/deliveries`)).body
  expect((await app('GET', '/app/hook/deliveries?per_page=1')).body[0].guid).toBe(own.guid)
  expect((await mona('GET', `${SHOP}/hooks/${hook.id}/deliveries/${own.id}`)).body.request.payload.installation).toBeUndefined()
  expect((await mona('POST', `${SHOP}/hooks/${hook.id}/deliveries/${own.id}/attempts`)).status).toBe(202)
  expect((await human('GET', `${SHOP}/hooks/${hook.id}/deliveries`)).status).toBe(404)
})

test('every route was asked, and neither side of the wire nor a delivery differs from GitHub’s description', () => {
  const asked = stage.calls.map((call) => call.replace(/\/repositories\/\d+/, SHOP))
  const unasked = ROUTES.filter((route) => {
    const source = route.path.replace(/\{(ref|branch|path|basehead)\}/g, '.*').replace(/\{\w+\}/g, '[^/]+')
    return !asked.some((call) => new RegExp(`^${route.method} ${source}$`).test(call))
  })
  expect(unasked.map((route) => `${route.method} ${route.path}`)).toEqual([])
  expect(stage.github.unserved).toEqual([])
  expect([...new Set(stage.github.contractFaults)]).toEqual([])
})
