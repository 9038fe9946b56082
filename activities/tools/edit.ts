/** `edit` (spec H10): replaces text of a file that is found exactly once, or every time if that is said. */
import { isUtf8 } from 'node:buffer'
import type { Answer, Given } from '../workspace/given.ts'
import { openInside, overwrite } from '../workspace/inside.ts'

export interface EditInput {
  path: string
  old: string
  new: string
  all?: boolean
}

/** A larger file is no source text. */
const FILE_BYTES = 16 * 1024 * 1024

export async function edit({ folder, input }: Given<EditInput>): Promise<Answer> {
  if (input.old === '') return { refused: 'old is empty: give the text to replace, or use write to make a file' }
  if (input.old === input.new) return { refused: 'old and new are the same: nothing would change' }
  if (!input.new.isWellFormed()) return { refused: 'new is ill-formed text (half of a surrogate pair); nothing was changed' }

  const opened = await openInside({ folder, path: input.path, use: 'change' })
  if ('refused' in opened)
    return opened.missing ? { refused: `${opened.refused}: use write to make it, or glob to find where it is` } : opened
  const { file, shown } = opened
  try {
    const { size } = await file.stat()
    if (size > FILE_BYTES)
      return { refused: `${shown} has ${size} bytes; edit takes at most ${FILE_BYTES}. Use the shell tool (sed, a script).` }
    const bytes = await file.readFile()
    if (!isUtf8(bytes)) return { refused: `${shown} is not UTF-8 text, and an edit would damage it. Use the shell tool.` }
    const edited = replace(bytes.toString('utf8'), input, shown)
    if ('refused' in edited) return edited
    await overwrite(file, edited.content)
    return { text: edited.said }
  } finally {
    await file.close()
  }
}

/** The text with its replacements, and a sentence with the lines concerned. Pure. */
export function replace(
  content: string,
  { old, new: fresh, all }: EditInput,
  shown: string,
): { content: string; said: string } | { refused: string } {
  const parts = content.split(old)
  const found = parts.length - 1
  const at = linesOfMatches(parts, old)
  if (found === 0) return { refused: `${shown}: old was not found. ${nearMiss(content, old)}` }
  if (found > 1 && !all) {
    return {
      refused: `${shown}: old was found ${found} times, in lines ${shortList(at)}. Take in more of the text around the one you mean, or say all: true.`,
    }
  }
  const times = found === 1 ? `line ${at[0]}` : `${found} places, lines ${shortList(at)}`
  return { content: parts.join(fresh), said: `${shown} is changed: ${times}` }
}

function linesOfMatches(parts: string[], old: string): number[] {
  const lines: number[] = []
  let line = 1
  for (const part of parts.slice(0, -1)) {
    line += lineEnds(part)
    lines.push(line)
    line += lineEnds(old)
  }
  return lines
}

function lineEnds(text: string): number {
  return text.split('\n').length - 1
}

/** What is likely wrong with a text that was not found, from the most to the least exact. */
function nearMiss(content: string, old: string): string {
  if (content.includes('\r\n') && !old.includes('\r') && content.replaceAll('\r\n', '\n').includes(old)) {
    return 'The file ends its lines with CR LF, old with LF: edit single lines, or use the shell tool.'
  }
  const lines = content.split('\n')
  const wanted = old.split('\n').map(bare)
  const from = lines.findIndex((_, start) => wanted.every((line, index) => bare(lines[start + index] ?? '') === line))
  if (from !== -1 && wanted.some((line) => line !== '')) {
    const place = wanted.length === 1 ? `Line ${from + 1}` : `Lines ${from + 1} to ${from + wanted.length}`
    return `${place} differ only in white space; there it stands as:\n${lines.slice(from, from + Math.min(wanted.length, 20)).join('\n')}`
  }
  const first = wanted.find((line) => line !== '')
  const same = first === undefined ? [] : lines.flatMap((line, index) => (bare(line) === first ? [index + 1] : []))
  if (same.length > 0) return `Its first line stands in line ${shortList(same)}, but what follows differs: read the file there again.`
  return 'No line of the file is like its first line: read the file again, it may have changed.'
}

function bare(line: string): string {
  return line.replace(/\s+/g, ' ').trim()
}

function shortList(lines: number[]): string {
  return lines.length > 10 ? `${lines.slice(0, 10).join(', ')} and ${lines.length - 10} more` : lines.join(', ')
}
