import { describe, expect, test } from 'vitest'
import { addRule, type Changed, editRule, enableRule, type PolicyDocument, removeRule, restored, setMode } from './policy.ts'

const born: PolicyDocument = { mode: 'explicit', rules: [], lastRule: 0 }
const done = (changed: Changed): PolicyDocument => {
  if ('refused' in changed) throw new Error(changed.refused)
  return changed.policy
}
const words = { name: 'red main', instruction: 'Fix a red default branch.' }

describe('a change of the Policy', () => {
  test('[F5] rules get ids in order, are edited, disabled and enabled under them', () => {
    const two = done(addRule(done(addRule(born, words)), { name: 'docs', instruction: 'Mend links.' }))
    expect(two.rules.map(({ id, enabled }) => [id, enabled])).toEqual([
      ['r1', true],
      ['r2', true],
    ])
    const off = done(enableRule(done(editRule(two, 'r1', { instruction: 'Only on main.' })), 'r1', false))
    expect(off.rules[0]).toEqual({ id: 'r1', name: 'red main', instruction: 'Only on main.', enabled: false })
    expect(done(enableRule(off, 'r1', true)).rules[0]!.enabled).toBe(true)
  })

  test('[F5, F244] the id of a rule that was removed is never given again, also after an older version was restored', () => {
    const one = done(addRule(born, words))
    const gone = done(removeRule(one, 'r1'))
    expect(done(addRule(gone, words)).rules[0]!.id).toBe('r2')
    expect(done(addRule(restored(born, one), words)).rules[0]!.id).toBe('r2')
    expect(restored(one, done(addRule(one, words))).rules).toEqual(one.rules)
  })

  test.each<[string, Changed, RegExp]>([
    ['an unknown mode', setMode(born, 'automatc'), /no accept mode; did you mean automatic\? Legal are explicit, confirm, automatic/],
    ['an unknown rule', editRule(born, 'r9', {}), /there is no rule r9. Those there are: none/],
    ['the mode that it is', setMode(born, 'explicit'), /is explicit already, so nothing would change/],
    ['a rule without other words', editRule(done(addRule(born, words)), 'r1', {}), /Nothing would change: give r1 another name/],
    ['a rule that is enabled already', enableRule(done(addRule(born, words)), 'r1', true), /r1 is enabled already/],
    ['an empty name', addRule(born, { ...words, name: '' }), /\/name: found ""; legal is a text of 1 to 100 characters/],
    ['an instruction of spaces', addRule(born, { ...words, instruction: ' \n' }), /\/instruction: found nothing but space/],
    ['a NUL', addRule(born, { ...words, name: 'a\0' }), /\/name: the character U\+0000/],
  ])('[F5] is refused with what is legal: %s', (_, changed, expected) => {
    expect('refused' in changed && changed.refused).toMatch(expected)
  })
})
