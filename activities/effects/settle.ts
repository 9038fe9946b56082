/** What may have happened outside is settled with the outside system before the next model request (spec M4). */
import { unsettled } from '../../ledger/outbox.ts'
import type { Deps } from '../deps.ts'
import { lookUp } from './effect.ts'

export async function settleUncertain(deps: Deps, session: string, signal: AbortSignal): Promise<void> {
  const { github } = deps
  if (!github) return
  for (const row of await unsettled(deps.db, session)) await lookUp({ deps, github, row, signal })
}
