/** Files of the Ticket's checkout: read, write, edit. Paths are relative to its root and never lead out of it. */
import { z } from 'zod'
import { tool } from './tool.ts'

const path = z.string().min(1).max(4096)

export const read = tool({
  name: 'read',
  for: ['executor', 'subagent'],
  nature: 'read',
  place: 'workspace',
  description: `Read a text file of the checkout, or the saved output of an earlier command. Lines come with their numbers. Choose it before you
change a file. Without "offset" it starts at line 1; a long file ends with the line to go on from. A folder, a binary file, and a path that
leads out of the checkout are refused; glob finds the path you mean.`,
  input: z.strictObject({ path, offset: z.int().min(1).optional(), limit: z.int().min(1).max(5000).optional() }),
})

export const write = tool({
  name: 'write',
  for: ['executor', 'subagent'],
  nature: 'work',
  place: 'workspace',
  description: `Create a file with this content, or replace a whole file; missing folders are made. For a change in an existing file choose edit,
which cannot lose the rest. Paths that lead out of the checkout or into .git are refused.`,
  input: z.strictObject({ path, content: z.string() }),
})

export const edit = tool({
  name: 'edit',
  for: ['executor', 'subagent'],
  nature: 'once',
  place: 'workspace',
  description: `Replace "old" by "new" in a file. "old" is the exact text, with its indentation and without line numbers, and must stand there
exactly once; give enough of the lines around it. With "all" every occurrence is replaced. When it is refused the file is unchanged, and the
answer says how often "old" was found and what comes close: read that place again rather than guess.`,
  input: z.strictObject({ path, old: z.string().min(1), new: z.string(), all: z.boolean().optional() }),
})
