/**
 * Which test proves which rule, and which real-world failure. Read from the titles in the tests' sources: a title that opens with
 * ids (`[P4]`, `[F044, F045]`) proves them, at most three. `node test/conformance.ts` rewrites `docs/conformance.md`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AREAS, RULES } from './rules.ts'

export interface Proof {
  /** From the project's root. */
  file: string
  /** As it stands in the source, ids included; a title made for each row of a table shows its pattern. */
  title: string
  ids: string[]
}

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const DOCUMENT = join(ROOT, 'docs', 'conformance.md')

/** A test that names more proves none of them: nobody can say which part stands for which rule. */
const MOST_IDS = 3

export function readProofs(root = ROOT): Proof[] {
  return testFiles(root).flatMap((file) => proofsIn(file, readFileSync(join(root, file), 'utf8')))
}

/** Titles are found as string literals that open with ids, so those in a table of cases count as well. */
export function proofsIn(file: string, source: string): Proof[] {
  const titles = [...source.matchAll(/(['"`])(\[[A-Z]\d+\b(?:\\.|(?!\1)[^\\\n])*)\1/g)].map(([, , written]) => unescaped(written!))
  return [...new Set(titles)].flatMap((title) => {
    const ids = idsOf(title)
    return ids.length > 0 && ids.length <= MOST_IDS ? [{ file, title, ids }] : []
  })
}

/** The ids with which a title opens. */
export function idsOf(title: string): string[] {
  const opening = /^((?:\[[A-Z]\d+(?:,\s*[A-Z]\d+)*\]\s*)+)\S/.exec(title)?.[1] ?? ''
  return opening.match(/[A-Z]\d+/g) ?? []
}

export const isRule = (id: string): boolean => Object.hasOwn(RULES, id)
export const isFault = (id: string): boolean => /^F\d{3}$/.test(id)

export function renderConformance(proofs: readonly Proof[]): string {
  const provenBy = (id: string) => proofs.filter(({ ids }) => ids.includes(id))
  const areas = Object.entries(AREAS).map(([area, name]) => {
    const ids = Object.keys(RULES).filter((id) => id.startsWith(area))
    const proven = ids.filter((id) => provenBy(id).length > 0)
    return { area, name, ids, proven }
  })
  const rules = areas.flatMap(({ ids }) => ids)
  const open = rules.filter((id) => provenBy(id).length === 0)
  const faults = [...new Set(proofs.flatMap(({ ids }) => ids.filter(isFault)))].toSorted()
  return [
    '# Conformance',
    '',
    'Which test proves which rule. Written by `node test/conformance.ts` from the titles of the tests; do not edit it by hand.',
    'A rule that a test names is proven as far as the test goes: many rules reach further than what is built today.',
    '',
    `${rules.length - open.length} of ${rules.length} rules and ${faults.length} cases of real-world failures are named by a test.`,
    '',
    '| area | about | rules | named by a test |',
    '|---|---|---|---|',
    ...areas.map(({ area, name, ids, proven }) => `| ${area} | ${name} | ${ids.length} | ${proven.length} |`),
    '',
    '## Rules',
    ...areas
      .filter(({ proven }) => proven.length > 0)
      .flatMap(({ area, name, proven }) => [
        '',
        `### ${area}. ${name}`,
        '',
        ...proven.flatMap((id) => [`- **${id}** ${RULES[id as keyof typeof RULES]}`, ...provenBy(id).map(line)]),
      ]),
    '',
    '## Rules that no test names yet',
    '',
    ...open.map((id) => `- **${id}** ${RULES[id as keyof typeof RULES]}`),
    '',
    '## Real-world failures',
    '',
    'Each number is one failure that was seen in the world, here or in another product, with the behaviour that is right.',
    '',
    ...faults.flatMap((id) => [`- **${id}**`, ...provenBy(id).map(line)]),
    '',
  ].join('\n')
}

const line = ({ file, title }: Proof): string => `  - ${escaped(title)} — [${file}](../${file})`

/** The tests that a document names, as they were when it was written. */
export function namedIn(document: string): Pick<Proof, 'file' | 'title'>[] {
  return [...document.matchAll(/^ {2}- (.+) — \[[^\]\n]+\]\(\.\.\/([^)\n]+)\)$/gm)].map(([, title, file]) => ({
    file: file!,
    title: asWritten(title!),
  }))
}

/** Of a string literal: escaped quotes and backslashes; a title has no other. */
const unescaped = (literal: string): string => literal.replace(/\\([^\w\s])/g, '$1')

/** Markdown reads none of it. */
const escaped = (text: string): string => text.replace(/[\\`*_<>[\]{}#|~&]/g, '\\$&')
const asWritten = (markdown: string): string => markdown.replace(/\\([\\`*_<>[\]{}#|~&])/g, '$1')

function testFiles(root: string): string[] {
  const hidden = /^(node_modules|reports)$|^\./
  const within = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return hidden.test(entry.name) ? [] : within(path)
      return entry.name.endsWith('.test.ts') ? [path] : []
    })
  return within('').toSorted()
}

if (import.meta.main) {
  const proofs = readProofs()
  writeFileSync(DOCUMENT, renderConformance(proofs))
  process.stdout.write(`docs/conformance.md names ${new Set(proofs.map(({ file, title }) => `${file} ${title}`)).size} tests\n`)
}
