/** Which rule meets what, as a table, and what an operator is told who gives none. */
import { expect, test } from 'vitest'
import { createFaults, type Live, pick, type Rule, type Seen } from './faults.ts'
import { createOutage } from './outage.ts'

const comment: Seen = { kind: 'api', method: 'POST', path: '/repos/acme/shop/issues/1/comments', graphql: null, token: 'ghs_1' }
const mutation: Seen = { kind: 'api', method: 'POST', path: '/graphql', graphql: 'mutation { markReady }', token: 'ghs_1' }
const push: Seen = { kind: 'git', method: 'POST', path: '/acme/shop.git/git-receive-pack', token: 'ghs_1' }
const opened: Seen = { kind: 'delivery', event: 'issues.opened' }

test.each<[string, Rule, Seen, boolean]>([
  ['a rule without a match meets any request', { does: '502 before' }, comment, true],
  ['method and path', { does: '502 before', match: { method: 'post', path: '/comments$' } }, comment, true],
  ['another method', { does: '502 before', match: { method: 'GET', path: '/comments$' } }, comment, false],
  ['another path', { does: '502 before', match: { path: '^/graphql' } }, comment, false],
  ['a query’s text', { does: 'reset before', match: { graphql: 'mark\\w+' } }, mutation, true],
  ['another query', { does: 'reset before', match: { graphql: 'convert' } }, mutation, false],
  ['no query at all', { does: 'reset before', match: { graphql: '.*' } }, comment, false],
  ['git by its path', { does: 'hang', ms: 5, match: { path: 'git-receive-pack$' } }, push, true],
  ['git has no JSON that could be cut', { does: 'truncate' }, push, false],
  ['git counts no limits', { does: 'secondary limit' }, push, false],
  ['a rule for requests meets no delivery', { does: 'delay', ms: 5 }, opened, false],
  ['a delivery by its event', { does: 'drop', match: { event: '^issues\\.' } }, opened, true],
  ['another event', { does: 'drop', match: { event: '^push' } }, opened, false],
  ['a rule for deliveries meets no request', { does: 'drop' }, comment, false],
  ['a token ends for its holder', { does: 'token expired' }, comment, true],
  ['an App’s own signature is no token', { does: 'token expired' }, { ...comment, token: 'a.b.c' }, false],
  ['nobody has no token', { does: 'token expired' }, { ...comment, token: null }, false],
  ['an outage is no request’s rule', { does: 'outage', ms: 5 }, comment, false],
])('pick: %s', (_, rule, seen, isMet) => {
  const live: Live = { rule, left: 1 }
  expect(pick([live], seen)).toBe(isMet ? live : null)
  expect(pick([{ rule, left: 0 }], seen)).toBeNull()
})

test('pick: of several the first that fits and is not used up', () => {
  const used: Live = { rule: { does: '502 before' }, left: 0 }
  const other: Live = { rule: { does: 'drop' }, left: 1 }
  const first: Live = { rule: { does: 'reset before' }, left: 1 }
  const second: Live = { rule: { does: 'truncate' }, left: 1 }
  expect(pick([used, other, first, second], comment)).toBe(first)
})

const line = { cut: () => undefined, restore: async () => undefined }

test.each<[string, unknown, RegExp]>([
  ['no list', { does: 'drop' }, /takes a list of rules/],
  ['an unknown deed', [{ does: 'explode' }], /rule 1: does "explode" is unknown; legal are delay, /],
  ['a delay of no length', [{ does: 'drop' }, { does: 'delay' }], /rule 2: "delay" needs ms/],
  ['no times at all', [{ does: 'drop', times: 0 }], /times is a whole number from 1 on/],
  ['a request’s match for a delivery', [{ does: 'drop', match: { path: 'x' } }], /match.path is unknown here; legal are event/],
  ['a broken expression', [{ does: '502 before', match: { path: '(' } }], /match.path: Invalid regular expression/],
])('the operator’s mistake is told: %s', async (_, rules, words) => {
  await expect(createFaults(createOutage(line, String)).set(rules)).rejects.toThrow(words)
})
