/**
 * One model request, built: sections, tools and messages, from what the ledger shows and what the deployment is. A replay builds it
 * by the same code (spec D1, D9).
 */
import { type AssembledSection, assemble } from '../core/prompt/assemble.ts'
import { conversation, type LogEntry, type Message } from '../core/prompt/conversation.ts'
import type { RepositoryText } from '../core/prompt/section.ts'
import { asOffered, type OfferedTool } from '../core/tool/as-offered.ts'
import { type Offered, offered } from '../core/tool/packages.ts'
import type { Role } from '../core/tool/tool.ts'
import type { RequestFacts } from '../ledger/schema.ts'
import type { StepView } from '../ledger/step-view.ts'
import { promptInput, skillsOf } from './prompt-input.ts'
import type { ReadDrift } from './read-drift.ts'

export interface RequestInput {
  view: Pick<StepView, 'ticket' | 'configuration'> & { role: Role }
  facts: RequestFacts
  /** The program's own texts by name. */
  builtIn: Readonly<Record<string, string>>
  readDrift: ReadDrift
  provider: string
  model: string
  agentsMd: RepositoryText | null
  /** With the inputs that this request adds. */
  log: readonly LogEntry[]
}

export interface Built {
  sections: AssembledSection[]
  system: string
  messages: Message[]
  offered: Offered
  tools: OfferedTool[]
  bytes: number
}

export function buildRequest(input: RequestInput): Built | { fault: { section: string; message: string } } {
  const { view, facts, log } = input
  const packages = offered(view.role, {
    github: facts.github,
    workspace: facts.cwd !== null,
    skills: skillsOf(input, facts.github, view.configuration.document).length > 0,
    subagents: [], // nothing runs one yet
  })
  const assembled = assemble(promptInput(input, packages))
  if ('fault' in assembled) return assembled
  const messages = conversation(log)
  const tools = packages.tools.map(asOffered)
  const bytes = assembled.bytes + Buffer.byteLength(JSON.stringify(messages)) + Buffer.byteLength(JSON.stringify(tools))
  return { sections: assembled.sections, system: assembled.text, messages, offered: packages, tools, bytes }
}
