/**
 * What is wrong with a text as an override of a part: a placeholder that it lost (spec B2), a reference that is unknown or has no
 * value for a role that reads the part (spec D2). Found by the renderer that will render it, so what passes here renders.
 */
import { exampleValues, REGISTERED } from '../prompt/registered.ts'
import { SECTIONS } from '../prompt/sections.ts'
import { missingPlaceholders, type Part, placeholdersOf } from '../prompt/templates.ts'
import { referenceFaults } from '../prompt/variables.ts'
import type { Role } from '../tool/tool.ts'

export interface TextFault {
  found: string
  legal: string
}

export function partFaults(part: Part, text: string): TextFault[] {
  return [...lostPlaceholders(part, text), ...badReferences(part, text)]
}

function lostPlaceholders(part: Part, text: string): TextFault[] {
  return missingPlaceholders(part, text).map((name) => ({
    found: `the placeholder {${name}} of ${part} is missing`,
    legal: `a text that keeps ${placeholdersOf(part)
      .map((each) => `{${each}}`)
      .join(', ')}`,
  }))
}

function badReferences(part: Part, text: string): TextFault[] {
  const placeholders = Object.fromEntries(placeholdersOf(part).map((name) => [name, '']))
  const everyone = Object.keys(REGISTERED)
    .filter((name) => rolesThatRead(part).every((role) => exampleValues(role)[name] !== undefined))
    .sort()
  const faults = rolesThatRead(part).flatMap((role) =>
    referenceFaults(text, { section: part, variables: exampleValues(role), placeholders }).map((fault) => ({ ...fault, role })),
  )
  return [...Map.groupBy(faults, ({ line, column }) => `${line}:${column}`).values()].map((same) => {
    const { reference, line, column, problem, role } = same[0]!
    const everywhere = same.length === rolesThatRead(part).length
    return {
      found: `${JSON.stringify(reference)} in ${part}, line ${line}, column ${column}: ${everywhere ? problem : `no value for ${NAMES[role]}, which reads this part too`}`,
      legal: `a variable that all its readers have (${everyone.join(', ')}), or {{{{ for a literal {{`,
    }
  })
}

const NAMES: Readonly<Record<Role, string>> = { main: 'the main Session', executor: 'an Executor', subagent: 'a subagent' }

/** The skills are loaded on demand and never scanned, so no role reads them as a section. */
const rolesThatRead = (part: Part): readonly Role[] => SECTIONS.find(({ name }) => name === part)?.for ?? []
