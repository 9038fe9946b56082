/** The contract itself: what GitHub's description does not allow is named, on either side. */
import { beforeAll, expect, test } from 'vitest'
import { type Contract, createContract } from './contract.ts'

let contract: Contract
beforeAll(() => {
  contract = createContract()
})

const none = new URLSearchParams()

test.each<[string, string, string, string, unknown, RegExp | null]>([
  ['a comment is legal', 'POST', '/repos/a/b/issues/1/comments', '', { body: 'x' }, null],
  ['a repository by its number is legal though undescribed', 'GET', '/repositories/7', '', undefined, null],
  ['a ref with a slash is legal', 'GET', '/repos/a/b/git/ref/heads/agent/t-1', '', undefined, null],
  ['numbers in a query are legal', 'GET', '/repos/a/b/issues', 'per_page=100&page=2', undefined, null],
  ['a missing field', 'POST', '/repos/a/b/issues/1/comments', '', {}, /required property 'body'/],
  ['a field of another type', 'POST', '/repos/a/b/issues/1/comments', '', { body: 7 }, /\/body must be string/],
  [
    'a field that was made up',
    'POST',
    '/repos/a/b/issues/1/comments',
    '',
    { body: 'x', in_reply_to: 3 },
    /additional properties \(in_reply_to\)/,
  ],
  ['a word outside the list', 'POST', '/repos/a/b/issues/1/reactions', '', { content: 'thumbs' }, /allowed values/],
  ['a made-up query', 'GET', '/repos/a/b/pulls', 'branch=x', undefined, /additional properties \(branch\)/],
  ['a word in a query outside the list', 'GET', '/repos/a/b/pulls', 'state=merged', undefined, /state must be equal to one of/],
  ['a route that does not exist', 'POST', '/repos/a/b/issues/1/comment', '', { body: 'x' }, /no such route/],
])('a request: %s', (_, method, path, query, body, fault) => {
  const faults = contract.request(method, path, new URLSearchParams(query), body)
  if (fault) expect(faults.join('\n')).toMatch(fault)
  else expect(faults).toEqual([])
})

test.each<[string, string, string, number, unknown, RegExp | null]>([
  [
    'a refusal in GitHub’s shape is legal',
    'GET',
    '/repos/a/b',
    404,
    { message: 'Not Found', documentation_url: 'https://x', status: '404' },
    null,
  ],
  ['a refusal without its words', 'GET', '/repos/a/b', 404, { error: 'gone' }, /required property 'message'/],
  ['a status that is not described', 'GET', '/repos/a/b/issues', 201, [], /no such answer/],
  ['a body where there is none', 'DELETE', '/repos/a/b/issues/comments/1', 204, { ok: true }, /sends no body/],
  ['a thin answer', 'GET', '/repos/a/b/issues/1', 200, { number: 1 }, /required property 'html_url'/],
  ['an answer of a route that does not exist', 'GET', '/nowhere', 200, {}, /no such route/],
])('an answer: %s', (_, method, path, status, body, fault) => {
  const faults = contract.response(method, path, status, body)
  if (fault) expect(faults.join('\n')).toMatch(fault)
  else expect(faults).toEqual([])
})

test('null is legal exactly where the description says nullable', () => {
  const reaction = { id: 1, node_id: 'x', user: null, content: 'eyes', created_at: '2026-01-01T00:00:00Z' }
  expect(contract.response('GET', '/repos/a/b/issues/1/reactions', 200, [reaction])).toEqual([])
  expect(contract.response('GET', '/repos/a/b/issues/1/reactions', 200, [{ ...reaction, content: null }]).join()).toContain('/0/content')
})

test('a delivery that GitHub does not know, and a thin one', () => {
  expect(contract.delivery('pull_request', 'merged', {})).toEqual(['delivery pull-request-merged: GitHub describes no such delivery'])
  expect(contract.delivery('issues', 'opened', { action: 'opened' }).join('\n')).toContain("required property 'issue'")
  expect(contract.request('GET', '/repos/a/b', none, undefined)).toEqual([])
})
