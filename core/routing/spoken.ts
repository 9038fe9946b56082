/**
 * What an author says in their own voice (spec N1): a Markdown text in which everything quoted, shown as code or hidden in an
 * HTML comment is blanked out. Same length and same positions as the text, so that a match here is a match there.
 *
 * A scanner of its own and not a Markdown parser, for two reasons: positions in the source survive, and every step is linear,
 * also on texts that are made to be slow (F050). Where it is coarser than GFM it blanks more, never less.
 */

/** Replaced by blanks: code spans, fences (unclosed ones too), indented code, quotations with their lazy lines, HTML comments, HTML code and quotation elements. */
export function spoken(text: string): string {
  return blankElements(blankInline(text, readBlocks(text)))
}

type Kind = 'text' | 'blank line' | 'silent'
interface Line {
  kind: Kind
  start: number
  end: number
  /** Opens a new run of inline text: a code span never reaches across. */
  opens: boolean
}

interface Fence {
  mark: string
  length: number
}

const CLOSES_PARAGRAPH = /^(?:[-=*_][-=*_\s]*|#{1,6}(?:\s.*)?)$/
const STARTS_BLOCK = /^(?:[-+*]\s|\d{1,9}[.)]\s|#{1,6}(?:\s|$)|`{3}(?=[^`]*$)|~{3}|<[a-z!/?])/i
const LIST_MARKER = /^(?:[-+*]|\d{1,9}[.)])(?=\s|$)/

/** Lines by what they are. The state is what GFM's block structure needs: open lists, an open fence, a quotation that may go on lazily. */
function readBlocks(text: string): Line[] {
  const lines: Line[] = []
  let lists: number[] = []
  let fence: Fence | null = null
  let quotedFence: Fence | null = null
  let previous = 'none' as 'paragraph' | 'quoted paragraph' | 'none'
  let inComment = false
  let isHollowItem = false

  for (const { start, end } of linesOf(text)) {
    const push = (kind: Kind, opens = true) => lines.push({ kind, start, end, opens })
    const raw = text.slice(start, end)
    const leavesItem = raw.trim() !== '' && measure(raw, 0).indent < (lists.at(-1) ?? 0)
    if (inComment && !leavesItem) {
      inComment = !raw.includes('-->')
      push('silent')
      continue
    }
    inComment = false
    if (raw.trim() === '') {
      push(fence ? 'silent' : 'blank line')
      previous = 'none'
      quotedFence = null
      if (isHollowItem) lists = lists.slice(0, -1) // an item that starts with two blank lines is empty and over
      isHollowItem = false
      continue
    }

    let { indent, rest } = measure(raw, 0)
    const outside = lists.findIndex((offset) => indent < offset)
    const innermost = lists.at(-1) ?? 0
    if (fence) {
      // A fence ends with its mark, or with the list item that holds it.
      if (outside < 0) {
        if (indent - innermost < 4 && closes(fence, rest)) fence = null
        push('silent')
        continue
      }
      fence = null
    }
    if (previous === 'quoted paragraph' && !rest.startsWith('>') && !STARTS_BLOCK.test(rest) && !CLOSES_PARAGRAPH.test(rest)) {
      push('silent')
      continue
    }
    if (outside >= 0 && !(previous === 'paragraph' && !STARTS_BLOCK.test(rest) && !rest.startsWith('>'))) lists = lists.slice(0, outside)

    let base = lists.at(-1) ?? 0
    isHollowItem = false
    if (indent - base >= 4 && previous !== 'paragraph') {
      push('silent')
      continue
    }
    for (let marker = LIST_MARKER.exec(rest); marker && indent - base < 4 && !isRule(rest); marker = LIST_MARKER.exec(rest)) {
      const after = measure(rest.slice(marker[0].length), indent + marker[0].length)
      const isCode = after.indent - indent - marker[0].length > 4
      base = after.rest === '' || isCode ? indent + marker[0].length + 1 : after.indent
      lists.push(base)
      isHollowItem = after.rest === ''
      indent = after.indent
      rest = after.rest
      previous = 'none'
    }
    if (indent - base >= 4 && previous !== 'paragraph' && rest !== '') {
      push('silent')
      continue
    }

    if (rest.startsWith('>')) {
      const quoted = rest.replace(/^(?:>[ \t]*)+/, '')
      const opened: Fence | null = quotedFence ? null : fenceOf(quoted)
      const inQuotedFence = quotedFence !== null
      if (quotedFence && closes(quotedFence, quoted)) quotedFence = null
      if (opened) quotedFence = opened
      const isParagraph = !inQuotedFence && !opened && quoted.trim() !== '' && !CLOSES_PARAGRAPH.test(quoted.trim())
      previous = isParagraph ? 'quoted paragraph' : 'none'
      push('silent')
      continue
    }
    quotedFence = null

    const isContinuation = previous === 'paragraph' && indent - base >= 4
    fence = isContinuation ? null : fenceOf(rest)
    if (fence) {
      push('silent')
      previous = 'none'
      continue
    }
    if (rest.startsWith('<!--') && !rest.slice(rest.lastIndexOf('<!--') + 4).includes('-->')) {
      inComment = true
      push('silent')
      previous = 'none'
      continue
    }
    push('text', previous !== 'paragraph' || (!isContinuation && STARTS_BLOCK.test(rest)))
    previous = rest === '' || CLOSES_PARAGRAPH.test(rest.trim()) ? 'none' : 'paragraph'
  }
  return lines
}

