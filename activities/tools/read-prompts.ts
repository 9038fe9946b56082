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

/** So many are listed at once. */
const MOST = 50

/** `among`: only these may be read; null: every one. */
export async function readRevisions({ db, builtIn }: Deps, id: string | undefined, among: readonly number[] | null): Promise<ToolAnswer> {
  if (id === undefined) {
    const heads = await versions(db, 'prompts', { most: among === null ? MOST + 1 : among.length + 1 })
    const readable = heads.filter(({ number }) => among === null || among.includes(number))
    const older = readable.length > MOST ? ['(older ones are read by their id)'] : []
    return { text: [...readable.slice(0, MOST).map(headLine), ...older].join('\n') }
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
  const today = ' (where the built-in text stands here, it is that of this version of the program)'
  return text === null
    ? { refused: `r${number} has no piece "${asked[2]}". It has: ${pieceNames(found.document).join(', ')}` }
    : { text: `r${number}${today}\n${text}` }
}

function headLine({ number, at, origin, actor, note, restored }: VersionHead): string {
  const back = restored === null ? [] : [`restored from r${restored}`]
  const said = note === null ? [] : [oneLine(note)]
  return [`r${number}`, at.toISOString(), `${origin} by ${oneLine(actor)}`, ...back, ...said].join(' · ')
}
