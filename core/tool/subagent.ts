/**
 * The tool of a provider of subagents (spec D6): its words follow what the child sees, which the provider's flag says and its name
 * does not. Absent while its provider is; running one comes with the runtime of subagents.
 */
import { z } from 'zod'
import { type Tool, tool } from './tool.ts'

export interface SubagentProvider {
  /** The tool's name, such as `subagent` or `subagent_fork`. */
  tool: string
  /** The child begins with the turns that its parent has finished. */
  inheritsParentContext: boolean
}

export function subagentTool({ tool: name, inheritsParentContext }: SubagentProvider): Tool {
  const { sees, prompt } = WORDS[inheritsParentContext ? 'fork' : 'fresh']
  return tool({
    name,
    for: ['executor'],
    nature: 'work',
    place: 'ledger',
    description: `Give one piece of this Ticket to a helper in the same checkout and get its last message back. ${sees} Choose it for work that would
fill this conversation and whose result is short, such as finding where something is done or trying a change out. What needs your judgement
over the whole stays with you. Several that do not change the same files can go out together. A helper speaks to nobody else and reports only
to you.`,
    input: z.strictObject({ task: z.string().trim().min(1).max(20_000).describe(prompt) }),
  })
}

const WORDS = {
  fork: {
    sees: 'It sees the finished turns of this conversation and nothing of the current one.',
    prompt:
      'What is to be done and what the answer must hold. The finished turns are known to it: say only what is new, and all of what this turn brought.',
  },
  fresh: {
    sees: 'It sees nothing of this conversation.',
    prompt:
      'What is to be done and what the answer must hold, complete in itself: paths, names, what is known already and what must not be touched.',
  },
} as const
