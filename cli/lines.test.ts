import { expect, test } from 'vitest'
import { ago, aligned } from './lines.ts'
import { columns, type Style } from './live/style.ts'

const style = (width: number): Style => ({ colour: false, width, since: 0 })

test('columns stand below each other, also where a title is Chinese', () => {
  const rows = [
    [{ text: 'T-1' }, { text: '修复总数' }, { text: 'lin' }],
    [{ text: 'T-12' }, { text: 'Fix' }, { text: 'mara' }],
  ]
  expect(aligned(rows, style(80))).toEqual(['  T-1   修复总数  lin', '  T-12  Fix       mara'])
})

test('a narrow terminal gets the last cell on several lines, whole', () => {
  const words = 'the last cell goes on below itself and nothing of it is lost'
  const lines = aligned([[{ text: 'T-1' }, { text: words }]], style(40))
  expect(lines.length).toBeGreaterThan(1)
  expect(lines.every((line) => columns(line) <= 40)).toBe(true)
  expect(lines.map((line) => line.trim()).join(' ')).toBe(`T-1  ${words}`)
})

test('a title cannot break the line or colour it', () => {
  expect(aligned([[{ text: 'a\nb' }, { text: '\u001b[31mred' }]], style(80))).toEqual(['  a b  \\u{1b}[31mred'])
})

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [60, '1 min'],
  [3_599, '59 min'],
  [3_600, '1 h'],
  [86_399, '23 h'],
  [86_400, '1 d'],
  [-5, '0 s'],
])('%d seconds are %s', (seconds, text) => {
  const now = new Date('2026-11-30T12:00:00Z')
  expect(ago(new Date(now.getTime() - seconds * 1000), now)).toBe(text)
})
