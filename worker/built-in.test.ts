import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtInTexts } from '../core/prompt/fixture.ts'
import { testFolder } from '../test/services.ts'
import { loadBuiltInTexts } from './built-in.ts'

test('[A6] every text of the program is read from its file', () => {
  expect(loadBuiltInTexts()).toEqual(builtInTexts)
})

describe("the deployment's personas", () => {
  const folder = testFolder('personas-')
  const written = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content)
    return name
  }

  test('[C1] one opens the prompt of its role, and the other roles keep theirs', () => {
    const texts = loadBuiltInTexts({ executor: written('executor.md', 'You work here on {{model}} in {{cwd}}.\r\n') }, folder)
    expect(texts['persona/executor']).toBe('You work here on {{model}} in {{cwd}}.\n')
    expect(texts['persona/main']).toBe(builtInTexts['persona/main'])
  })

  test.each<[string, 'main' | 'executor', string | Uint8Array, RegExp]>([
    [
      'a reference that is unknown',
      'executor',
      'On {{modle}}.',
      /^personas\.executor: .*line 1, column 4: "\{\{modle\}\}": no such variable; did you mean \{\{model\}\}\?/,
    ],
    ['a variable that the role has no value for', 'main', 'In {{cwd}}.', /^personas\.main: .*"\{\{cwd\}\}": the variable has no value/],
    [
      'bytes that are no text',
      'executor',
      Uint8Array.from([0x59, 0xff]),
      /^personas\.executor of the deployment file names .*, which is no UTF-8 text/,
    ],
  ])('[D2] %s is told at the start, in a sentence', (_, role, content, expected) => {
    expect(() => loadBuiltInTexts({ [role]: written('bad.md', content) }, folder)).toThrow(expected)
  })

  test('[D2] a file that is not there is told with its path', () => {
    expect(() => loadBuiltInTexts({ main: 'nowhere.md' }, folder)).toThrow(
      /personas\.main of the deployment file names .*nowhere\.md, which cannot be read \(ENOENT\)/,
    )
  })
})
