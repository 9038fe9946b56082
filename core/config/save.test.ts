import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { messageBody } from '../message/opening.ts'
import { assemble } from '../prompt/assemble.ts'
import { builtInTexts, promptInput } from '../prompt/fixture.ts'
import { BUILT_IN_SKILLS, PARTS, type Part } from '../prompt/templates.ts'
import { type ConfigurationDocument, canonical, EMPTY } from './document.ts'
import { readDraft } from './read-draft.ts'
import { checkDraft, faultsText, type SaveGiven } from './save.ts'

const LIMIT = 256 * 1024

function check(draft: unknown, changes: Partial<SaveGiven> = {}) {
  return checkDraft(draft, { stored: EMPTY, builtIn: builtInTexts, maxBytes: LIMIT, ...changes })
}

function saved(draft: unknown, changes: Partial<SaveGiven> = {}) {
  const checked = check(draft, changes)
  if ('faults' in checked) throw new Error(faultsText(checked.faults))
  return checked
}

function refused(draft: unknown, changes: Partial<SaveGiven> = {}) {
  const checked = check(draft, changes)
  if (!('faults' in checked)) throw new Error('it was let through')
  return checked.faults
}

const draft = (changes: Record<string, unknown> = {}) => ({ ...EMPTY, ...changes })
const override = (part: string, text: string, base?: string) =>
  draft({ overrides: { [part]: { text, ...(base === undefined ? {} : { base }) } } })
const skill = (changes: Record<string, unknown> = {}) => ({
  name: 'release-notes',
  description: 'How notes are written.',
  body: '# Notes\n',
  ...changes,
})

describe('what is kept', () => {
  test('[A1] [A3] sections with their fields, skills and overrides are saved as they were given', () => {
    const whole = {
      sections: {
        communication: { text: 'Kurz und klar.\n', opening: 'A machine wrote this.', reviewBots: ['coderabbitai'] },
        delivery: {
          autoMerge: { enabled: true, maxChangedLines: 80 },
          uiPaths: ['web/**'],
          commitAuthor: { name: 'Agent', email: 'agent@example.com' },
        },
      },
      skills: [skill()],
      overrides: { 'runtime/shared': { text: 'Our own ground rules on {{model}}.' } },
    }
    expect(saved(whole).document).toEqual({
      ...whole,
      overrides: { 'runtime/shared': { text: 'Our own ground rules on {{model}}.', base: builtInTexts['runtime/shared'] } },
    })
  })

  test('[K6, F250] CRLF and CR become LF, and nothing else changes: no trimming, no folding', () => {
    const text = '  Zeile eins\r\n\r\n\tZeile zwei\rDrei \u00e9 e\u0301 \u200b\n\n'
    const { document } = saved(draft({ sections: { scope: { text } } }))
    expect(document.sections.scope!.text).toBe('  Zeile eins\n\n\tZeile zwei\nDrei \u00e9 e\u0301 \u200b\n\n')
  })

  test.each([
    ['a secret of GitHub Actions', `\${{ secrets.X }}`],
    ['a date', '{{date}} {{ model }} {{关键词}} {{hl|x}}'],
    ['a placeholder and JSON', '{name} {"a":{"b":1}} {}'],
    ['LaTeX', '\\frac{{a}}{b} $x_{i}$'],
    ['Jinja', '{% raw %}{{ x }}{% endraw %}'],
    ['emoji, Chinese and bidi', '👩‍👩‍👧 你好 \u202Eabc\u202C'],
  ])('[D2] [K6, F262] %s stands as typed in sections, skills and the prompt', (_, text) => {
    const { document } = saved(draft({ sections: { scope: { text } }, skills: [skill({ body: text, description: text })] }))
    expect(document.sections.scope!.text).toBe(text)
    expect(document.skills[0]!.body).toBe(text)
    const prompt = assemble(promptInput('main', { team: { ...promptInput('main').team, scope: { text } } }))
    expect('text' in prompt && prompt.text).toContain(text)
  })

  test('[B10] an override equal to the built-in text is left out, so that the part follows later ones', () => {
    const { document, identical } = saved(override('runtime/work', `${builtInTexts['runtime/work']!.trimEnd()}\n\n`))
    expect(document.overrides).toEqual({})
    expect(identical).toEqual(['runtime/work'])
  })

  test('[B9, F222] a part that the program lost is dropped and named; the same part in a new draft is refused', () => {
    const stored: ConfigurationDocument = { ...EMPTY, overrides: { 'runtime/gone': { text: 'old', base: 'older' } } }
    const { document, dropped } = saved(override('runtime/gone', 'old', 'older'), { stored })
    expect(document.overrides).toEqual({})
    expect(dropped).toEqual(['runtime/gone'])
    expect(refused(override('runtime/gone', 'new'))[0]).toMatchObject({
      pointer: '/overrides/runtime~1gone',
      found: expect.stringContaining('no such part'),
    })
  })

  test('[B8, F220] an override without its base keeps the stored base, and a new one takes the built-in text', () => {
    const stored: ConfigurationDocument = {
      ...EMPTY,
      overrides: { 'runtime/work': { text: 'ours', base: 'the text of an older release' } },
    }
    expect(saved(override('runtime/work', 'ours, better'), { stored }).document.overrides['runtime/work']!.base).toBe(
      'the text of an older release',
    )
    expect(saved(override('runtime/work', 'ours'), {}).document.overrides['runtime/work']!.base).toBe(builtInTexts['runtime/work'])
  })

  test('[B8] a base that is given is the stored one or the built-in text of today; anything else is refused', () => {
    const stored: ConfigurationDocument = { ...EMPTY, overrides: { 'runtime/work': { text: 'ours', base: 'older' } } }
    for (const base of ['older', builtInTexts['runtime/work']!]) {
      expect(saved(override('runtime/work', 'ours', base), { stored }).document.overrides['runtime/work']!.base).toBe(base)
    }
    expect(refused(override('runtime/work', 'ours', 'invented'), { stored })).toMatchObject([{ pointer: '/overrides/runtime~1work/base' }])
  })
})

