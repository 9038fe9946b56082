import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { missingPlaceholders } from './templates.ts'
import { referenceFaults, render } from './variables.ts'

const scope = { section: 'runtime/shared', variables: { model: 'm', cwd: undefined, empty: '' } }
const rendered = (text: string) => render(text, scope)
const inTemplate = (text: string, values: Record<string, string> = { version: '3', mode: 'confirm', rules: '- a (r1): b' }) =>
  render(text, { section: 'runtime/policy', variables: { model: 'm' }, placeholders: values })

describe('variables', () => {
  test.each([
    ['{{model}}', 'm'],
    ['{{model}}{{model}}', 'mm'],
    ['a {{ b', 'a {{ b'],
    ['{{model}} {{ tail', 'm {{ tail'],
    ['{{{{model}}}}', '{{model}}}}'],
    ['{{{{model}}', '{{model}}'],
    [`\${{{{ secrets.X }}`, `\${{ secrets.X }}`],
    ['{{{{{{model}}', '{{m'],
    ['a }} b', 'a }} b'],
    ['{model}', '{model}'],
    ['$&{{model}}$1', '$&m$1'],
    ['\\{{model}}', '\\m'],
    ['{{empty}}', ''],
    ['', ''],
    ['   ', '   '],
    ['😀 {{model}} 中文', '😀 m 中文'],
  ])('[D2] %j reads %j', (text, expected) => expect(rendered(text)).toEqual({ text: expected }))

  test.each([
    '{{}}',
    '{{ model }}',
    '{{Model}}',
    '{{m-x}}',
    '{{1a}}',
    '{{mod\nel}}',
    '{{__proto__}}',
    '{{nope}}',
    '{{constructor}}',
    '{{cwd}}',
    '{{{model}}}',
    '{{model}}}',
    '{{model}}}}',
    '{{a{b}} {{model}}',
    'x {{y} z }}',
    'a {{ b {{model}}',
    'stray {{ then {"a":{"b":1}}',
    '{{{{{{model}}}',
    '{{hl|}}',
    '{{关键词}}',
    `\${{ secrets.X }}`,
  ])('[D2] %j is a fault that names section, reference and known variables', (text) => {
    const outcome = rendered(text)
    if (!('fault' in outcome)) throw new Error(`accepted as ${JSON.stringify(outcome.text)}`)
    expect(outcome.fault.section).toBe('runtime/shared')
    expect(text).toContain(outcome.fault.reference)
    expect(outcome.fault.message).toContain('runtime/shared, line 1, column')
    expect(outcome.fault.message).toContain('Known variables: cwd, empty, model.')
  })

  test('[D2, F229] a variable that is registered as constructor works, and none leaks from the language', () => {
    expect(render('{{constructor}}', { section: 's', variables: { constructor: 'c' } })).toEqual({ text: 'c' })
    expect(render('{{constructor}}', { section: 's', variables: {} })).toMatchObject({
      fault: { message: expect.stringMatching(/no such variable.*\(none\)/) },
    })
  })

  test('[F227] a slip of the pen is answered with the name that was meant', () => {
    expect(rendered('{{modle}}')).toMatchObject({ fault: { message: expect.stringContaining('did you mean {{model}}?') } })
  })

  test('[F228] spaces inside are a fault that shows the right form', () => {
    expect(rendered('{{ model }}')).toMatchObject({
      fault: { reference: '{{ model }}', message: expect.stringContaining('did you mean {{model}}?') },
    })
  })

  test('[D2] line and column are counted from 1 in code points', () => {
    expect(rendered('a\n😀😀{{nope}}')).toMatchObject({ fault: { line: 2, column: 3, reference: '{{nope}}' } })
  })

  test('[K5] all faults of a text are found at once', () => {
    expect(referenceFaults('{{a}} {{model}} {{ b }}\n{{{c}}}', scope).map((fault) => fault.reference)).toEqual([
      '{{a}}',
      '{{ b }}',
      '{{{c}}}',
    ])
  })
})

describe('placeholders of template parts', () => {
  test.each([
    ['{version}{mode}', '3confirm'],
    ['{}{ version }{Version}{versoin}', '{}{ version }{Version}{versoin}'],
    ['{"version":1} {version}', '{"version":1} 3'],
    ['{version', '{version'],
    ['}', '}'],
    ['\\{version}', '\\3'],
    ['{{version}', '{{version}'],
    ['{constructor} {__proto__}', '{constructor} {__proto__}'],
    ['`{mode}` {{model}} {{{{mode}}', '`confirm` m {{mode}}'],
    ['{version}}', '3}'],
    ['{version}\u2028{mode}', '3\u2028confirm'],
  ])('[B2] %j reads %j', (text, expected) => expect(inTemplate(text)).toEqual({ text: expected }))

  test('[B2] a doubled placeholder is an unknown variable with the right form as hint', () => {
    expect(inTemplate('{{version}}')).toMatchObject({ fault: { message: expect.stringContaining('did you mean {version}?') } })
  })

  test('[B2, F238] a value is never scanned again', () => {
    const value = '{mode} {{model}} {version} $& $1 \\ \r\n {{nope}}'
    expect(inTemplate('{rules}|{mode}', { version: '3', mode: '{rules}', rules: value })).toEqual({ text: `${value}|{rules}` })
  })

  test('[F233] the bare word is no placeholder', () => {
    expect(missingPlaceholders('runtime/policy', 'rules: see {version}, {mode}')).toEqual(['rules'])
    expect(missingPlaceholders('runtime/policy', '{{rules} {version} {{{{{mode}')).toEqual(['rules'])
    expect(missingPlaceholders('runtime/shared', '')).toEqual([])
  })

  test('[B2, F235, F236] every other single brace is prose', () => {
    const json = '{"a":{"b":1} } {name} {}'
    expect(render(`${json}{variables}`, { section: 'runtime/environment', variables: {}, placeholders: { variables: 'v' } })).toEqual({
      text: `${json}v`,
    })
  })
})

describe('properties', () => {
  const braces = fc.string({ unit: fc.constantFrom('{', '}', '{{', '}}', '{{model}}', '{mode}', 'model', ' ', '\n', '$&', '中', '😀') })

  test('[D2] no text makes it throw, and a fault is told in place', () => {
    fc.assert(
      fc.property(fc.oneof(braces, fc.string({ unit: 'binary' })), (text) => {
        const outcome = inTemplate(text)
        if ('fault' in outcome) expect(text).toContain(outcome.fault.reference)
      }),
    )
  })

  test('[D2] a text without two opening braces stands as typed', () => {
    fc.assert(
      fc.property(braces, (text) => {
        const plain = text.replaceAll('{{', '{')
        fc.pre(!plain.includes('{{'))
        expect(rendered(plain)).toEqual({ text: plain })
      }),
    )
  })

  test('[D2, B2] values come through whatever they hold', () => {
    fc.assert(
      fc.property(braces, braces, (model, rules) => {
        const outcome = render('<{{model}}|{rules}>', { section: 's', variables: { model }, placeholders: { rules } })
        expect(outcome).toEqual({ text: `<${model}|${rules}>` })
      }),
    )
  })

  test('[D2] what was escaped comes back as typed', () => {
    fc.assert(
      fc.property(braces, (text) => {
        expect(rendered(text.replaceAll('{{', '{{{{'))).toEqual({ text })
      }),
    )
  })
})
