/** `read` (spec H10): numbered lines of a file of the checkout, or of a command's whole output. */
import { type FileHandle, readdir } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { ANSWER_BYTES, type Answer, type Given } from '../workspace/given.ts'
import { openInside } from '../workspace/inside.ts'
import { legible } from '../workspace/output.ts'

export interface ReadInput {
  path: string
  /** From line 1. */
  offset?: number
  /** Lines. */
  limit?: number
}

const LINES = 2_000
/** A longer line is some tool's work, seldom worth its tokens. */
const LINE_BYTES = 4_000

export async function read({ folder, input }: Given<ReadInput>): Promise<Answer> {
  const opened = await openInside({ folder, path: input.path, use: 'read' })
  if ('refused' in opened) return { refused: opened.missing ? `${opened.refused}. ${await nearNames(folder, input.path)}` : opened.refused }
  const { file, shown } = opened
  try {
    const { size } = await file.stat()
    if (size === 0) return { text: `${shown} is empty` }
    if (await isBinary(file))
      return { text: `${shown} is a binary file of ${size} bytes; it is not shown. The shell tool can look into it (file, xxd, strings).` }
    return await lines(file, shown, input)
  } finally {
    await file.close()
  }
}

async function lines(file: FileHandle, shown: string, { offset = 1, limit = LINES }: ReadInput): Promise<Answer> {
  const wanted: string[] = []
  let bytes = 0
  let number = 0
  let full = false
  for await (const { line, length } of linesOf(file)) {
    number++
    if (number < offset) continue
    if (wanted.length >= limit || bytes >= ANSWER_BYTES) full = true
    if (full) break
    const note =
      length > line.length
        ? ` [line ${number} has ${length} bytes, the first ${line.length} are shown; shell: sed -n ${number}p '${shown}' | cut -b ${line.length + 1}-]`
        : ''
    const text = `${`${number}`.padStart(6)}→${legible(line)}${note}`
    bytes += Buffer.byteLength(text) + 1
    wanted.push(text)
  }
  if (wanted.length === 0) return { refused: `${shown} has ${number} lines; offset ${offset} is behind its end` }
  const last = offset + wanted.length - 1
  const end = full ? `[${shown} goes on after line ${last}: read on with offset ${last + 1}]` : `[end of ${shown}: ${last} lines]`
  return { text: [...wanted, end].join('\n') }
}

/** Lines without their ends, at most the first bytes of each, and how long each really is. One pass, bounded memory. */
async function* linesOf(file: FileHandle): AsyncGenerator<{ line: Buffer; length: number }> {
  let kept = Buffer.alloc(0)
  let length = 0
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const whole = withPart(kept, chunk.subarray(from, end))
      yield ended(whole, length + end - from)
      kept = Buffer.alloc(0)
      length = 0
      from = end + 1
    }
    kept = withPart(kept, chunk.subarray(from))
    length += chunk.length - from
  }
  if (length > 0) yield ended(kept, length)
}

function withPart(kept: Buffer, part: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([kept, part.subarray(0, LINE_BYTES + 4 - kept.length)])
}

function ended(line: Buffer, length: number): { line: Buffer; length: number } {
  if (length > LINE_BYTES) {
    let end = LINE_BYTES
    while (end > LINE_BYTES - 4 && (line[end]! & 0xc0) === 0x80) end-- // not inside a character
    return { line: line.subarray(0, end), length }
  }
  return line.at(-1) === 13 ? { line: line.subarray(0, -1), length: length - 1 } : { line, length }
}

async function isBinary(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(8_192), 0, 8_192, 0)
  return buffer.subarray(0, bytesRead).includes(0)
}

/** Files of the same folder whose name is near, by letter case, ending or part. Names only: nothing is opened. */
async function nearNames(folder: string, path: string): Promise<string> {
  const at = dirname(resolve(folder, path))
  const names = await readdir(at).catch(noFolder)
  const [wanted] = basename(path).toLowerCase().split('.')
  const near = names.filter((name) => wanted && name.toLowerCase().includes(wanted)).slice(0, 5)
  return near.length > 0 ? `In the same folder: ${near.join(', ')}.` : 'Use glob to find the file.'
}

function noFolder(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
  throw error
}