function* linesOf(text: string): Generator<{ start: number; end: number }> {
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    yield { start, end }
    start = end + 1
  }
}

/** Columns of white space before the first other character; a tab reaches to the next multiple of four. */
function measure(line: string, column: number): { indent: number; rest: string } {
  let at = 0
  let indent = column
  for (; line[at] === ' ' || line[at] === '\t'; at++) indent = line[at] === '\t' ? indent + 4 - (indent % 4) : indent + 1
  return { indent, rest: line.slice(at).replace(/\r$/, '') }
}

function fenceOf(rest: string): Fence | null {
  const run = /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(rest)?.[0]
  return run ? { mark: run.charAt(0), length: run.length } : null
}

function closes(fence: Fence, rest: string): boolean {
  const line = rest.trim()
  return line.length >= fence.length && line === fence.mark.repeat(line.length)
}

function isRule(rest: string): boolean {
  return /^([-*])(?:[ \t]*\1){2,}[ \t]*$/.test(rest)
}

/** Blanks the silent lines, and inside each run of text lines the code spans and comments. */
function blankInline(text: string, lines: readonly Line[]): string {
  const pieces: string[] = []
  let run: Line[] = []
  const flush = () => {
    const [first, last] = [run[0], run.at(-1)]
    if (first && last) pieces.push(blankSpans(text.slice(first.start, last.end)))
    run = []
  }
  for (const line of lines) {
    if (line.kind === 'text') {
      if (line.opens) flush()
      run.push(line)
    } else {
      flush()
      pieces.push(blank(text.slice(line.start, line.end)))
    }
  }
  flush()
  return pieces.join('\n')
}

/** Code spans and comments of one run, whichever opens first; a backslash takes the next character out of the game. */
function blankSpans(run: string): string {
  const closing = spanEnds(run)
  const opening = /\\[\s\S]|`+|<!--/g
  let out = ''
  let done = 0
  let commentsEnd = true
  for (let open = opening.exec(run); open; open = opening.exec(run)) {
    const [mark] = open
    if (mark.startsWith('\\') || (mark === '<!--' && !commentsEnd)) continue
    const end = mark === '<!--' ? commentEnd(run, open.index) : closing(open.index, mark.length)
    if (end === null) {
      if (mark === '<!--') commentsEnd = false
      continue
    }
    out += run.slice(done, open.index) + blank(run.slice(open.index, end))
    done = end
    opening.lastIndex = end
  }
  return out + run.slice(done)
}

function commentEnd(run: string, open: number): number | null {
  const found = run.indexOf('-->', open + 4)
  return found < 0 ? null : found + 3
}

/** Where the code span that opens at an index with so many backticks ends. Openers are asked in ascending order, so each list is walked once. */
function spanEnds(run: string): (open: number, length: number) => number | null {
  const lists = new Map<number, { starts: number[]; next: number }>()
  for (const { 0: ticks, index } of run.matchAll(/`+/g)) {
    const list = lists.get(ticks.length)
    if (list) list.starts.push(index)
    else lists.set(ticks.length, { starts: [index], next: 0 })
  }
  return (open, length) => {
    const list = lists.get(length)
    if (!list) return null
    while ((list.starts[list.next] ?? Number.POSITIVE_INFINITY) <= open) list.next++
    const start = list.starts[list.next]
    return start === undefined ? null : start + length
  }
}

/** HTML's own code and quotation elements, nested ones as one; without an end they reach to the end of the text, as in a browser. */
function blankElements(text: string): string {
  const opening = /(?<!\\)<(pre|code|kbd|samp|tt|blockquote|q)\b[^<>]{0,300}>/gi
  let out = ''
  let done = 0
  for (let open = opening.exec(text); open; open = opening.exec(text)) {
    const end = elementEnd(text, opening.lastIndex, open[1] ?? '')
    out += text.slice(done, open.index) + blank(text.slice(open.index, end))
    done = end
    opening.lastIndex = end
  }
  return out + text.slice(done)
}

function elementEnd(text: string, from: number, name: string): number {
  const tag = new RegExp(`<(/?)${name}\\b[^<>]{0,300}>`, 'gi')
  tag.lastIndex = from
  let depth = 1
  for (let found = tag.exec(text); found; found = tag.exec(text)) {
    depth += found[1] ? -1 : 1
    if (depth === 0) return tag.lastIndex
  }
  return text.length
}

function blank(text: string): string {
  return text.replace(/\S/g, ' ')
}
