/** Reading the records; what there is to read differs by role, so each role has a tool of this name. */
import { z } from 'zod'
import { tool } from './tool.ts'

export const orchestratorReadForMain = tool({
  name: 'orchestrator_read',
  for: ['main'],
  nature: 'read',
  place: 'ledger',
  description: `Read what the host has on record. Choose it when a card does not tell you what you need for a routing decision; the cards of
waiting candidates already stand in this conversation.

"candidates": those that wait for your decision, or one with its "id" (C-3).
"tickets": the live ones with state and Threads, or one with its "id" (T-7), closed ones too.
"thread": the messages of a Thread; "id" is the number of a message in it, as its card shows it.
"reports": what Executors reported, newest first, or those of one Ticket ("id" T-7).
"policy": accept mode, rules and version, as they are now.
"prompts": the prompt configuration: its revision, what the team set, and the parts whose built-in text changed under an override; with "id" one
piece in full (communication, scope, delivery, or a part such as runtime/work).
"revisions": the saves of the configuration, newest first; with "id" one of them (r12), or one piece of it (r12 runtime/work).

An unknown id is refused with the form that is expected. A long answer says what it left out and which id shows it.`,
  input: z.strictObject({
    what: z.enum(['candidates', 'tickets', 'thread', 'reports', 'policy', 'prompts', 'revisions']),
    id: z.string().trim().min(1).max(60).optional(),
  }),
})

export const orchestratorReadForExecutor = tool({
  name: 'orchestrator_read',
  for: ['executor'],
  nature: 'read',
  place: 'ledger',
  description: `Read what the host has on record about your own Ticket. Choose it when you take over, or when a card was cut.

"ticket": state, Mandate, Threads, messages in full, pull requests and what you still owe.
"reports": the Reports of this Ticket, newest first.
"revisions": the revisions of your instructions that held at some time of your work; with "id" one of them (r12), or one piece of it
(r12 runtime/work). Choose it when a text that you followed earlier is not in your instructions any more.

Other Tickets are not readable here.`,
  input: z.strictObject({ what: z.enum(['ticket', 'reports', 'revisions']), id: z.string().trim().min(1).max(60).optional() }),
})
