/** The built-in texts from their files, and a prompt's input with nothing unusual in it, for the tests of this folder. */
import { readFileSync } from 'node:fs'
import { offered } from '../tool/packages.ts'
import type { Role } from '../tool/tool.ts'
import type { PromptInput } from './section.ts'
import { DEFAULT_SECTIONS } from './team.ts'
import { BUILT_IN_TEXTS, builtInFile, builtInText } from './templates.ts'

const root = new URL('../../', import.meta.url)

export const builtInTexts: Readonly<Record<string, string>> = Object.fromEntries(
  BUILT_IN_TEXTS.map((name) => [name, builtInText(name, readFileSync(new URL(builtInFile(name), root), 'utf8'))]),
)

export function promptInput(role: Role, changes: Partial<PromptInput> = {}): PromptInput {
  return {
    role,
    builtIn: builtInTexts,
    overrides: {},
    team: DEFAULT_SECTIONS,
    persona: builtInTexts[`persona/${role}`]!,
    variables: { model: 'scripted-1', provider: 'rehearsal', cwd: role === 'main' ? undefined : '/workspace/widgets' },
    packages: offered(role, { github: true, workspace: role !== 'main', skills: true, subagents: [] }).packages,
    skills: [{ name: 'github', description: 'How work on GitHub goes here.' }],
    environment: [{ name: 'ticket', value: 'T-7' }],
    policy: {
      version: 3,
      mode: 'explicit',
      rules: [{ id: 'r1', name: 'red main', instruction: 'Fix a red default branch.', enabled: true }],
    },
    agentsMd: role === 'main' ? null : { repository: 'acme/widgets', commit: '0a1b2c3', text: 'Run `npm test` before you push.\n' },
    matched: null,
    ...changes,
  }
}
