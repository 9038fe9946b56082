import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { overwrite } from './inside.ts'

/** Overwrites a file and says what a process that was killed around each operation on it would have left. */
async function left(before: string, after: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-inside-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'file.txt')
  writeFileSync(path, before)
  const file = await open(path, 'r+')
  const seen: string[] = []
  const watched = new Proxy(file, {
    get: (real, name: keyof FileHandle) => {
      const member = real[name]
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        const result = await (member as (...given: unknown[]) => unknown).apply(real, given)
        seen.push(readFileSync(path, 'utf8'))
        return result
      }
    },
  })
  await overwrite(watched, after)
  await file.close()
  return seen
}

test('[M4] a file that is overwritten is at no moment empty: the new words stand first, the rest is cut last', async () => {
  expect(await left('the old words', 'new')).toEqual(['new old words', 'new'])
})

test.each([
  ['longer', 'old', 'much longer than it was'],
  ['shorter, with letters of several bytes', 'ö'.repeat(40), '你好'],
  ['as long', 'abc', 'xyz'],
  ['empty', 'words', ''],
  ['of one that was empty', '', 'words'],
])('what is %s is whole in the end', async (_, before, after) => {
  expect((await left(before, after)).at(-1)).toBe(after)
})
