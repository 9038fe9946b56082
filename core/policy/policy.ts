/**
 * The team's Policy for inferred work (spec F2, F5): the accept mode and the rules. Each change makes a new document; which version
 * it becomes is decided where it is saved. A rule's id is never given to another rule, so the counter survives every restore.
 */
import { z } from 'zod'
import { type ConfigFault, faultLine, pointerOf } from '../config/fault.ts'
import { withLineFeeds, wordFaults } from '../config/words.ts'
import { closest } from '../prompt/near.ts'
import { shapeFaults } from '../schema/shape-faults.ts'

const MODES = ['explicit', 'confirm', 'automatic'] as const
type AcceptMode = (typeof MODES)[number]

export interface Rule {
  id: string
  name: string
  instruction: string
  enabled: boolean
}

export interface PolicyDocument {
  mode: AcceptMode
  rules: Rule[]
  /** The number of the newest id that was ever given. */
  lastRule: number
}

export type Changed = { policy: PolicyDocument } | { refused: string }

export function setMode(policy: PolicyDocument, mode: string): Changed {
  if (mode === policy.mode) return { refused: `The accept mode is ${mode} already, so nothing would change.` }
  if (isMode(mode)) return { policy: { ...policy, mode } }
  const meant = closest(mode, MODES)
  return { refused: `"${mode}" is no accept mode${meant === null ? '' : `; did you mean ${meant}?`} Legal are ${MODES.join(', ')}.` }
}

const isMode = (mode: string): mode is AcceptMode => (MODES as readonly string[]).includes(mode)

/** What people write of a rule. Shown to models as one line each, whatever line breaks it holds (spec C4). */
const Words = z.strictObject({
  name: z.string().min(1).max(100),
  instruction: z.string().min(1).max(4000),
})
export type RuleWords = z.infer<typeof Words>

export function addRule(policy: PolicyDocument, words: RuleWords): Changed {
  const read = readWords(words)
  if ('refused' in read) return read
  const lastRule = policy.lastRule + 1
  return { policy: { ...policy, lastRule, rules: [...policy.rules, { id: `r${lastRule}`, ...read.words, enabled: true }] } }
}

export function editRule(policy: PolicyDocument, id: string, words: Partial<RuleWords>): Changed {
  const rule = policy.rules.find((each) => each.id === id)
  if (!rule) return unknownRule(policy, id)
  const read = readWords({ name: words.name ?? rule.name, instruction: words.instruction ?? rule.instruction })
  if ('refused' in read) return read
  if (read.words.name === rule.name && read.words.instruction === rule.instruction)
    return { refused: `Nothing would change: give ${id} another name or instruction.` }
  return { policy: withRule(policy, { ...rule, ...read.words }) }
}

export function enableRule(policy: PolicyDocument, id: string, enabled: boolean): Changed {
  const rule = policy.rules.find((each) => each.id === id)
  if (!rule) return unknownRule(policy, id)
  if (rule.enabled === enabled) return { refused: `${id} is ${enabled ? 'enabled' : 'disabled'} already.` }
  return { policy: withRule(policy, { ...rule, enabled }) }
}

export function removeRule(policy: PolicyDocument, id: string): Changed {
  if (!policy.rules.some((each) => each.id === id)) return unknownRule(policy, id)
  return { policy: { ...policy, rules: policy.rules.filter((each) => each.id !== id) } }
}

/** An older version's mode and rules, with the ids that were given since still taken. */
export const restored = (older: PolicyDocument, head: PolicyDocument): PolicyDocument => ({
  ...older,
  lastRule: Math.max(older.lastRule, head.lastRule),
})

const withRule = (policy: PolicyDocument, rule: Rule): PolicyDocument => ({
  ...policy,
  rules: policy.rules.map((each) => (each.id === rule.id ? rule : each)),
})

function readWords(written: RuleWords): { words: RuleWords } | { refused: string } {
  const words = withLineFeeds(written) as RuleWords
  const faults: ConfigFault[] = [
    ...shapeFaults(Words, words).map(({ path, found, legal }) => ({ pointer: pointerOf(path), found, legal })),
    ...wordFaults(words),
    ...(['name', 'instruction'] as const)
      .filter((field) => words[field] !== '' && words[field].trim() === '')
      .map((field) => ({ pointer: `/${field}`, found: 'found nothing but space', legal: 'a text' })),
  ]
  return faults.length === 0 ? { words } : { refused: faults.map(faultLine).join('\n') }
}

function unknownRule({ rules }: PolicyDocument, id: string): { refused: string } {
  const known = rules.map((each) => `${each.id} (${each.name})`).join(', ')
  return { refused: `there is no rule ${id}. Those there are: ${known === '' ? 'none' : known}.` }
}
