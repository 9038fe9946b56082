/** The program's own texts, read once at start: a missing file is a broken installation and said at once (spec A6). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_IN_TEXTS, builtInFile, builtInText } from '../core/prompt/templates.ts'
import { ROOT } from './environment.ts'

export function loadBuiltInTexts(): Record<string, string> {
  return Object.fromEntries(BUILT_IN_TEXTS.map((name) => [name, builtInText(name, readFileSync(join(ROOT, builtInFile(name)), 'utf8'))]))
}