describe('what is refused', () => {
  test.each([
    [
      '[K5, F252] an unknown field',
      draft({ sections: { delivery: { autoMerge: { enabld: true, enabled: true, maxChangedLines: 1 } } } }),
      '/sections/delivery/autoMerge/enabld',
      /enabled, maxChangedLines/,
    ],
    ['[K5] an unknown section', draft({ sections: { comunication: {} } }), '/sections/comunication', /communication, scope, delivery/],
    [
      '[K5] a key of an override that is none',
      draft({ overrides: { 'runtime/work': { text: 'x', by: 'me' } } }),
      '/overrides/runtime~1work/by',
      /text, base/,
    ],
    ['[K5] skills that are no list', draft({ skills: {} }), '/skills', /a list/],
    ['[K5, F267] a skill without a description', draft({ skills: [{ name: 'x', body: 'y' }] }), '/skills/0/description', /a text/],
    [
      '[K5, F267] a skill with an unknown key',
      draft({ skills: [skill({ whenToUse: 'always' })] }),
      '/skills/0/whenToUse',
      /name, description, body/,
    ],
    ['[B9] an unknown part', override('runtime/wrok', 'x'), '/overrides/runtime~1wrok', /did you mean runtime\/work\?/],
    [
      '[B9] a part of the language',
      JSON.parse('{"sections":{},"skills":[],"overrides":{"__proto__":{"text":"x"}}}'),
      '/overrides/__proto__',
      /no such part/,
    ],
    [
      '[B2, F233] rules only in prose',
      override('runtime/policy', 'The rules: {version} {mode}'),
      '/overrides/runtime~1policy/text',
      /\{rules\} of runtime\/policy is missing.*\{version\}, \{mode\}, \{rules\}/s,
    ],
    [
      '[B2] a doubled placeholder',
      override('runtime/policy/none', '{{version}} {version} {mode}'),
      '/overrides/runtime~1policy~1none/text',
      /"\{\{version\}\}".*did you mean \{version\}\?/s,
    ],
    [
      '[D2, F227] an unknown variable',
      override('runtime/work', 'a\nsee {{modle}}'),
      '/overrides/runtime~1work/text',
      /"\{\{modle\}\}" in runtime\/work, line 2, column 5.*did you mean \{\{model\}\}\?.*cwd, model, provider/s,
    ],
    ['[D2, F228] inner spaces', override('runtime/work', '{{ model }}'), '/overrides/runtime~1work/text', /without spaces/],
    ['[D2, F229] a name of the language', override('runtime/work', '{{constructor}}'), '/overrides/runtime~1work/text', /no such variable/],
    [
      '[D2] a variable that one of its readers lacks',
      override('runtime/shared', 'in {{cwd}}'),
      '/overrides/runtime~1shared/text',
      /no value for the main Session/,
    ],
    [
      '[K5, F259] the name of a built-in skill',
      draft({ skills: [skill({ name: 'github' })] }),
      '/skills/0/name',
      /is the name of the built-in skill github.*skill\/github/s,
    ],
    ['[K5, F260] a big letter', draft({ skills: [skill({ name: 'GitHub' })] }), '/skills/0/name', /reads like the built-in skill github/],
    [
      '[K5, F260] wide letters',
      draft({ skills: [skill({ name: 'ｆｅｉｓｈｕ' })] }),
      '/skills/0/name',
      /reads like the built-in skill feishu/,
    ],
    [
      '[K5, F260] a joiner that nobody sees',
      draft({ skills: [skill({ name: 'git\u200Dhub' })] }),
      '/skills/0/name',
      /reads like the built-in skill github/,
    ],
    ['[K5] another form', draft({ skills: [skill({ name: 'release_notes' })] }), '/skills/0/name', /small letters/],
    ['[K5, F261] two skills of one name', draft({ skills: [skill(), skill()] }), '/skills/1/name', /the name of \/skills\/0 too/],
    [
      '[K5] a skill that is called like a section',
      draft({ skills: [skill({ name: 'delivery' })] }),
      '/skills/0/name',
      /is the name of a section/,
    ],
    ['[K5] an empty body', draft({ skills: [skill({ body: ' \n' })] }), '/skills/0/body', /nothing but space/],
    ['[K6, F251] a NUL', draft({ sections: { scope: { text: 'a\nbc\0' } } }), '/sections/scope/text', /U\+0000 stands at line 2, column 3/],
    [
      '[K6] half a character',
      draft({ sections: { scope: { text: 'a\uD83D' } } }),
      '/sections/scope/text',
      /half of a character \(U\+D83D\) stands at line 1, column 2/,
    ],
    [
      '[A1] an opening of two lines',
      draft({ sections: { communication: { opening: 'a\nb' } } }),
      '/sections/communication/opening',
      /one line/,
    ],
    [
      '[A1] an author that would forge another',
      draft({ sections: { delivery: { commitAuthor: { name: 'A <b>', email: 'a@b.c' } } } }),
      '/sections/delivery/commitAuthor/name',
      /divide name and address/,
    ],
  ])('%s', (_, written, pointer, words) => {
    const faults = refused(written)
    expect(faults.map((fault) => fault.pointer)).toEqual([pointer])
    expect(faultsText(faults)).toMatch(words)
  })

  test.each([
    ['[D2, F231] a lone opening in prose', 'runtime/work', 'write {{ where you open'],
    ['[D2, F232] a literal opening', 'runtime/work', '{{{{model}}'],
    ['[B2, F235] JSON beside the placeholder', 'runtime/environment', '{"name": {name}}\n{variables}'],
    ['[B2, F236] empty braces and neighbours', 'runtime/policy/none', '{} {"version":1} {version}{mode}'],
    ['[B2] a skill, which is never scanned', 'skill/github', '{{anything}} {{'],
    ['[D2] a checkout where every reader has one', 'runtime/worker', 'in {{cwd}}'],
  ])('is not: %s', (_, part, text) => {
    expect(saved(override(part, text)).document.overrides[part]!.text).toBe(text)
  })

  test('[K5, F253] every fault is told at once, each with its place, and so are ten', () => {
    const faults = refused({
      sections: { delivery: { autoMerge: { enabled: 'yes', maxChangedLines: -1, max: 3 } }, scope: { text: 7 } },
      skills: [skill({ name: 'feishu' }), skill({ description: '' })],
      overrides: { 'runtime/policy': { text: '{mode}' }, 'runtime/shared': { text: '{{cwd}} {{nope}}' } },
      extra: true,
    })
    expect(faults.map(({ pointer }) => pointer).sort()).toEqual(
      [
        '/extra',
        '/overrides/runtime~1policy/text',
        '/overrides/runtime~1policy/text',
        '/overrides/runtime~1shared/text',
        '/overrides/runtime~1shared/text',
        '/sections/delivery/autoMerge/enabled',
        '/sections/delivery/autoMerge/max',
        '/sections/delivery/autoMerge/maxChangedLines',
        '/sections/scope/text',
        '/skills/0/name',
        '/skills/1/description',
      ].sort(),
    )
    for (const { found, legal } of faults) expect([found, legal]).not.toContain('')
  })

  test('[K5, F248] the limit includes its boundary; a byte above it is refused with what is used, allowed and biggest', () => {
    const of = (bytes: number) => draft({ sections: { scope: { text: 'x'.repeat(bytes - 3) } }, skills: [] })
    const text = '字' // three bytes
    const at = (extra: string) => ({ ...of(1000), overrides: { 'runtime/work': { text: text + extra } } })
    expect(saved(at(''), { maxBytes: 1000 }).bytes).toBe(1000)
    expect(refused(at('x'), { maxBytes: 1000 })).toEqual([
      {
        pointer: '',
        found: '1,001 bytes in all; the biggest are sections/scope 997, overrides/runtime/work 4',
        legal: 'at most 1,000 bytes (SWITCHYARD_MAX_CONFIG_BYTES)',
      },
    ])
  })

  test('[K5, F265] a skill of 300 KB counts, and what an override remembers does not', () => {
    expect(faultsText(refused(draft({ skills: [skill({ body: 'x'.repeat(300_000) })] })))).toMatch(/skills\/release-notes 300,0/)
    const base = 'b'.repeat(LIMIT)
    const stored: ConfigurationDocument = { ...EMPTY, overrides: { 'runtime/work': { text: 'ours', base } } }
    expect(saved(override('runtime/work', 'ours', base), { stored }).bytes).toBe(4)
  })

  test.each([
    [new TextEncoder().encode('{"sections":'), /no JSON/],
    [Uint8Array.from([0x7b, 0xff, 0x7d]), /no UTF-8/],
  ])('[K6] bytes that are no document are told as such', (bytes, words) => {
    const read = readDraft(bytes)
    expect('faults' in read && faultsText(read.faults)).toMatch(words)
  })
})

