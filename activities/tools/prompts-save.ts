/** `orchestrator_prompts_save`: an admin's wish, in words, becomes a revision (spec B8). */
import { type BasisFacts, promptsBasis } from '../../core/authority/prompts-basis.ts'
import { type PieceChange, withPieces } from '../../core/config/pieces.ts'
import { faultsText } from '../../core/config/save.ts'
import { saveConfiguration } from '../../ledger/save-configuration.ts'
import { readVersion } from '../../ledger/versions.ts'
import type { Deps } from '../deps.ts'
import { permissionNow } from '../permission.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

interface Input {
  basis: number
  base: number
  note: string
  changes: { piece: string; change: 'write' | 'follow'; text?: string }[]
}

export async function promptsSave({ deps, input }: ToolCall): Promise<ToolAnswer> {
  const { basis, base, note, changes } = input as unknown as Input
  const facts = await basisFacts(deps, basis)
  const ground = promptsBasis(facts)
  if ('refused' in ground) return ground
  const read = readChanges(changes)
  if ('refused' in read) return read

  const stored = await readVersion(deps.db, 'prompts', base)
  if (!stored) return { refused: `there is no revision ${base}. Read what "prompts" for the newest one` }
  const draft = withPieces(stored.document, read.changes)
  const author = { origin: 'tool' as const, actor: facts.said!.author, note, basis }
  const saved = await saveConfiguration(deps.db, { builtIn: deps.builtIn, maxBytes: deps.maxConfigBytes }, { base, draft, ...author })
  if ('faults' in saved) return { refused: faultsText(saved.faults) }
  if ('head' in saved) {
    const { number, actor } = saved.head
    return {
      refused: `revision ${base} is not the newest: r${number} by ${actor} is. Nothing was saved. Read what "prompts" again, and decide again`,
    }
  }
  const same = saved.identical.map((part) => `\n${part} equals the built-in text now, so it follows it.`)
  return { text: `Saved as revision ${saved.revision}. It holds from the next request of every agent on.${same.join('')}` }
}

function readChanges(changes: Input['changes']): { changes: PieceChange[] } | { refused: string } {
  const twice = changes.find(({ piece }, index) => changes.findIndex((other) => other.piece === piece) < index)
  if (twice) return { refused: `${twice.piece} stands twice in "changes"; each piece stands once. Nothing was saved` }
  const wrong = changes.find(({ change, text }) => (change === 'write') === (text === undefined))
  if (wrong) return { refused: `${wrong.piece}: "write" takes "text" and "follow" takes none. Nothing was saved` }
  return { changes: changes.map(({ piece, text }) => ({ piece, text: text ?? null })) }
}

async function basisFacts({ db, github, now }: Deps, message: number): Promise<BasisFacts> {
  const row = await db
    .selectFrom('trigger')
    .innerJoin('thread', 'thread.id', 'trigger.thread')
    .leftJoin('repository', 'repository.id', 'thread.repository')
    .select(['trigger.kind', 'trigger.author', 'trigger.authorLogin', 'trigger.member', 'trigger.addressesAgent', 'trigger.purgedAt'])
    .select(['repository.id as repository', 'repository.fullName'])
    .where('trigger.id', '=', message)
    .executeTakeFirst()
  if (!row) return { message, said: null }
  const { kind, author: account, authorLogin: author, member, addressesAgent, purgedAt, repository, fullName } = row
  const asked = member && github && account !== null && repository !== null && fullName !== null
  const permission = asked
    ? await permissionNow({ db, client: github.client, now }, { account, login: author, repository, fullName })
    : null
  return { message, said: { kind, author, member, addressesAgent, purged: purgedAt !== null, permission } }
}
