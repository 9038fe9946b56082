/** `orchestrator_prompts_save`: an admin's wish, in words, becomes a revision (spec B8). */
import { type Permission, weaker } from '../../core/authority/permission.ts'
import { type BasisFacts, promptsBasis } from '../../core/authority/prompts-basis.ts'
import { canonical } from '../../core/config/document.ts'
import { type PieceChange, withPieces } from '../../core/config/pieces.ts'
import { checkDraft, faultsText, type Settled } from '../../core/config/save.ts'
import { findMention } from '../../core/routing/mention.ts'
import { type BasisRow, basisRow, revisionOn } from '../../ledger/prompts-basis.ts'
import { readVersion, saveVersion } from '../../ledger/versions.ts'
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
  const read = readChanges(changes)
  if ('refused' in read) return read
  const stored = await readVersion(deps.db, 'prompts', base)
  if (!stored) return { refused: `there is no revision ${base}. Read what "prompts" for the newest one` }
  const draft = withPieces(stored.document, read.changes)
  const checked = checkDraft(draft, { stored: stored.document, builtIn: deps.builtIn, maxBytes: deps.maxConfigBytes })
  // the same call again, after the process died or beside another attempt, finds what it saved (spec M4)
  const isOurs = (of: Awaited<ReturnType<typeof revisionOn>>) =>
    of !== null &&
    of.number === base + 1 &&
    of.note === note &&
    'document' in checked &&
    canonical(of.document) === canonical(checked.document)

  const facts = await basisFacts(deps, basis)
  const earlier = await revisionOn(deps.db, basis)
  if (earlier && isOurs(earlier)) return savedAs(earlier.number, checked as Settled)
  const ground = promptsBasis(facts)
  if ('refused' in ground) return ground
  if ('faults' in checked) return { refused: faultsText(checked.faults) }

  const author = { origin: 'tool' as const, actor: facts.said!.author, note, basis }
  const saved = await saveVersion(deps.db, 'prompts', { base, document: checked.document, ...author })
  if ('number' in saved) return savedAs(saved.number, checked)
  const meanwhile = await revisionOn(deps.db, basis)
  if (meanwhile && isOurs(meanwhile)) return savedAs(meanwhile.number, checked)
  const { number, actor } = saved.head
  return {
    refused: `revision ${base} is not the newest: r${number} by ${actor} is. Nothing was saved. Read what "prompts" again, and decide again`,
  }
}

function savedAs(revision: number, { identical, dropped }: Settled): ToolAnswer {
  const notes = [
    ...identical.map((part) => `${part} equals the built-in text, so it follows it.`),
    ...dropped.map((part) => `${part} is dropped: this version of the program has no such part.`),
  ]
  return { text: [`Saved as revision ${revision}. It holds from the next request of every agent on.`, ...notes].join('\n') }
}

function readChanges(changes: Input['changes']): { changes: PieceChange[] } | { refused: string } {
  const twice = changes.find(({ piece }, index) => changes.findIndex((other) => other.piece === piece) < index)
  if (twice) return { refused: `${twice.piece} stands twice in "changes"; each piece stands once. Nothing was saved` }
  const wrong = changes.find(({ change, text }) => (change === 'write') === (text === undefined))
  if (wrong) return { refused: `${wrong.piece}: "write" takes "text" and "follow" takes none. Nothing was saved` }
  return { changes: changes.map(({ piece, text }) => ({ piece, text: text ?? null })) }
}

async function basisFacts(deps: Deps, message: number): Promise<BasisFacts> {
  const row = await basisRow(deps.db, message)
  if (!row) return { message, said: null }
  const { kind, authorLogin: author, member, addressesAgent, body, rule, since, usedFor } = row
  const slug = deps.github ? (await deps.github.identity()).slug : ''
  return {
    message,
    said: {
      kind,
      author,
      member,
      addressesAgent,
      words: findMention(body ?? '', slug).withoutMention,
      isCommand: rule === 'P2',
      since,
      permission: member ? await permissionOf(deps, row) : null,
      usedFor,
    },
  }
}

/** Of everybody whose words these are. */
async function permissionOf({ db, github, now }: Deps, { place, author, authorLogin, editor }: BasisRow): Promise<Permission | null> {
  if (!github || author === null || place === null || editor === 'unknown') return null
  const of = (account: number, login: string) => permissionNow({ db, client: github.client, now }, { account, login, ...place })
  const written = await of(author, authorLogin)
  return editor === null ? written : weaker(written, await of(editor.account, editor.login))
}