describe('for any draft', () => {
  test('[K5] nothing that can be written in JSON makes it throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (written) => void check(written)))
    fc.assert(
      fc.property(
        fc.record({
          sections: fc.jsonValue(),
          skills: fc.array(fc.jsonValue()),
          overrides: fc.dictionary(fc.constantFrom(...PARTS, 'x'), fc.jsonValue()),
        }),
        (written) => void check(written),
      ),
    )
  })

  test('[D2] [B2] what a save lets through renders for every role that reads it', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '{{model}}',
        '{{cwd}}',
        '{{',
        '}}',
        '{{{{',
        '{version}',
        '{mode}',
        '{rules}',
        '{variables}',
        '{{version}}',
        '{',
        '}',
        '\n',
      ),
      fc.string({ maxLength: 5 }),
    )
    const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(fc.constantFrom(...PARTS), texts, (part: Part, text) => {
        const checked = check(override(part, text))
        if ('faults' in checked) return
        for (const role of ['main', 'executor', 'subagent'] as const) {
          const rules = part === 'runtime/policy/none' ? [] : promptInput(role).policy.rules
          const input = promptInput(role, { overrides: { [part]: text } })
          expect(assemble({ ...input, policy: { ...input.policy, rules } })).not.toHaveProperty('fault')
        }
      }),
      { numRuns: 500 },
    )
  })

  test('[K1] equal documents have one form, in whatever order they were written', () => {
    expect(canonical({ skills: [], overrides: { b: { text: '1', base: '2' }, a: { base: '3', text: '4' } }, sections: {} })).toBe(
      canonical({ sections: {}, overrides: { a: { text: '4', base: '3' }, b: { base: '2', text: '1' } }, skills: [] }),
    )
    expect(canonical(EMPTY)).toBe('{"overrides":{},"sections":{},"skills":[]}')
  })

  test('[K5] the built-in skills are the parts of that name', () => {
    expect(BUILT_IN_SKILLS.map((name) => `skill/${name}`)).toEqual(PARTS.filter((part) => part.startsWith('skill/')))
  })
})

