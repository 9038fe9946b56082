/** Runs a workspace tool in the Ticket's checkout; a nested AGENTS.md comes with the first result that touches its folder (N12). */

import { fence } from '../../core/message/fence.ts'
import type { Database } from '../../ledger/database.ts'
import { showFiles, shownFiles } from '../../ledger/instruction-files.ts'
import { AGENTS_MD_BYTES, agentsMdFor } from '../workspace/agents-md.ts'
import type { Answer, Given } from '../workspace/given.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

/** The input was parsed by the tool's own schema when the model's answer was taken in. */
export const inCheckout =
  <Input>(tool: (given: Given<Input>) => Promise<Answer>) =>
  async (call: ToolCall): Promise<ToolAnswer> => {
    const place = await checkoutOf(call)
    if ('refused' in place) return place
    const started = await call.start()
    if (started !== 'started') return started
    const answer = await tool({
      folder: place.folder,
      sandbox: call.deps.workspaces.sandbox,
      input: call.input as Input,
      signal: call.signal,
    })
    const { path } = call.input
    if ('refused' in answer || typeof path !== 'string') return answer
    return { text: [answer.text, ...(await nestedInstructions(call, place, path))].join('\n\n') }
  }

/** The repository's own words, fenced like everything that is not ours. */
async function nestedInstructions(
  { deps, at }: ToolCall,
  { folder, rootBytes, repository }: CheckoutPlace,
  path: string,
): Promise<string[]> {
  const shown = await shownFiles(deps.db, at)
  const others = shown.filter(({ mine }) => !mine)
  const room = AGENTS_MD_BYTES - rootBytes - others.reduce((sum, { bytes }) => sum + bytes, 0)
  const found = await agentsMdFor(folder, path, new Set(others.map((file) => file.path)), room)
  const own = await showFiles(deps.db, at, found)
  const mine = found.filter((file) => own.has(file.path) || shown.some((each) => each.mine && each.path === file.path))
  return mine.map((file) => fence(`${repository.fullName} ${file.path}`, file.text))
}

export interface CheckoutPlace {
  folder: string
  ticket: number
  base: string
  /** What the root AGENTS.md takes of the 64 KiB. */
  rootBytes: number
  repository: { id: number; externalId: string; fullName: string; defaultBranch: string }
}

export async function checkoutOf({ deps, at, ticket, signal }: ToolCall): Promise<CheckoutPlace | { refused: string }> {
  if (ticket === null) return { refused: 'This Session has no checkout.' }
  const row = await deps.db
    .selectFrom('session')
    .innerJoin('ticket', 'ticket.id', 'session.ticket')
    .innerJoin('repository', 'repository.id', 'ticket.repository')
    .leftJoin('text', 'text.sha', 'session.agentsMd')
    .select([
      'session.baseCommit',
      'text.bytes',
      'repository.id',
      'repository.externalId',
      'repository.fullName',
      'repository.defaultBranch',
    ])
    .where('session.id', '=', at.session)
    .executeTakeFirst()
  if (!row?.baseCommit) return { refused: 'This Ticket has no repository, so there is no checkout: read and ask only.' }
  const { baseCommit: base, bytes, ...repository } = row
  const pushed = await lastPush(deps.db, ticket, repository.id)
  const { path } = await deps.workspaces.open({ ticket, repository, base, pushed, signal })
  return { folder: path, ticket, base, rootBytes: bytes ?? 0, repository }
}

async function lastPush(db: Database, ticket: number, repository: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('push')
    .select('sha')
    .where('ticket', '=', ticket)
    .where('repository', '=', repository)
    .orderBy('pushedAt', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.sha
}
