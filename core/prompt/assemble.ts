/**
 * The system prompt of one model request (spec C1, C4, C5, D1): every section in order, rendered, empty ones dropped, joined by
 * one blank line. Pure: the same input gives the same bytes. A fault names the section and the reference (spec D7).
 */
import { hash } from 'node:crypto'
import { partText } from './generated.ts'
import type { PromptInput, Section, SectionText } from './section.ts'
import { SECTIONS } from './sections.ts'
import { BUILT_IN_TEXTS, builtInFile, missingPlaceholders, placeholdersOf } from './templates.ts'
import { render } from './variables.ts'

export interface AssembledSection {
  name: string
  text: string
  /** sha256 of the text in hex. */
  sha: string
  bytes: number
}

export interface AssemblyFault {
  section: string
  reference: string
  message: string
}

export type Assembled = { sections: AssembledSection[]; text: string; bytes: number } | { fault: AssemblyFault }

/** Between two sections. */
export const SEPARATOR = '\n\n'

export function assemble(input: PromptInput, sections: readonly Section[] = SECTIONS): Assembled {
  const absent = absentText(input)
  if (absent) return { fault: absent }

  const written: AssembledSection[] = []
  for (const section of sections) {
    if (!section.for.includes(input.role)) continue
    const rendered = renderSection(section, input)
    if ('fault' in rendered) return rendered
    const text = withoutOuterBreaks(rendered.text)
    if (text === '') continue
    written.push({ name: section.name, text, sha: hash('sha256', text, 'hex'), bytes: Buffer.byteLength(text) })
  }
  const bytes = written.reduce((sum, section) => sum + section.bytes + SEPARATOR.length, 0) - (written.length > 0 ? SEPARATOR.length : 0)
  return { sections: written, text: systemOf(written), bytes }
}

/** The system prompt that these sections are. */
export const systemOf = (sections: readonly { text: string }[]): string => sections.map(({ text }) => text).join(SEPARATOR)

function renderSection(section: Section, input: PromptInput): { text: string } | { fault: AssemblyFault } {
  const source: SectionText = 'part' in section ? { template: partText(input, section.name) } : section.text(input)
  if (typeof source === 'string') return { text: source }

  const rendered = render(source.template, { section: section.name, variables: input.variables, placeholders: source.placeholders })
  if ('fault' in rendered) return { fault: { section: section.name, reference: rendered.fault.reference, message: rendered.fault.message } }

  const [lost] = source.placeholders ? missingPlaceholders(section.name, source.template) : []
  if (lost === undefined) return rendered
  const message = `${section.name} has lost its placeholder {${lost}}; it must keep ${placeholdersOf(section.name)
    .map((name) => `{${name}}`)
    .join(', ')}`
  return { fault: { section: section.name, reference: `{${lost}}`, message } }
}

/** A text of the program that is not there is a broken installation, said before anything is written. */
function absentText({ builtIn }: PromptInput): AssemblyFault | null {
  const missing = BUILT_IN_TEXTS.find((name) => !Object.hasOwn(builtIn, name))
  if (missing === undefined) return null
  return {
    section: missing,
    reference: missing,
    message: `the built-in text ${missing} was not handed in; it stands in ${builtInFile(missing)}`,
  }
}

/** Files end in a line break and editors differ, so breaks at both ends do not count; anything else stands as typed. */
function withoutOuterBreaks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && text[from] === '\n') from += 1
  while (to > from && text[to - 1] === '\n') to -= 1
  return text.slice(from, to)
}
