import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asOffered } from '../tool/as-offered.ts'
import { offered } from '../tool/packages.ts'
import { assemble } from './assemble.ts'
import type { Message } from './conversation.ts'
import { builtInTexts, promptInput } from './fixture.ts'
import { keptPrefix, type Sent } from './prefix.ts'
import type { PromptInput } from './section.ts'
import { SECTIONS } from './sections.ts'

const tools = JSON.stringify(offered('main', { github: true, workspace: false, skills: true, subagents: [] }).tools.map(asOffered))
const said: Message[] = [
  { role: 'user', text: 'Fix it.' },
  { role: 'assistant', text: '', calls: [{ id: 'call_1_1', name: 'read', input: { path: 'ü.js' } }] },
  { role: 'tool', call: 'call_1_1', name: 'read', text: 'one' },
]

function sent(changes: Partial<PromptInput> = {}, rest: Partial<Sent> = {}, role: 'main' | 'executor' = 'main'): Sent {
  const assembled = assemble(promptInput(role, changes))
  if ('fault' in assembled) throw new Error(assembled.fault.message)
  return { provider: 'openai-compatible', tools, sections: assembled.sections, messages: said, ...rest }
}

const rule = { id: 'r1', name: 'red main', instruction: 'Fix a red default branch.', enabled: true }
const policy = (over: Partial<PromptInput['policy']>): Partial<PromptInput> => ({
  policy: { version: 3, mode: 'confirm', rules: [rule], ...over },
})
const PROVIDERS = ['deepseek', 'openai', 'anthropic', 'openai-compatible']

describe.each(PROVIDERS)('%s', (provider) => {
  test('[C4] a change of Policy keeps every byte of the system prompt before it, and names it', () => {
    fc.assert(
      fc.property(
        fc.record({
          version: fc.integer({ min: 4, max: 99 }),
          mode: fc.constantFrom('explicit' as const, 'confirm' as const, 'automatic' as const),
          rules: fc.uniqueArray(
            fc.record({ id: fc.stringMatching(/^r\d$/), name: fc.string(), instruction: fc.string(), enabled: fc.boolean() }),
            {
              selector: ({ id }) => id,
            },
          ),
        }),
        (changed) => {
          const [before, after] = [sent(policy({}), { provider }), sent(policy(changed), { provider })]
          const { bytes, of, differs } = keptPrefix(before, after)
          expect(differs).toBe(changed.rules.some(({ enabled }) => enabled) ? 'runtime/policy' : 'runtime/policy/none')
          const stable = before.sections.slice(0, -1).reduce((sum, { text }) => sum + Buffer.byteLength(text) + 2, 0)
          expect(bytes).toBeGreaterThanOrEqual(stable - 2 + (provider === 'deepseek' ? 0 : Buffer.byteLength(tools)))
          expect(bytes).toBeLessThan(of)
        },
      ),
    )
  })

  test('[C5] nothing changed and nothing was added: all of it is kept', () => {
    const { bytes, of, differs } = keptPrefix(sent({}, { provider }), sent({}, { provider }))
    expect({ bytes, differs }).toEqual({ bytes: of, differs: null })
  })

  test('[D8] what is only appended keeps all that was sent before', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
        const more: Message[] = texts.map((text) => ({ role: 'user', text }))
        const { bytes, of, differs } = keptPrefix(sent({}, { provider }), sent({}, { provider, messages: [...said, ...more] }))
        expect({ bytes, differs }).toEqual({ bytes: of, differs: null })
      }),
    )
  })

  test('[C8] a message that is no longer as it was is named by its place', () => {
    const changed = said.map((message, index) => (index === 1 ? { ...message, text: 'other words' } : message))
    expect(keptPrefix(sent({}, { provider }), sent({}, { provider, messages: changed })).differs).toBe('message 2')
    expect(keptPrefix(sent({}, { provider }), sent({}, { provider, messages: said.slice(0, 2) })).differs).toBe('message 3')
  })

  test('tools that changed are named, and cost what stands below them', () => {
    const { bytes, differs } = keptPrefix(sent({}, { provider }), sent({}, { provider, tools: tools.replace('read', 'reed') }))
    const system = Buffer.byteLength(
      sent()
        .sections.map(({ text }) => text)
        .join('\n\n'),
    )
    expect(differs).toBe('tools')
    if (provider === 'deepseek') expect(bytes).toBeGreaterThan(system)
    else expect(bytes).toBeLessThan(Buffer.byteLength(tools))
  })
})

const parts = SECTIONS.flatMap((section) => ('part' in section ? section.for.map((role) => [role, section.name] as const) : [])).filter(
  (pair): pair is readonly ['main' | 'executor', (typeof pair)[1]] => pair[0] !== 'subagent',
)

test.each(parts)('[C8] for the role %s a change of %s is named, and all before it is kept', (role, part) => {
  const before = sent({}, {}, role)
  const { bytes, differs } = keptPrefix(before, sent({ overrides: { [part]: `${builtInTexts[part]!.trimEnd()} And so on.\n` } }, {}, role))
  expect(differs).toBe(part)
  const index = before.sections.findIndex(({ name }) => name === part)
  const above = before.sections.slice(0, index + 1).map(({ text }) => text)
  expect(bytes).toBe(Buffer.byteLength(tools + above.join('\n\n')))
})

test.each<[string, Partial<PromptInput>, Partial<PromptInput>]>([
  ['AGENTS.md', { agentsMd: null }, {}],
  ['matched rules', {}, { matched: { policyVersion: 1, rules: [rule] } }],
])('the section %s is named when it comes, and when it goes', (name, without, having) => {
  const [one, other] = [sent(without, {}, 'executor'), sent(having, {}, 'executor')]
  expect(keptPrefix(one, other).differs).toBe(name)
  expect(keptPrefix(other, one).differs).toBe(name)
})

test('bytes are those that the two have in common, wherever they part', () => {
  const bare = (text: string): Sent => ({ provider: 'openai', tools: '', sections: [{ name: 'a', text }], messages: [] })
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (same, one, other) => {
      const [from, to] = [Buffer.from(same + one), Buffer.from(same + other)]
      let common = 0
      while (common < Math.min(from.length, to.length) && from[common] === to[common]) common += 1
      expect(keptPrefix(bare(same + one), bare(same + other)).bytes).toBe(common)
    }),
  )
})
