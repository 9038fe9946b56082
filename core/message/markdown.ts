/** Where code stands in a Markdown message; words are counted and sentences replaced differently there. */

export type Piece = { kind: 'prose' | 'inline code' | 'fenced block'; text: string }

export interface Pieces {
  pieces: Piece[]
  /** The line that would close a fenced block left open at the end; what follows it would be read as code. */
  open: string | null
}

/** The pieces together are the text, byte for byte. */
export function pieces(text: string): Pieces {
  const found: Piece[] = []
  let prose = ''
  let block = ''
  let fence: string | null = null
  const endProse = () => {
    found.push(...inlinePieces(prose))
    prose = ''
  }
  for (const line of text.split(/(?<=\n)/)) {
    if (fence !== null) {
      block += line
      if (!closes(line, fence)) continue
      found.push({ kind: 'fenced block', text: block })
      fence = null
      continue
    }
    const opening = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line.trimEnd())
    if (!opening) {
      prose += line
      continue
    }
    endProse()
    fence = opening[1]!
    block = line
  }
  endProse()
  if (fence !== null) found.push({ kind: 'fenced block', text: block })
  return { pieces: found, open: fence }
}

function closes(line: string, fence: string): boolean {
  const closing = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1]
  return closing !== undefined && closing[0] === fence[0] && closing.length >= fence.length
}

/** A span opens and closes with equally long runs of backticks and does not reach over an empty line. */
function inlinePieces(text: string): Piece[] {
  const found: Piece[] = []
  const stops = [...text.matchAll(/`+|\n[ \t]*\n/g)].map((stop) => ({ at: stop.index, mark: stop[0] }))
  let from = 0
  for (let i = 0; i < stops.length; i += 1) {
    const close = closingRun(stops, i)
    if (close === null) continue
    const end = stops[close]!.at + stops[close]!.mark.length
    found.push({ kind: 'prose', text: text.slice(from, stops[i]!.at) }, { kind: 'inline code', text: text.slice(stops[i]!.at, end) })
    from = end
    i = close
  }
  found.push({ kind: 'prose', text: text.slice(from) })
  return found.filter((piece) => piece.text !== '')
}

function closingRun(stops: readonly { mark: string }[], opening: number): number | null {
  const { mark } = stops[opening]!
  if (mark.startsWith('\n')) return null
  for (let i = opening + 1; i < stops.length && !stops[i]!.mark.startsWith('\n'); i += 1) {
    if (stops[i]!.mark === mark) return i
  }
  return null
}