describe('the opening sentence', () => {
  test.each(['   ', 'A machine\u001b[2J wrote this.', 'By a machine. <!-- hidden'])(
    '[A1] %j would say nothing, or something unseen: refused',
    (opening) => {
      expect(refused(draft({ sections: { communication: { opening } } })).map(({ pointer }) => pointer)).toEqual([
        '/sections/communication/opening',
      ])
    },
  )

  test('[A1] [H5] whatever sentence is saved, every message opens with it once', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60 }), (opening) => {
        if ('faults' in check(draft({ sections: { communication: { opening } } }))) return
        const body = messageBody({ opening, text: `${opening} Done.`, key: 'x' })
        expect(body.startsWith(opening.trim())).toBe(true)
      }),
    )
    expect(messageBody({ opening: 'An AI-driven agent wrote this.', text: 'an ai-driven agent wrote this. Done.', key: 'x' })).toMatch(
      /^An AI-driven agent wrote this\.\n\nDone\./,
    )
  })
})

test('[B6] [K5] what a release made invalid stays as it is stored and keeps no other piece from being saved', () => {
  const invalid = { 'runtime/policy': { text: 'no placeholders', base: 'older' } }
  const stored: ConfigurationDocument = { ...EMPTY, overrides: invalid }
  expect(saved({ ...EMPTY, sections: { scope: { text: 'Small.' } }, overrides: invalid }, { stored }).document.overrides).toEqual(invalid)
  expect(refused(override('runtime/policy', 'still none'), { stored })).toHaveLength(3)
})

test('[K5] what is dropped or follows the program weighs nothing, and a draft of thousands of faults is told in a moment', () => {
  const stored: ConfigurationDocument = { ...EMPTY, overrides: { 'runtime/gone': { text: 'x'.repeat(2_000), base: 'y' } } }
  const overrides = { ...stored.overrides, 'runtime/work': { text: builtInTexts['runtime/work']! } }
  expect(saved({ ...EMPTY, overrides }, { stored, maxBytes: 100 })).toMatchObject({
    bytes: 0,
    dropped: ['runtime/gone'],
    identical: ['runtime/work'],
  })
  const faults = refused(override('runtime/work', '{{x}}\n'.repeat(20_000)))
  expect(faults).toHaveLength(20_000)
  expect(faultsText(faults)).toMatch(/\(and 19,950 more\)$/)
  expect(refused({ ...EMPTY, sections: { scope: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) } })).toHaveLength(1)
})
