/** What a section of the prompt is, and everything that one prompt is made from. */
import type { PolicyDocument, Rule } from '../policy/policy.ts'
import type { Role } from '../tool/tool.ts'
import type { Part } from './templates.ts'
import type { Values } from './variables.ts'

/** A string stands as it is; a template has its references and placeholders replaced, once (spec D2, B2). */
export type SectionText = string | { template: string; placeholders?: Readonly<Record<string, string>> }

export type Section =
  | { name: Part; for: readonly Role[]; part: true }
  | { name: string; for: readonly Role[]; text: (given: PromptInput) => SectionText }

/** Names are unique (spec D3): a second section of one name would make faults, overrides and evidence ambiguous. */
export function ordered(sections: readonly Section[]): readonly Section[] {
  const seen = new Map<string, number>()
  for (const [index, { name }] of sections.entries()) {
    const first = seen.get(name)
    if (first !== undefined)
      throw new Error(`section "${name}" is registered twice, at positions ${first + 1} and ${index + 1}; give one of them another name`)
    seen.set(name, index)
  }
  return sections
}

/** Everything that one prompt is made from. Values only: the same input gives the same bytes (spec C5). */
export interface PromptInput {
  role: Role
  /** Texts of the program by name: the parts, `harness/identity`, `sections/<name>` and the habits of tool packages. */
  builtIn: Readonly<Record<string, string>>
  overrides: Readonly<Partial<Record<Part, string>>>
  team: TeamSections
  persona: string
  variables: Values
  /** The packages whose tools this request offers, in the order of the tools (spec D5). */
  packages: readonly { name: string; habit?: string }[]
  skills: readonly { name: string; description: string }[]
  /** In the order in which they are to stand. */
  environment: readonly { name: string; value: string }[]
  policy: Policy
  /** The root file at the commit on which the Session started (spec C2, N12). */
  agentsMd: RepositoryText | null
  /** Set for the Executor of an inferred Ticket: what its Mandate says (spec C6). */
  matched: { policyVersion: number; rules: readonly RuleText[] } | null
}

/** What a model reads of a rule. */
export type RuleText = Pick<Rule, 'id' | 'name' | 'instruction'>

export interface Policy extends Pick<PolicyDocument, 'mode'> {
  version: number
  rules: readonly Rule[]
}

export interface RepositoryText {
  repository: string
  commit: string
  text: string
}

/** The three sections that belong to the team (spec A1); `text: null` follows the built-in default. */
export interface TeamSections {
  communication: { text: string | null; opening: string; reviewBots: readonly string[] }
  scope: { text: string | null }
  delivery: {
    text: string | null
    autoMerge: { enabled: boolean; maxChangedLines: number }
    uiPaths: readonly string[]
    /** null: the agent account's no-reply address. */
    commitAuthor: { name: string; email: string } | null
  }
}
