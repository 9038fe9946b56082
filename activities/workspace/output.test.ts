import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keeper, legible } from './output.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchyard-output-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function keep(chunks: Buffer[], { keep = 300, limit = 1_000_000 } = {}) {
  const kept = keeper({ keep, limit, file: join(folder, 'whole.txt') })
  const taken: boolean[] = []
  for (const chunk of chunks) taken.push(await kept.take(chunk))
  return { ...(await kept.end()), taken }
}

test('[F332] bytes that are no text, and control characters but tab and line ends, are shown as escapes', () => {
  expect(legible(Buffer.from('a\0b\x1b[31m\ttab\r\n\x7f'))).toBe('a\\x00b\\x1b[31m\ttab\r\n\\x7f')
  expect(legible(Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xe4, 0xbf]))).toBe('a\\xff\\xc3(\\xed\\xa0\\x80\\xe4\\xbf')
})

test('[F332] well-formed text is left as it is, and every result is well formed and without NUL', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      (text) =>
        legible(Buffer.from(text)) ===
        text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`),
    ),
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => legible(bytes).isWellFormed() && !legible(bytes).includes('\0')))
})

test('what fits is shown whole and makes no file', async () => {
  expect(await keep([Buffer.from('hello '), Buffer.from('world')])).toMatchObject({ output: 'hello world', outputBytes: 11, cut: null })
  expect(() => readFileSync(join(folder, 'whole.txt'))).toThrow('ENOENT')
})

test('[F334] of more, the first and the last part is shown, and the whole is in the file, said in bytes', async () => {
  const lines = Array.from({ length: 1_000 }, (_, at) => `line ${at}\n`)
  const whole = lines.join('')
  const { output, cut, outputBytes } = await keep(lines.map((line) => Buffer.from(line)))
  expect(outputBytes).toBe(whole.length)
  expect(cut).toEqual({ shown: 300, total: whole.length, file: join(folder, 'whole.txt') })
  expect(output.startsWith('line 0\n')).toBe(true)
  expect(output.endsWith('line 999\n')).toBe(true)
  expect(output).toContain(
    `[${whole.length - 300} bytes left out here; the whole output, ${whole.length} bytes, is in ${join(folder, 'whole.txt')}]`,
  )
  expect(readFileSync(join(folder, 'whole.txt'), 'utf8')).toBe(whole)
})

test('no character is broken where the output is cut, however it comes in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 7 }), async (shift, size) => {
      rmSync(join(folder, 'whole.txt'), { force: true })
      const whole = Buffer.from('x'.repeat(shift) + '修复🚂é'.repeat(100))
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, (at + 1) * size))
      const { output, cut } = await keep(chunks)
      expect(output).not.toMatch(/\\x|\ufffd/)
      expect(cut!.shown).toBeGreaterThan(290)
      expect(readFileSync(join(folder, 'whole.txt')).equals(whole)).toBe(true)
    }),
    { numRuns: 40 },
  )
})

test('output that is all escapes does not grow fourfold', async () => {
  const { output, cut } = await keep([Buffer.alloc(5_000, 0xff)], { keep: 1_000 })
  expect(cut!.shown).toBeLessThanOrEqual(250)
  expect(output.length).toBeLessThan(1_300)
})

test('at the limit nothing more is taken, and that is told', async () => {
  const { taken, outputBytes } = await keep([Buffer.alloc(600, 'a'), Buffer.alloc(600, 'b'), Buffer.alloc(600, 'c')], { limit: 1_000 })
  expect(taken).toEqual([true, false, false])
  expect(outputBytes).toBe(1_000)
})
