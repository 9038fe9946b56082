/** The prompt configuration in words: what the team set, piece by piece. A piece is a section, a part or a skill of the team. */
import { SECTION_NAMES, type SectionName } from '../prompt/team.ts'
import { isPart, PARTS } from '../prompt/templates.ts'
import type { ConfigurationDocument, Draft } from './document.ts'
import { defaultChanged, drift, sameText } from './drift.ts'

type Texts = Readonly<Record<string, string>>

/** What the team set and what changed under it, a line each. */
export function overview(document: ConfigurationDocument, builtIn: Texts): string {
  const drifts = drift(document, builtIn)
  const { sections, skills } = document
  return [
    `sections that the team wrote: ${list(SECTION_NAMES.filter((name) => sections[name]?.text !== undefined))}`,
    `fields that it set: ${list(SECTION_NAMES.flatMap((name) => fieldsOf(sections[name]).map(([field]) => `${name}.${field}`)))}`,
    `skills of the team: ${list(skills.map(({ name }) => name))}`,
    `overridden parts: ${list(drifts.map(({ part, state }) => (state === 'current' ? part : `${part} (${state})`)))}`,
    `default_changed: ${list(defaultChanged(drifts))}`,
  ].join('\n')
}

/** One piece in full; `null`: there is none of that name. */
export function piece(document: ConfigurationDocument, builtIn: Texts, name: string): string | null {
  if (isSection(name)) {
    const section = document.sections[name]
    const fields = fieldsOf(section).map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
    return [...written(name, section?.text ?? null, builtIn[`sections/${name}`]!), ...fields].join('\n')
  }
  if (isPart(name)) {
    const found = drift(document, builtIn).find(({ part }) => part === name)
    if (!found) return written(name, null, builtIn[name]!).join('\n')
    const was = sameText(found.base, builtIn[name]!) ? [] : ['', 'The built-in text that it was made from:', found.base]
    const faults = found.faults.map((fault) => `invalid, so the built-in text is used: ${fault.found}`)
    return [
      `${name}: ${found.state}`,
      ...faults,
      ...written(name, found.text, builtIn[name]!),
      '',
      'The built-in text of today:',
      builtIn[name]!,
      ...was,
    ].join('\n')
  }
  const skill = document.skills.find((each) => each.name === name)
  if (skill) return `skill ${skill.name}: ${skill.description}\n\n${skill.body}`
  if (!Object.hasOwn(document.overrides, name)) return null
  return [`${name}: removed, since this version has no such part; dropped at the next save`, document.overrides[name]!.text].join('\n')
}

export const pieceNames = ({ skills, overrides }: ConfigurationDocument): string[] => [
  ...SECTION_NAMES,
  ...PARTS,
  ...skills.map(({ name }) => name),
  ...Object.keys(overrides).filter((name) => !isPart(name)),
]

/** A draft in which pieces are written anew, or follow the program again (spec B8). */
export type PieceChange = { piece: string; text: string | null }

export function withPieces({ sections, skills, overrides }: ConfigurationDocument, changes: readonly PieceChange[]): Draft {
  const draft: Draft = { sections: { ...sections }, skills, overrides: { ...overrides } }
  for (const { piece: name, text } of changes) {
    if (isSection(name)) {
      const { text: _, ...fields } = draft.sections[name] ?? {}
      draft.sections[name] = text === null ? fields : { ...fields, text }
    } else if (text === null) {
      delete draft.overrides[name]
    } else {
      // its stored base stays (spec B8)
      draft.overrides[name] = Object.hasOwn(overrides, name) ? { text, base: overrides[name]!.base } : { text }
    }
  }
  return draft
}

const isSection = (name: string): name is SectionName => (SECTION_NAMES as readonly string[]).includes(name)

const fieldsOf = (section: object | undefined): [string, unknown][] => Object.entries(section ?? {}).filter(([field]) => field !== 'text')

const written = (name: string, text: string | null, builtIn: string): string[] =>
  text === null ? [`${name}: the built-in text`, builtIn] : [`${name}: the team's text`, text]

const list = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '))
