/** `glob` (spec H10): paths of files by pattern. The listing is made inside the sandbox, so no link leads it out of there. */
import picomatch from 'picomatch'
import { ANSWER_BYTES, type Answer, type Given } from '../workspace/given.ts'
import { placeOf } from '../workspace/inside.ts'
import type { Ended } from '../workspace/sandbox.ts'

export interface GlobInput {
  pattern: string
  /** A folder; default: the root of the repository. */
  path?: string
}

const LIST_BYTES = 32 * 1024 * 1024
const LIST_MS = 60_000

/** First the files that git does not ignore, then all. Without ripgrep nobody knows what git ignores, and both are all. */
const LISTINGS = { visible: listing(''), all: listing('--no-ignore') } as const

export async function glob(given: Given<GlobInput>): Promise<Answer> {
  const { pattern, path = '.' } = given.input
  const place = placeOf({ folder: given.folder, path, use: 'change' })
  if ('refused' in place) return place
  if (pattern.startsWith('/') || pattern.split('/').includes('..'))
    return { refused: `pattern ${pattern}: patterns are relative to the folder, such as src/**/*.ts` }

  const matches = picomatch(pattern.replace(/^\.\//, ''), { dot: true })
  for (const which of ['visible', 'all'] as const) {
    const ended = await given.sandbox.run({
      folder: given.folder,
      command: LISTINGS[which],
      cwd: place.absolute,
      timeoutMs: LIST_MS,
      signal: given.signal,
      keep: LIST_BYTES,
    })
    const names = namesOf(ended)
    if (names === null)
      return { refused: `the files below ${path} could not be listed: ${ended.output.slice(0, 500).trim() || `exit ${ended.exit}`}` }
    const found = names.filter((name) => matches(name)).sort()
    const cut = ended.cut ? `\n[the folder has too many files to list them all: give a smaller folder as path]` : ''
    if (found.length > 0) return { text: listed(found, which === 'all' ? '\n[these files are ignored by git]' : '') + cut }
    if (cut) return { refused: `no match among the files that could be listed.${cut}` }
  }
  return { text: `no file matches ${pattern} below ${path}` }
}

function listing(option: string): string {
  return `if command -v rg >/dev/null; then exec rg --no-config --files --hidden ${option} --glob '!.git'; fi; exec find . -name .git -prune -o -type f -print`
}

/** Exit 1 of ripgrep with no output: the folder has no file. */
function namesOf({ exit, output, stopped }: Ended): string[] | null {
  if (stopped || exit === null || exit > 1 || (exit === 1 && output !== '')) return null
  return output
    .split('\n')
    .filter(Boolean)
    .map((name) => name.replace(/^\.\//, ''))
}

function listed(found: string[], note: string): string {
  const shown: string[] = []
  let bytes = 0
  for (const name of found) {
    bytes += Buffer.byteLength(name) + 1
    if (bytes > ANSWER_BYTES) break
    shown.push(name)
  }
  const rest = found.length - shown.length
  const more = rest > 0 ? `\n[${rest} more of ${found.length} files are left out: give a narrower pattern or a path]` : ''
  return shown.join('\n') + more + note
}
