/** Finding files and text in the Ticket's checkout. */
import { z } from 'zod'
import { tool } from './tool.ts'

export const glob = tool({
  name: 'glob',
  for: ['executor', 'subagent'],
  nature: 'read',
  place: 'workspace',
  description: `Find files by name, e.g. "**/*.test.ts", below "path" or in the whole checkout. What git ignores is left out. The answer lists
paths in order; a long one says how many are missing, and a narrower pattern shows them.`,
  input: z.strictObject({ pattern: z.string().min(1).max(1000), path: z.string().min(1).max(4096).optional() }),
})

export const grep = tool({
  name: 'grep',
  for: ['executor', 'subagent'],
  nature: 'read',
  place: 'workspace',
  description: `Find a regular expression in the files of the checkout; "glob" limits it to some files, "context" adds lines around each match. The
answer gives path, line number and line. Choose it to find where a name is defined and who uses it. A pattern that is no valid expression is
refused with the place of the mistake; a long answer says how much is missing.`,
  input: z.strictObject({
    pattern: z.string().min(1).max(1000),
    path: z.string().min(1).max(4096).optional(),
    glob: z.string().min(1).max(1000).optional(),
    context: z.int().min(0).max(20).optional(),
  }),
})
