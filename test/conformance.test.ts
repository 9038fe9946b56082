/** The document of rules and tests tells the truth: what it names exists, and what tests name are rules. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DOCUMENT, idsOf, isFault, isRule, namedIn, proofsIn, readProofs, renderConformance } from './conformance.ts'
import { AREAS, RULES } from './rules.ts'

const proofs = readProofs()

test('every test that docs/conformance.md names exists under that title', () => {
  const titles = new Set(proofs.map(({ file, title }) => `${file}: ${title}`))
  const gone = namedIn(readFileSync(DOCUMENT, 'utf8'))
    .map(({ file, title }) => `${file}: ${title}`)
    .filter((name) => !titles.has(name))
  expect(gone, 'rewrite the document: node test/conformance.ts').toEqual([])
})

test('every id in a title is a rule or a case of a failure', () => {
  const unknown = proofs.flatMap(({ file, title, ids }) =>
    ids.filter((id) => !isRule(id) && !isFault(id)).map((id) => `${id} in ${file}: ${title}`),
  )
  expect(unknown).toEqual([])
})

test('rules are numbered from 1 in each area, without a gap', () => {
  for (const area of Object.keys(AREAS)) {
    const numbers = Object.keys(RULES).flatMap((id) => (id.startsWith(area) ? Number(id.slice(1)) : []))
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  }
  expect(Object.keys(RULES).filter((id) => !Object.hasOwn(AREAS, id[0]!))).toEqual([])
})

describe('titles', () => {
  // put together here, so that this file names no rule itself
  const title = (ids: string, rest: string) => `[${ids}] ${rest}`

  test.each([
    [title('P4', 'a message'), ['P4']],
    [title('P4, M2', 'a message'), ['P4', 'M2']],
    [`[P4] ${title('F044', 'a message')}`, ['P4', 'F044']],
    [title('p4', 'a message'), []],
    ['a message [P4]', []],
    [title('P4', ''), []],
  ])('the ids of "%s"', (written, ids) => expect(idsOf(written)).toEqual(ids))

  test('are read from any literal, with its escapes, and count once', () => {
    const source = `
      test('${title('P4', "a Ticket\\'s own")}', () => {})
      test.each([["${title('P5', "it's red")}", 1]])
      describe(\`${title('P6', '%i rows')}\`, () => {})
      test('${title('P4', "a Ticket\\'s own")}', () => {})
      test('${title('A1, A2, A3, A4', 'too much')}', () => {})`
    expect(proofsIn('a.test.ts', source)).toEqual([
      { file: 'a.test.ts', title: title('P4', "a Ticket's own"), ids: ['P4'] },
      { file: 'a.test.ts', title: title('P5', "it's red"), ids: ['P5'] },
      { file: 'a.test.ts', title: title('P6', '%i rows'), ids: ['P6'] },
    ])
  })

  test('come back from the document as they were written', () => {
    const odd = { file: 'core/a.test.ts', title: title('P4', 'a `code` — *b* __c__ <i> [c](d) \\ | & {{x}}'), ids: ['P4'] }
    const document = renderConformance([odd])
    expect(namedIn(document)).toEqual([{ file: odd.file, title: odd.title }])
    expect(document).toContain('1 of 125 rules')
  })
})
