/** Loading the body of a skill (spec A2): the prompt holds only names and descriptions. */
import { z } from 'zod'
import { tool } from './tool.ts'

export const skill = tool({
  name: 'skill',
  for: ['main', 'executor'],
  nature: 'read',
  place: 'ledger',
  description: `Load the text of one skill by its name, as the catalogue of skills in your instructions has it. Choose it when you are about to do
what a skill's description names and have not read it in this Session; one that you have read needs loading again only if the team may have
changed it since. The answer is the whole text as it is now.

An unknown name is refused with those that exist.`,
  input: z.strictObject({ name: z.string().trim().min(1).max(64) }),
})
