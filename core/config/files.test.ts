import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { builtInTexts } from '../prompt/fixture.ts'
import { PARTS } from '../prompt/templates.ts'
import { type ConfigurationDocument, canonical, EMPTY } from './document.ts'
import { carriedOver, fromFiles, toFiles, withStoredBases } from './files.ts'
import { checkDraft } from './save.ts'

const whole: ConfigurationDocument = {
  sections: { scope: { text: 'Small.' }, delivery: { autoMerge: { enabled: true, maxChangedLines: 8 } } },
  skills: [{ name: 'notes', description: 'How: "notes" are\nwritten.', body: '---\n# Notes\n' }],
  overrides: { 'runtime/work': { text: 'Ours.\n', base: 'Theirs.' } },
}

describe('a configuration as files', () => {
  test('[N13] each piece is a file of its name, and what is not set has none', () => {
    expect(Object.keys(toFiles(whole)).sort()).toEqual([
      'bases/runtime/work.md',
      'fields.json',
      'overrides/runtime/work.md',
      'sections/scope.md',
      'skills/notes/SKILL.md',
    ])
    expect(toFiles(EMPTY)).toEqual({})
    expect(toFiles(whole)['overrides/runtime/work.md']).toBe('Ours.\n')
  })

  test('[N13] [K6] files come back as the same configuration, byte for byte, whatever stands in them', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).map((each) => each.replace(/\r\n?/g, '\n'))
    const name = fc.stringMatching(/^[a-z0-9]{1,8}(-[a-z0-9]{1,8})?$/)
    const documents: fc.Arbitrary<ConfigurationDocument> = fc.record({
      sections: fc.record(
        { scope: fc.record({ text }), communication: fc.record({ text, opening: text }, { requiredKeys: ['opening'] }) },
        { requiredKeys: [] },
      ),
      skills: fc
        .uniqueArray(fc.record({ name, description: text, body: text }), { selector: (skill) => skill.name, maxLength: 3 })
        .map((skills) => skills.sort((a, b) => (a.name < b.name ? -1 : 1))),
      overrides: fc.dictionary(fc.constantFrom(...PARTS), fc.record({ text, base: text }), { maxKeys: 3 }),
    })
    const skill = (name: string) => ({ name, description: 'x', body: 'y' })
    const ordered = { ...EMPTY, skills: [skill('notes'), skill('notes-old')] }
    expect(fromFiles(toFiles(ordered), EMPTY)).toEqual({ draft: ordered })
    fc.assert(
      fc.property(documents, (document) => {
        expect(canonical(fromFiles(toFiles(document), EMPTY))).toBe(canonical({ draft: document }))
      }),
    )
  })

  test('[K6] what an editor adds at the end of a file that nobody changed is no change', () => {
    expect(fromFiles({ ...toFiles(whole), 'sections/scope.md': 'Small.\n', 'overrides/runtime/work.md': 'Ours.' }, whole)).toEqual({
      draft: whole,
    })
    expect(fromFiles({ 'sections/scope.md': 'Smaller.\n' }, whole)).toMatchObject({
      draft: { sections: { scope: { text: 'Smaller.\n' } } },
    })
  })

  test.each([
    ['a file beside', { 'notes.txt': 'x' }, '/notes.txt', /sections\/<communication\|scope\|delivery>\.md/],
    ['a skill without a head', { 'skills/x/SKILL.md': '# X' }, '/skills/x/SKILL.md', null],
    ['fields that are no JSON', { 'fields.json': '{' }, '/fields.json', /an object/],
    ["a section's text among its fields", { 'fields.json': '{"scope":{"text":"x"}}' }, '/fields.json/scope/text', /sections\/scope\.md/],
  ])('[K5] %s is refused by its path', (_, files, pointer, legal) => {
    expect(fromFiles(files as unknown as Record<string, string>, EMPTY)).toMatchObject({
      faults: [{ pointer, legal: legal === null ? null : expect.stringMatching(legal) }],
    })
  })

  test('[K5] an unknown key in the head of a skill is kept, for the check to refuse', () => {
    const file = '---\nname: x\ndescription: y\nwhenToUse: z\n---\nbody'
    expect(fromFiles({ 'skills/x/SKILL.md': file }, EMPTY)).toMatchObject({
      draft: { skills: [{ name: 'x', description: 'y', whenToUse: 'z', body: 'body' }] },
    })
  })

  test('[K5] a name that every object inherits is a name like another, and refused like it', () => {
    const faultsOf = (files: Record<string, string>) => {
      const read = fromFiles(Object.assign(Object.create(null), files), EMPTY)
      const checked = 'faults' in read ? read : checkDraft(read.draft, { stored: EMPTY, builtIn: builtInTexts, maxBytes: 9999 })
      return 'faults' in checked ? checked.faults.map(({ pointer }) => pointer) : []
    }
    expect(faultsOf({ constructor: 'x', ['__proto__']: 'x' })).toEqual(['/__proto__', '/constructor'])
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(faultsOf({ [`sections/${name}.md`]: 'x' }), name).toEqual([`/sections/${name}`])
      expect(faultsOf({ [`overrides/${name}.md`]: 'x' }), name).toContain(`/overrides/${name}`)
      expect(faultsOf({ 'fields.json': `{"${name}":{}}` }), name).toEqual([`/sections/${name}`])
      expect(faultsOf({ 'fields.json': `{"scope":{"${name}":1}}` }), name).toEqual([`/sections/scope/${name}`])
      expect(faultsOf({ 'skills/x/SKILL.md': `---\nname: x\ndescription: y\n${name}: z\n---\nbody` }), name).toEqual([`/skills/0/${name}`])
    }
  })

  test('a base whose override was deleted goes with it', () => {
    expect(fromFiles({ 'bases/runtime/work.md': 'x' }, whole)).toEqual({ draft: EMPTY })
  })
})

describe('a draft carried over to a newer revision', () => {
  const base = { a: '1', b: '1', c: '1' }
  test('[K3] what each side changed stands, also what was made and deleted', () => {
    expect(carriedOver({ base, mine: { a: '2', b: '1', d: 'new' }, theirs: { a: '1', b: '3', c: '1', e: 'new' } })).toEqual({
      files: { a: '2', b: '3', d: 'new', e: 'new' },
    })
  })
  test('[K3] what both changed is a conflict, unless to the same, or once people merged it by hand', () => {
    const both = { base, mine: { ...base, a: '2', b: '2' }, theirs: { ...base, a: '3', b: '2', c: '4' } }
    expect(carriedOver(both)).toEqual({ conflicts: ['a'] })
    expect(carriedOver({ base, mine: { b: '1', c: '1' }, theirs: { ...base, a: '3' } })).toEqual({ conflicts: ['a'] })
    expect(carriedOver({ ...both, merged: ['a'] })).toEqual({ files: { a: '2', b: '2', c: '4' } })
    expect(carriedOver({ ...both, merged: ['b'] })).toEqual({ conflicts: ['a'] })
  })
  test('[B8] an override without its base changes no base, and the order of fields is no change', () => {
    const draft = {
      ...whole,
      sections: { scope: { text: 'Small.' }, delivery: { autoMerge: { maxChangedLines: 8, enabled: true } } },
      overrides: { 'runtime/work': { text: 'Ours.\n' }, 'runtime/shared': { text: 'New.' } },
    }
    expect(toFiles(withStoredBases(draft, whole))).toEqual({ ...toFiles(whole), 'overrides/runtime/shared.md': 'New.' })
  })
})
