/** `todo_write` (spec H10): the agent's own list of steps. It lives in the Session's log; the answer shows it as it now stands. */
import type { Answer } from '../workspace/given.ts'

export interface TodoInput {
  items: { content: string; status: 'pending' | 'in_progress' | 'completed' }[]
}

const BOXES = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const

export async function todoWrite({ input }: { input: TodoInput }): Promise<Answer> {
  const { items } = input
  if (items.length === 0) return { text: 'The list is empty now.' }
  const done = items.filter(({ status }) => status === 'completed').length
  return { text: [`${done} of ${items.length} done`, ...items.map(({ content, status }) => `${BOXES[status]} ${content}`)].join('\n') }
}
