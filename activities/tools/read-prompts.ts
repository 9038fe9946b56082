/** `orchestrator_read` of the prompt configuration and its revisions (spec B7, K4). */
import { overview, piece, pieceNames } from '../../core/config/pieces.ts'
import { oneLine } from '../../core/message/fence.ts'
import { readVersion, type VersionHead, versions } from '../../ledger/versions.ts'
import type { Deps } from '../deps.ts'
import type { ToolAnswer } from './tool-call.ts'

export async function readPrompts({ db, builtIn, readConfiguration }: Deps, id: string | undefined): Promise<ToolAnswer> {
  const { revision, document } = await readConfiguration(db)
  if (id === undefined) return { text: `revision ${revision}\n${overview(document, builtIn)}` }
  const text = piece(document, builtIn, id)
  return text === null ? { refused: `there is no piece "${id}". Those there are: ${pieceNames(document).join(', ')}` } : { text }
}

/** `among`: only these may be read; null: every one. */
export async function readRevisions({ db, builtIn }: Deps, id: string | undefined, among: readonly number[] | null): Promise<ToolAnswer> {
  if (id === undefined) {
    const heads = await versions(db, 'prompts', { most: 50 })
    const shown = heads.filter(({ number }) => among === null || among.includes(number))
    const older = among === null && heads.length === 50 ? ['(older ones by their id)'] : []
    return { text: [...shown.map(headLine), ...older].join('\n') }
  }
  const asked = /^r?(\d{1,9})(?:\s+(\S+))?$/i.exec(id)
  if (!asked) return { refused: `"${id}" is no such id; the form is r12, or r12 runtime/work` }
  const number = Number(asked[1])
  if (among !== null && !among.includes(number))
    return {
      refused: `revision r${number} did not hold at any time of your work. Those that did: ${among.map((each) => `r${each}`).join(', ')}`,
    }
  const found = await readVersion(db, 'prompts', number)
  if (!found) return { refused: `there is no revision r${number}` }
  if (asked[2] === undefined) return { text: `${headLine(found)}\n${overview(found.document, builtIn)}` }
  const text = piece(found.document, builtIn, asked[2])
  return text === null ? { refused: `r${number} has no piece "${asked[2]}". It has: ${pieceNames(found.document).join(', ')}` } : { text }
}

function headLine({ number, at, origin, actor, note, restored }: VersionHead): string {
  const back = restored === null ? [] : [`restored from r${restored}`]
  const said = note === null ? [] : [oneLine(note)]
  return [`r${number}`, at.toISOString(), `${origin} by ${oneLine(actor)}`, ...back, ...said].join(' · ')
}
