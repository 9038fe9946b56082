import { describe, expect, test } from 'vitest'
import { assemble } from '../prompt/assemble.ts'
import { builtInTexts, promptInput } from '../prompt/fixture.ts'
import { type ConfigurationDocument, EMPTY } from './document.ts'
import { defaultChanged, drift, overridesInUse } from './drift.ts'
import { checkDraft } from './save.ts'

const PART = 'runtime/work'
const NEW = builtInTexts[PART]!
const OLD = NEW.replace('**Work and verify.**', '**Work.**')

const stored = (overrides: Record<string, { text: string; base: string }>): ConfigurationDocument => ({ ...EMPTY, overrides })
const stateOf = (text: string, base: string, part = PART, builtIn = builtInTexts) =>
  drift(stored({ [part]: { text, base } }), builtIn)[0]!.state

describe('the state of an override', () => {
  test.each([
    ['[B4] neither changed', 'ours', NEW, 'current'],
    ['[B4, F218] the very first change of the built-in text', 'ours', OLD, 'default updated'],
    ['[B4, F219] equal to an older built-in text, which has changed', OLD, OLD, 'default updated'],
    ['[B10] equal to the built-in text of today', NEW, OLD, 'identical'],
    ['[B10] equal but for the breaks at its end', `${NEW}\n\n`, OLD, 'identical'],
    ['[B6] a reference that no role can fill', 'see {{nope}}', OLD, 'invalid'],
  ])('%s', (_, text, base, state) => expect(stateOf(text, base)).toBe(state))

  test('[B9, F222] a part that is gone is removed, not invalid, whatever its text says', () => {
    expect(stateOf('{{nope}}', 'x', 'runtime/gone')).toBe('removed')
  })

  test('[B6, F224] a placeholder that a release made required: invalid, with what is missing', () => {
    const [found] = drift(stored({ 'runtime/policy': { text: 'only {mode} and {rules}', base: 'older' } }), builtInTexts)
    expect(found).toMatchObject({ state: 'invalid', faults: [{ found: 'the placeholder {version} of runtime/policy is missing' }] })
  })

  test('[B7, F223] what changed under an override is named, an invalid one too, and nothing else', () => {
    const drifts = drift(
      stored({
        [PART]: { text: 'ours', base: OLD },
        'runtime/policy': { text: 'no placeholders', base: builtInTexts['runtime/policy']! },
        'runtime/shared': { text: 'ours', base: builtInTexts['runtime/shared']! },
        'runtime/gone': { text: 'ours', base: 'x' },
      }),
      builtInTexts,
    )
    expect(drifts.map(({ part, state }) => [part, state])).toEqual([
      ['runtime/shared', 'current'],
      [PART, 'default updated'],
      ['runtime/policy', 'invalid'],
      ['runtime/gone', 'removed'],
    ])
    expect(defaultChanged(drifts)).toEqual([PART, 'runtime/policy'])
  })
})

describe('the life of an override over an upgrade', () => {
  const before = { ...builtInTexts, [PART]: OLD }
  const save = (draft: unknown, from: ConfigurationDocument, builtIn: Record<string, string>) => {
    const checked = checkDraft(draft, { stored: from, builtIn, maxBytes: 1e6 })
    if ('faults' in checked) throw new Error(JSON.stringify(checked.faults))
    return checked.document
  }
  const ours = save({ ...EMPTY, overrides: { [PART]: { text: 'Work as we do.' } } }, EMPTY, before)
  const reads = (document: ConfigurationDocument, builtIn: Record<string, string>) => {
    const prompt = assemble(promptInput('executor', { builtIn, overrides: overridesInUse(drift(document, builtIn)) }))
    if ('fault' in prompt) throw new Error(prompt.fault.message)
    return prompt.sections.find(({ name }) => name === PART)!.text
  }

  test('[B4, F221] it is made from the old text, goes on being used after the upgrade, and shows both changes', () => {
    expect(drift(ours, before)[0]!.state).toBe('current')
    const [after] = drift(ours, builtInTexts)
    expect(after).toMatchObject({ state: 'default updated', base: OLD, builtIn: NEW, text: 'Work as we do.' })
    expect(reads(ours, builtInTexts)).toBe('Work as we do.')
  })

  test('[B4] the team keeps its text: the new text is its base from now on', () => {
    const kept = save({ ...EMPTY, overrides: { [PART]: { text: 'Work as we do.', base: NEW } } }, ours, builtInTexts)
    expect(drift(kept, builtInTexts)[0]!.state).toBe('current')
  })

  test('[B4, B5, F217] it takes the new text by dropping the override, and follows the next one by itself', () => {
    const adopted = save(EMPTY, ours, builtInTexts)
    expect(drift(adopted, builtInTexts)).toEqual([])
    expect(reads(adopted, { ...builtInTexts, [PART]: 'A later text.' })).toBe('A later text.')
  })

  test('[B4, F220] it goes on editing, or saves something else: the state stays until somebody decides', () => {
    const edited = save({ ...EMPTY, overrides: { [PART]: { text: 'Work as we do, better.' } } }, ours, builtInTexts)
    const other = save({ ...ours, sections: { scope: { text: 'Small.' } } }, ours, builtInTexts)
    for (const document of [edited, other]) expect(drift(document, builtInTexts)[0]!.state).toBe('default updated')
  })

  test('[B6, F224] made invalid by a release, the built-in text is used for that part alone, and the prompt is built', () => {
    const document = stored({
      'runtime/environment': { text: 'Here you are.', base: 'older' },
      [PART]: { text: 'Work as we do.', base: NEW },
    })
    expect(reads(document, builtInTexts)).toBe('Work as we do.')
    expect(overridesInUse(drift(document, builtInTexts))).toEqual({ [PART]: 'Work as we do.' })
  })
})
