import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageCount, pageOf } from '../src/pages.js'

test('an empty catalogue has no pages', () => {
  assert.equal(pageCount(0, 10), 0)
})

test('full pages are counted', () => {
  assert.equal(pageCount(20, 10), 2)
})

test('a partly filled last page is counted', () => {
  assert.equal(pageCount(5, 2), 3)
})

test('the last page holds what is left', () => {
  assert.deepEqual(pageOf(['a', 'b', 'c', 'd', 'e'], 3, 2), ['e'])
})

test('a page without room is refused', () => {
  assert.throws(() => pageCount(5, 0), RangeError)
})
