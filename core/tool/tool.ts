/** What a tool is (design §5, §6). Its description is all that a model is told about it: what it does and when to choose it. */
import type { z } from 'zod'

export type Role = 'main' | 'executor' | 'subagent'

/**
 * `read`: changes nothing, runs side by side · `protocol`: claim, acknowledge, report; legal at any time · `work`: changes the
 * workspace only · `effect`: changes the outside world, passes the gate · `once`: never runs twice; cut off it is `interrupted`.
 */
export type Nature = 'read' | 'protocol' | 'work' | 'effect' | 'once'

/** Where a call runs: beside the ledger, beside the Ticket's checkout, or where the credentials are. */
export type Place = 'ledger' | 'workspace' | 'channel'

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  name: string
  for: readonly Role[]
  nature: Nature
  place: Place
  description: string
  input: Input
}

export function tool<Input extends z.ZodObject>(definition: Tool<Input>): Tool<Input> {
  return definition
}
