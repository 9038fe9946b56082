/**
 * The configuration as a folder of files that people edit, and back. Paths are the pieces' names: `sections/scope.md`,
 * `overrides/runtime/work.md` with `bases/runtime/work.md` beside, `skills/release-notes/SKILL.md`, and `fields.json` for what a
 * section holds beside its text. A file that is not there follows the program.
 */
import { readSkillFile, skillFile } from '../prompt/skill-file.ts'
import { SECTION_NAMES } from '../prompt/team.ts'
import { type ConfigurationDocument, canonical, type Draft } from './document.ts'
import { sameText } from './drift.ts'
import type { ConfigFault } from './fault.ts'

/** Content by path, with `/` between folders. */
export type Files = Readonly<Record<string, string>>

export function toFiles({ sections, skills, overrides }: Draft): Record<string, string> {
  const fields = SECTION_NAMES.flatMap((name) => {
    const { text: _, ...rest } = sections[name] ?? {}
    // in one order, so that a file differs only where a fact does
    return Object.keys(rest).length === 0 ? [] : [[name, JSON.parse(canonical(rest))] as const]
  })
  return named(
    Object.fromEntries([
      ...SECTION_NAMES.flatMap((name) => (sections[name]?.text === undefined ? [] : [[`sections/${name}.md`, sections[name].text]])),
      ...(fields.length === 0 ? [] : [['fields.json', `${JSON.stringify(Object.fromEntries(fields), null, 2)}\n`]]),
      ...skills.map((skill) => [`skills/${skill.name}/SKILL.md`, skillFile(skill)]),
      ...Object.entries(overrides).flatMap(([part, { text, base }]) => [
        [`overrides/${part}.md`, text],
        ...(base === undefined ? [] : [[`bases/${part}.md`, base]]),
      ]),
    ]),
  )
}

/** A map of its own: a name from outside, such as `constructor`, finds nothing that nobody put there. */
const named = <Value>(entries: Readonly<Record<string, Value>> = {}): Record<string, Value> => Object.assign(Object.create(null), entries)

const LEGAL = `sections/<${SECTION_NAMES.join('|')}>.md, fields.json, skills/<name>/SKILL.md, overrides/<part>.md or bases/<part>.md`

/** A draft, or the files that are none of a configuration. What only gained or lost a break at its end stays as it is stored. */
export function fromFiles(files: Files, stored: ConfigurationDocument): { draft: unknown } | { faults: ConfigFault[] } {
  const faults: ConfigFault[] = []
  const before = toFiles(stored)
  const draft = {
    sections: named<Record<string, unknown>>(),
    skills: [] as unknown[],
    overrides: named<Record<string, string>>(),
  }
  for (const path of Object.keys(files).sort(byFolder)) {
    const text = path in before && sameText(before[path]!, files[path]!) ? before[path]! : files[path]!
    const [, folder, name] = /^(sections|overrides|bases)\/(.+)\.md$/.exec(path) ?? []
    if (folder === 'sections') draft.sections[name!] = { ...draft.sections[name!], text }
    else if (folder !== undefined) draft.overrides[name!] = { ...draft.overrides[name!], [folder === 'bases' ? 'base' : 'text']: text }
    else if (path === 'fields.json') faults.push(...addFields(draft.sections, text))
    else if (/^skills\/[^/]+\/SKILL\.md$/.test(path)) {
      const read = readSkillFile(text.replace(/\r\n?/g, '\n'))
      if ('fault' in read) faults.push({ pointer: `/${path}`, found: read.fault, legal: null })
      else draft.skills.push({ ...read.head, body: read.body })
    } else faults.push({ pointer: `/${path}`, found: 'no file of a configuration', legal: LEGAL })
  }
  // the base of an override that was deleted is nothing by itself
  for (const [part, override] of Object.entries(draft.overrides))
    if (override.text === undefined && override.base !== undefined) delete draft.overrides[part]
  return faults.length > 0 ? { faults } : { draft }
}

/** As names are ordered: the skill `notes` before `notes-old`, although / comes after -. */
function byFolder(a: string, b: string): number {
  const [one, other] = [a, b].map((path) => path.replaceAll('/', '\0'))
  return one! < other! ? -1 : 1
}

function addFields(sections: Record<string, Record<string, unknown>>, text: string): ConfigFault[] {
  const fields = parsed(text)
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields))
    return [{ pointer: '/fields.json', found: 'found no JSON object', legal: 'an object with communication and delivery' }]
  for (const [name, of] of Object.entries(fields)) {
    if (of === null || typeof of !== 'object' || Array.isArray(of))
      return [{ pointer: `/fields.json/${name}`, found: 'found no object', legal: 'an object of fields' }]
    // a text in there would be a second owner of the section's words
    if ('text' in of)
      return [{ pointer: `/fields.json/${name}/text`, found: `the text of a section stands in its file`, legal: `sections/${name}.md` }]
    sections[name] = { ...sections[name], ...of }
  }
  return []
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The paths whose content differs. */
export function changedPaths(from: Files, to: Files): string[] {
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((path) => from[path] !== to[path]).sort()
}

/** A draft that leaves out a base means the stored one (spec B8), so to leave it out changes no file. */
export const withStoredBases = (draft: Draft, { overrides: stored }: ConfigurationDocument): Draft => ({
  ...draft,
  overrides: Object.fromEntries(
    Object.entries(draft.overrides).map(([part, { text, base }]) => {
      const known = base ?? (Object.hasOwn(stored, part) ? stored[part]!.base : undefined)
      return [part, known === undefined ? { text } : { text, base: known }]
    }),
  ),
})

interface Sides {
  base: Files
  mine: Files
  theirs: Files
  /** Files in which people brought both changes together by hand: mine stands. */
  merged?: readonly string[]
}

/** What `mine` changed since `base`, done to `theirs` (spec K3); or the files that both changed, each in another way. */
export function carriedOver({ base, mine, theirs, merged = [] }: Sides): { files: Record<string, string> } | { conflicts: string[] } {
  const changed = changedPaths(base, mine)
  const conflicts = changed.filter((path) => theirs[path] !== base[path] && theirs[path] !== mine[path] && !merged.includes(path))
  if (conflicts.length > 0) return { conflicts }
  const files = named(theirs)
  for (const path of changed) {
    if (Object.hasOwn(mine, path)) files[path] = mine[path]!
    else delete files[path]
  }
  return { files }
}

/** The names under which `config show` has what stands in a file. */
export function piecesIn(path: string): string[] {
  const name = /^(?:sections|overrides|bases)\/(.+)\.md$|^skills\/([^/]+)\//.exec(path)
  return name ? [name[1] ?? name[2]!] : ['communication', 'delivery']
}
