import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { flawOfBranch, flawOfCommit } from './branch.ts'

test.each(['main', 'fix#12', '$(id)', '`id`;x', '修复/登录', 'a&b', 'a@b', '+x', 'release/1.2.x', 'x.locked'])(
  '[F299] [F346] %s is a branch name, and git says so too',
  (name) => {
    expect(flawOfBranch(name)).toBeNull()
    expect(spawnSync('git', ['check-ref-format', `refs/heads/${name}`]).status).toBe(0)
  },
)

test.each([
  'a..b',
  'a b',
  'x.lock',
  'a/x.lock/b',
  '.x',
  'a/.x',
  'a//b',
  '/a',
  'a/',
  'a:b',
  'a~1',
  'a^',
  'a?',
  'a*',
  'a[b',
  'a\\b',
  'a.',
  'a@{1}',
  'x\ny',
  '',
])('[F346] %j is none, and git says so too', (name) => {
  expect(flawOfBranch(name)).toContain('is no branch name')
  expect(spawnSync('git', ['check-ref-format', `refs/heads/${name}`]).status).toBe(1)
})

test.each(['-f', '--force', 'HEAD', '@', 'refs/heads/x', '\ud800', 'x'.repeat(201)])(
  '[F346] %j is legal to git, or nearly, and would be misread somewhere',
  (name) => {
    expect(flawOfBranch(name)).toContain('is no branch name')
  },
)

test('only a full commit id is one', () => {
  expect(flawOfCommit('a'.repeat(40))).toBeNull()
  expect(flawOfCommit('a'.repeat(64))).toBeNull()
  for (const sha of ['', 'HEAD', 'a'.repeat(39), 'A'.repeat(40), `${'a'.repeat(40)}\n`])
    expect(flawOfCommit(sha)).toContain('no full commit id')
})
