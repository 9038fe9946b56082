/** `grep` (spec H10): lines of files by regular expression, with ripgrep where it is there; runs inside the sandbox. */
import type { Answer, Given } from '../workspace/given.ts'
import { placeOf } from '../workspace/inside.ts'

export interface GrepInput {
  /** A regular expression. */
  pattern: string
  /** A file or a folder; default: the whole repository. */
  path?: string
  /** Only files of this pattern, such as *.ts. */
  glob?: string
  /** Lines around each match. */
  context?: number
}

const SEARCH_MS = 60_000

export async function grep(given: Given<GrepInput>): Promise<Answer> {
  const { folder, sandbox, signal, input } = given
  if (input.pattern.includes('\0') || input.glob?.includes('\0')) return { refused: 'the pattern holds a NUL character' }
  const place = placeOf({ folder, path: input.path ?? '.', use: 'change' })
  if ('refused' in place) return place

  const hasRipgrep = (await sandbox.run({ folder, command: 'command -v rg', timeoutMs: SEARCH_MS, signal })).exit === 0
  const command = hasRipgrep ? ripgrep(input, place.shown) : gnuGrep(input, place.shown)
  const { exit, output, stopped } = await sandbox.run({ folder, command, timeoutMs: SEARCH_MS, signal })

  if (stopped === 'timeout') return { refused: `the search took more than ${SEARCH_MS / 1000} seconds: give a path or a glob` }
  if (exit === 0) return { text: output.replace(/^\.\//gm, '') }
  if (exit === 1 && output === '')
    return {
      text: `no line matches ${input.pattern} in ${place.shown}${input.glob ? ` (files ${input.glob})` : ''}; ignored and binary files are not searched`,
    }
  const flavour = hasRipgrep
    ? 'Rust regular expressions: no look-around, no back references; literal { } ( ) need a backslash'
    : 'Perl regular expressions'
  return { refused: `the search failed (${flavour}): ${output.trim() || `exit ${exit}`}` }
}

/** Long lines are cut by ripgrep with a note of its own. */
function ripgrep({ pattern, glob, context }: GrepInput, path: string): string[] {
  const shape = [
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--color=never',
    '--max-columns=500',
    '--max-columns-preview',
    '--sort=path',
  ]
  const files = ['--hidden', '--glob=!.git', ...(glob === undefined ? [] : [`--glob=${glob}`])]
  return ['rg', '--no-config', ...shape, ...files, `--context=${context ?? 0}`, `--regexp=${pattern}`, '--', path]
}

function gnuGrep({ pattern, glob, context }: GrepInput, path: string): string[] {
  const files = ['--exclude-dir=.git', '--exclude-dir=node_modules', ...(glob === undefined ? [] : [`--include=${glob}`])]
  return ['grep', '-rnHPI', '--color=never', ...files, `--context=${context ?? 0}`, `--regexp=${pattern}`, '--', path]
}
