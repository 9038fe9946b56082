/** What an Executor tells the main Session (spec R2). */
import { z } from 'zod'
import { ledgerNumber } from './ledger-number.ts'
import { tool } from './tool.ts'

export const REPORT_STATUSES = ['progress', 'draft', 'done', 'cannot_complete', 'yielded'] as const

export const orchestratorReport = tool({
  name: 'orchestrator_report',
  for: ['executor'],
  nature: 'protocol',
  place: 'ledger',
  description: `Report to the main Session and the record. No person is notified. Report before you end a turn in which the state of the work changed;
the last Report of a turn counts.

"progress": work goes on later, say what it waits for. "draft": a draft stands, say what is unfinished. "done": all that was asked is delivered.
"cannot_complete": it cannot be finished, say why. "yielded": a person's branch or pull request already holds the change.

The Ticket closes at the end of the turn after done, cannot_complete or yielded, unless something is still open; the answer names what is.
"evidence" has one line for each thing verified: the command or check and its outcome. "pullRequest" is its number.`,
  input: z.strictObject({
    status: z.enum(REPORT_STATUSES),
    summary: z.string().trim().min(1).max(2000),
    evidence: z.array(z.string().trim().min(1).max(500)).max(50).optional(),
    pullRequest: ledgerNumber().optional(),
  }),
})
