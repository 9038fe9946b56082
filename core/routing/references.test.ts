import { expect, test } from 'vitest'
import { findReferences } from './references.ts'
import type { Reference } from './trigger.ts'

const sha = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821'
const issue = (number: number, repository: string | null = 'acme/shop'): Reference => ({ kind: 'issue', repository, number })
const commit = (written: string, repository: string | null = 'acme/shop'): Reference => ({ kind: 'commit', repository, sha: written })

test.each<[string, Reference[]]>([
  ['see #7', [issue(7)]],
  ['#7 and #7 and #8', [issue(7), issue(8)]],
  ['(#7), GH-9', [issue(7), issue(9)]],
  ['acme/other.js#12', [issue(12, 'acme/other.js')]],
  [`fixed by ${sha}`, [commit(sha)]],
  [`acme/other@${sha.slice(0, 7)}`, [commit(sha.slice(0, 7), 'acme/other')]],
  ['like T-12, not t-1 or XT-3 or T-4x', [{ kind: 'ticket', number: 12 }]],
  ['关于#7的问题', [issue(7)]],
  ['https://github.com/acme/shop/pull/91.', [{ kind: 'url', url: 'https://github.com/acme/shop/pull/91' }, issue(91)]],
  [
    '[this](https://github.com/acme/shop/issues/88#issuecomment-55)',
    [{ kind: 'url', url: 'https://github.com/acme/shop/issues/88#issuecomment-55' }, issue(88)],
  ],
  ['https://github.com/acme/shop/commit/ec26c3e', [{ kind: 'url', url: 'https://github.com/acme/shop/commit/ec26c3e' }, commit('ec26c3e')]],
  [
    'https://github.com/acme/shop/tree/fix%2312',
    [
      { kind: 'url', url: 'https://github.com/acme/shop/tree/fix%2312' },
      { kind: 'branch', repository: 'acme/shop', name: 'fix#12' },
    ],
  ],
  ['https://elsewhere.example/acme/shop/pull/91', [{ kind: 'url', url: 'https://elsewhere.example/acme/shop/pull/91' }]],
  ['见 https://github.com/acme/shop/pull/91。', [{ kind: 'url', url: 'https://github.com/acme/shop/pull/91' }, issue(91)]],
])('[G5] %j refers to %j', (text, references) => {
  expect(findReferences(text, { repository: 'acme/shop' })).toEqual(references)
})

test.each(['`#7`', '> #7', '```\n#7\n```', '#0', 'abc#7', '&#39;', '#7a', 'colour #123abc', 'ec26c3e', '', 'https://[', '# heading'])(
  '[G5] %j refers to nothing',
  (text) => expect(findReferences(text, { repository: 'acme/shop' })).toEqual([]),
)

test("[G5] in a chat a bare number has no repository, and another host may be the deployment's own", () => {
  expect(findReferences('#7', { repository: null })).toEqual([issue(7, null)])
  expect(findReferences('https://git.acme.example/acme/shop/pull/3', { repository: null, host: 'git.acme.example' })).toContainEqual(
    issue(3),
  )
})

test('[G5] takes work in proportion to the text', () => {
  for (const piece of ['a/', 'a.', '#1 ', 'https://', 'https://x)', ')', '@', 'T-', 'a/b@', '0123456789abcdef']) {
    expect(findReferences(piece.repeat(65_536 / piece.length), { repository: null })).toBeInstanceOf(Array)
  }
}, 20_000)
