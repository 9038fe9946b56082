/** Commits leave the sandbox through the host's own mirror (design §7). */
import { z } from 'zod'
import { tool } from './tool.ts'

export const githubPush = tool({
  name: 'github_push',
  for: ['executor'],
  nature: 'effect',
  place: 'workspace',
  description: `Push the commits of the checkout's HEAD to a branch of the Ticket's repository on GitHub. Commit first: what is not committed does not
leave the sandbox. git push in the shell cannot work, since no credential is there.

The answer names the commit that the branch is now at, and warns of uncommitted changes. Refused are the default branch, a branch of somebody
else, and a push that would drop commits: nothing is ever forced. If the branch moved, the answer says by what; bring your work on top of it
in the checkout, or push to a new branch.`,
  input: z.strictObject({ branch: z.string().trim().min(1).max(240) }),
})
