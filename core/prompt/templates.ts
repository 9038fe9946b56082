/** The parts of the built-in prompt (spec B1), and the placeholders that three of them must keep (spec B2). */
import { readSkillFile } from './skill-file.ts'
import { scan } from './variables.ts'

export const PARTS = [
  'runtime/shared',
  'runtime/orchestrator',
  'runtime/worker',
  'runtime/subscriptions',
  'runtime/replies',
  'runtime/dispatch',
  'runtime/work',
  'runtime/admission',
  'runtime/handoff/orchestrator',
  'runtime/handoff/worker',
  'skill/feishu',
  'skill/github',
  'runtime/environment',
  'runtime/policy',
  'runtime/policy/none',
] as const

export type Part = (typeof PARTS)[number]

export const isPart = (name: string): name is Part => (PARTS as readonly string[]).includes(name)

/** Skills that the program brings; their names are taken (spec K5). */
export const BUILT_IN_SKILLS = ['feishu', 'github'] as const

/** Every text that the program brings, by name; `builtInFile` says where it stands (spec A6). `catalogue/…` is a skill's description. */
export const BUILT_IN_TEXTS: readonly string[] = [
  'harness/identity',
  'persona/main',
  'persona/executor',
  'persona/subagent',
  'habit/files',
  'habit/shell',
  'sections/communication',
  'sections/scope',
  'sections/delivery',
  'catalogue/feishu',
  'catalogue/github',
  ...PARTS,
]

const SKILL_TEXT = /^(skill|catalogue)\/(.+)$/

/** From the project's root. A skill is a folder, so that it can hold more than its text. */
export function builtInFile(name: string): string {
  const skill = SKILL_TEXT.exec(name)
  return skill ? `skills/${skill[2]}/SKILL.md` : `prompts/${name}.md`
}

/** What of that file's text is meant: of a skill the body, or its description for the catalogue. */
export function builtInText(name: string, file: string): string {
  const skill = SKILL_TEXT.exec(name)
  if (!skill) return file
  const read = readSkillFile(file)
  if ('fault' in read) throw new Error(`${builtInFile(name)}: ${read.fault}`)
  return skill[1] === 'skill' ? read.body : String(read.head.description)
}

/** Placeholder names are a public interface: renaming one would discard every team's text that uses it. */
export const PLACEHOLDERS = {
  'runtime/environment': ['variables'],
  'runtime/policy': ['version', 'mode', 'rules'],
  'runtime/policy/none': ['version', 'mode'],
} as const satisfies Partial<Record<Part, readonly string[]>>

/** The required placeholders that a part's text has lost, found by the scanner that will replace them. */
export function missingPlaceholders(part: string, text: string): string[] {
  const required = placeholdersOf(part)
  const kept = new Set(scan(text, required).flatMap((token) => (token.kind === 'placeholder' ? token.name : [])))
  return required.filter((name) => !kept.has(name))
}

export function placeholdersOf(part: string): readonly string[] {
  return Object.hasOwn(PLACEHOLDERS, part) ? PLACEHOLDERS[part as keyof typeof PLACEHOLDERS] : []
}
