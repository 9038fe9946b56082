/** Whether this Ticket holds a message as its own to answer (spec G1): what it only hears of asks nothing of it. */
import type { ToolCall } from './tool-call.ts'

export async function hasClaimed({ deps, ticket }: ToolCall, message: number): Promise<boolean> {
  const claim = await deps.db
    .selectFrom('claim')
    .select('state')
    .where('trigger', '=', message)
    .where('ticket', '=', ticket)
    .executeTakeFirst()
  return claim?.state === 'claimed'
}
