import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mean } from '../src/mean.js'

test('the mean of three values', () => {
  assert.equal(mean([1, 2, 6]), 3)
})

test('no values have no mean', () => {
  assert.throws(() => mean([]), RangeError)
})
