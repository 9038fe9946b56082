/** The program's own texts, read once at start: a missing file is a broken installation and said at once (spec A6). */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DeploymentFile } from '../core/deployment/settings.ts'
import { exampleValues } from '../core/prompt/registered.ts'
import { BUILT_IN_TEXTS, builtInFile, builtInText } from '../core/prompt/templates.ts'
import { render } from '../core/prompt/variables.ts'
import type { Role } from '../core/tool/tool.ts'
import { ROOT } from './environment.ts'

/** With the deployment's personas in place of those of the program. Throws a sentence about one that cannot be read or rendered. */
export function loadBuiltInTexts(personas: DeploymentFile['personas'] = {}, folder = ROOT): Record<string, string> {
  return {
    ...Object.fromEntries(BUILT_IN_TEXTS.map((name) => [name, builtInText(name, readFileSync(join(ROOT, builtInFile(name)), 'utf8'))])),
    ...Object.fromEntries(
      Object.entries(personas).flatMap(([role, path]) =>
        path === undefined ? [] : [[`persona/${role}`, persona(role as Role, resolve(folder, path))]],
      ),
    ),
  }
}

function persona(role: Role, path: string): string {
  const text = readText(path, `personas.${role} of the deployment file`)
  const rendered = render(text, { section: path, variables: exampleValues(role) })
  if ('fault' in rendered) throw new Error(`personas.${role}: ${rendered.fault.message}`)
  return text
}

function readText(path: string, what: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)).replace(/\r\n?/g, '\n')
    if (text.includes('\0')) throw new TypeError('NUL')
    return text
  } catch (error) {
    if (error instanceof TypeError) throw new Error(`${what} names ${path}, which is no UTF-8 text`)
    throw new Error(`${what} names ${path}, which cannot be read (${(error as { code?: string }).code})`)
  }
}
