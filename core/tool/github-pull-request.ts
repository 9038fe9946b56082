/**
 * The Ticket's pull requests (spec H7). One flat object instead of a union, since not every provider accepts a union as the input
 * of a tool; what belongs to which action is checked here.
 */
import { z } from 'zod'
import { ledgerNumber } from './ledger-number.ts'
import { tool } from './tool.ts'

const ACTIONS = {
  open: { needs: ['branch', 'title', 'body'], takes: ['base', 'draft'] },
  update: { needs: ['number'], takes: ['title', 'body'] },
  ready: { needs: ['number'], takes: [] },
  draft: { needs: ['number'], takes: [] },
  close: { needs: ['number'], takes: ['comment'] },
} as const satisfies Record<string, { needs: readonly string[]; takes: readonly string[] }>

type Action = keyof typeof ACTIONS

export const githubPullRequest = tool({
  name: 'github_pull_request',
  for: ['executor'],
  nature: 'effect',
  place: 'channel',
  description: `Open and keep up this Ticket's pull requests on GitHub.

"open" takes branch (pushed before), title, body, and may take base (the default branch if not given) and draft (true if not given).
"update" takes number and title, body or both. "ready" takes number and marks it ready for review. "draft" takes number and takes that back.
"close" takes number and may take comment, one sentence that says why.

The answer names the pull request as owner/name#number, with its link and state. Opening one that exists for the branch gives that one.
Refused are pull requests that are not this Ticket's, a branch that GitHub does not have or that holds no change, and ready while what it
rests on is missing; the answer says which evidence or check that is.`,
  input: z
    .strictObject({
      action: z.enum(Object.keys(ACTIONS) as [Action, ...Action[]]),
      number: ledgerNumber().optional(),
      branch: z.string().trim().min(1).max(240).optional(),
      base: z.string().trim().min(1).max(240).optional(),
      title: z.string().trim().min(1).max(250).optional(),
      body: z.string().trim().min(1).max(60_000).optional(),
      draft: z.boolean().optional(),
      comment: z.string().trim().min(1).max(2000).optional(),
    })
    .superRefine((input, context) => {
      for (const message of actionFaults(input.action, input))
        context.addIssue({ code: 'custom', path: [message.path], message: message.text })
    }),
})

type Written = z.infer<typeof githubPullRequest.input>

export type PullRequestAction =
  | { action: 'open'; branch: string; base: string | null; title: string; body: string; draft: boolean }
  | { action: 'update'; number: number; title: string | null; body: string | null }
  | { action: 'ready' | 'draft'; number: number }
  | { action: 'close'; number: number; comment: string | null }

/** Of an input that the schema accepted. */
export function readAction(input: Written): PullRequestAction {
  const { action, branch, base = null, title = null, body = null, comment = null } = input
  if (action === 'open') return { action, branch: branch!, base, title: title!, body: body!, draft: input.draft ?? true }
  const number = input.number!
  if (action === 'update') return { action, number, title, body }
  return action === 'close' ? { action, number, comment } : { action, number }
}

function actionFaults(action: Action, input: Record<string, unknown>): { path: string; text: string }[] {
  const { needs, takes }: { needs: readonly string[]; takes: readonly string[] } = ACTIONS[action]
  const legal = `"${action}" takes ${needs.join(', ')}${takes.length > 0 ? ` and may take ${takes.join(', ')}` : ''}`
  const given = Object.keys(input).filter((name) => name !== 'action' && input[name] !== undefined)
  const empty = action === 'update' && !given.includes('title') && !given.includes('body')
  return [
    ...needs.filter((name) => !given.includes(name)).map((name) => ({ path: name, text: `is missing: ${legal}` })),
    ...given
      .filter((name) => !needs.includes(name) && !takes.includes(name))
      .map((name) => ({ path: name, text: `does not belong here: ${legal}` })),
    ...(empty ? [{ path: 'title', text: 'nothing to update: give title, body or both' }] : []),
  ]
}
