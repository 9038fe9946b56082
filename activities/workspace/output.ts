/**
 * What a command said (F332, F334): the first and the last part in memory, the whole in a file as soon as it is more than that,
 * and always said how much was left out and where it is. Bytes that are no text are shown as escapes.
 */
import { type FileHandle, open } from 'node:fs/promises'

export interface Cut {
  /** Bytes shown, bytes in all, and the file that holds them all. */
  shown: number
  total: number
  file: string
}

export interface Kept {
  output: string
  outputBytes: number
  cut: Cut | null
}

export interface Keeper {
  /** Resolves when the chunk is kept; false: the limit of the file is reached, nothing more is taken. */
  take(chunk: Buffer): Promise<boolean>
  /** Closes the file; a second call gives the same. */
  end(): Promise<Kept>
}

/** `keep` bytes are shown, a third from the beginning and the rest from the end; `limit` bytes go to the file at most. */
export function keeper({ keep, limit, file }: { keep: number; limit: number; file: string }): Keeper {
  const headSize = Math.floor(keep / 3)
  const tailSize = keep - headSize
  let held: Buffer[] = []
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let total = 0
  let whole: FileHandle | null = null
  let ended: Promise<Kept> | null = null

  async function overflow() {
    const all = Buffer.concat(held)
    held = []
    head = all.subarray(0, headSize)
    tail = all.subarray(headSize)
    whole = await open(file, 'wx', 0o600)
    await whole.writeFile(all)
  }

  return {
    async take(chunk) {
      const taken = chunk.subarray(0, limit - total)
      total += taken.length
      if (whole) {
        await whole.writeFile(taken)
        tail = Buffer.concat([tail, taken])
        if (tail.length > 2 * tailSize) tail = Buffer.from(tail.subarray(-tailSize))
      } else {
        held.push(taken)
        if (total > keep) await overflow()
      }
      return total < limit
    },
    end() {
      ended ??= whole
        ? whole.close().then(() => shownOf(head, tail.subarray(-tailSize), total, file))
        : Promise.resolve({ output: legible(Buffer.concat(held)), outputBytes: total, cut: null })
      return ended
    },
  }
}

function shownOf(head: Buffer, tail: Buffer, total: number, file: string): Kept {
  // text grows fourfold where every byte is an escape; then show a quarter, so that what is shown keeps its size
  const grows = legible(head).length + legible(tail).length > 2 * (head.length + tail.length)
  const first = upToCharacter(grows ? head.subarray(0, head.length >> 2) : head)
  const last = fromCharacter(grows ? tail.subarray(-(tail.length >> 2)) : tail)
  const shown = first.length + last.length
  const notice = `[${total - shown} bytes left out here; the whole output, ${total} bytes, is in ${file}]`
  return { output: `${legible(first)}\n${notice}\n${legible(last)}`, outputBytes: total, cut: { shown, total, file } }
}

const WELL_FORMED =
  /(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+/g

/** Bytes as text: ill-formed UTF-8 and control characters but tab and line ends become `\x00`-style escapes. */
export function legible(bytes: Uint8Array): string {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  let text = ''
  let from = 0
  for (const { 0: run, index } of raw.matchAll(WELL_FORMED)) {
    text += escaped(raw.slice(from, index)) + Buffer.from(run, 'latin1').toString('utf8')
    from = index + run.length
  }
  text += escaped(raw.slice(from))
  return text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, escaped)
}

function escaped(characters: string): string {
  return [...characters].map((character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
}

/** Without the beginning of a character whose rest is cut off. */
function upToCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.subarray(0, -back) : bytes
    if (byte < 0x80) return bytes
  }
  return bytes
}

/** Without the rest of a character whose beginning is cut off. */
function fromCharacter(bytes: Buffer): Buffer {
  let from = 0
  while (from < 3 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from++
  return bytes.subarray(from)
}
