/** Commands in the Ticket's sandbox (spec H10); never run twice (spec M4). */
import { z } from 'zod'
import { tool } from './tool.ts'

export const SHELL_SECONDS = { default: 120, most: 1800 } as const

export const shell = tool({
  name: 'shell',
  for: ['executor', 'subagent'],
  nature: 'once',
  place: 'workspace',
  description: `Run a command with bash in the checkout, in a sandbox: it sees this workspace, no credential, and no network but what the deployment
allows. Choose it to build, test, and use git locally (status, diff, add, commit). Each call is a fresh shell at the root of the checkout.

The answer has the exit code and the output; a long output keeps its beginning and end and says which file holds the whole. After
"timeoutSeconds" (${SHELL_SECONDS.default} if not given) the command and all it started are stopped, and the answer says so. "interrupted" means that the
command was cut off and is not run again by itself: look at what it left behind first.`,
  input: z.strictObject({
    command: z.string().min(1).max(50_000),
    timeoutSeconds: z.int().min(1).max(SHELL_SECONDS.most).optional(),
  }),
})
