/** The working agent's own list of steps. */
import { z } from 'zod'
import { tool } from './tool.ts'

export const todoWrite = tool({
  name: 'todo_write',
  for: ['executor', 'subagent'],
  nature: 'protocol',
  place: 'ledger',
  description: `Write your list of steps; each call replaces the whole list. Choose it for work of more than a few steps, and update it when a step
begins or is done: it is what a successor finds. Each item stands once, and at most one is in_progress.`,
  input: z
    .strictObject({
      items: z
        .array(z.strictObject({ content: z.string().trim().min(1).max(500), status: z.enum(['pending', 'in_progress', 'completed']) }))
        .max(100),
    })
    .superRefine(({ items }, context) => {
      const twice = items.findIndex(({ content }, index) => items.findIndex((item) => item.content === content) < index)
      if (twice !== -1)
        context.addIssue({ code: 'custom', path: ['items', twice], message: 'stands twice in the list; each item stands once' })
      const running = items.filter(({ status }) => status === 'in_progress').length
      if (running > 1)
        context.addIssue({ code: 'custom', path: ['items'], message: `${running} items are in_progress; at most one may be` })
    }),
})
