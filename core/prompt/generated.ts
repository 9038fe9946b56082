/** Sections made from facts: environment (spec C5), matched rules (C6), Policy (C4), and the catalogue of skills (A2). */
import { oneLine, unbroken } from '../message/fence.ts'
import type { Policy, PromptInput, RuleText, SectionText } from './section.ts'
import type { Part } from './templates.ts'

/** A part as the team overrode it. */
export function partText({ builtIn, overrides }: PromptInput, part: Part): string {
  return (Object.hasOwn(overrides, part) ? overrides[part] : undefined) ?? builtIn[part]!
}

export function environment(given: PromptInput): SectionText {
  const variables = given.environment.map(({ name, value }) => `- ${oneLine(name)}: ${oneLine(value)}`).join('\n')
  return { template: partText(given, 'runtime/environment'), placeholders: { variables } }
}

/** The rules as they stood at admission; they bind this Ticket's Executor whatever the Policy says now. */
export function inferredNote({ matched }: PromptInput): string {
  if (!matched) return ''
  return `# Matched rules

Nobody asked for this Ticket in person. It was started because these rules of Policy version ${matched.policyVersion} matched. They bind you in
process and manner: do what they ask in the way they say, and nothing that they do not cover. They widen neither what you may touch nor
whom you may address.

${ruleLines(matched.rules)}`
}

export function policy(given: PromptInput): SectionText {
  const rules = enabled(given.policy)
  if (rules.length === 0) return ''
  return {
    template: partText(given, 'runtime/policy'),
    placeholders: { version: String(given.policy.version), mode: MODE[given.policy.mode], rules: ruleLines(rules) },
  }
}

export function policyNone(given: PromptInput): SectionText {
  if (enabled(given.policy).length > 0) return ''
  return {
    template: partText(given, 'runtime/policy/none'),
    placeholders: { version: String(given.policy.version), mode: MODE[given.policy.mode] },
  }
}

const MODE: Readonly<Record<Policy['mode'], string>> = {
  explicit: '`explicit` (no inferred work is accepted)',
  confirm: '`confirm` (inferred work starts when a member accepts the card that the host posts)',
  automatic: '`automatic` (inferred work that matches a rule starts at once)',
}

function enabled({ rules }: Policy): readonly RuleText[] {
  return rules.filter((rule) => rule.enabled)
}

/** One line a rule, whatever line breaks it holds, so that none can forge another; `r2` before `r10`, in every environment. */
function ruleLines(rules: readonly RuleText[]): string {
  return rules
    .toSorted((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1))
    .map(({ id, name, instruction }) => `- ${unbroken(name)} (${id}): ${unbroken(instruction)}`)
    .join('\n')
}

/** Names and descriptions only, and only where a tool can load a body. */
export function skillCatalogue({ packages, skills }: PromptInput): string {
  if (skills.length === 0 || !packages.some(({ name }) => name === 'skills')) return ''
  const lines = skills.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ name, description }) => `- ${name}: ${unbroken(description)}`)
  return `# Skills\n\nTexts for particular work. Load one before the work that it is about.\n\n${lines.join('\n')}`
}
