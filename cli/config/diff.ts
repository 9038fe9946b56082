/** Two configurations side by side, piece by piece: unified diffs of the files that they would be. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import type { ConfigurationDocument } from '../../core/config/document.ts'
import { changedPaths, type Files, toFiles } from '../../core/config/files.ts'
import { shownText } from '../lines.ts'
import { painted, type Style } from '../live/style.ts'
import { type ExitCode, outputStyle, refuse, say, sayJson } from '../terminal.ts'
import { revisionOf, withConfiguration } from './context.ts'

export function diff(from: string, to: string | undefined, { json = false }: { json?: boolean }): Promise<ExitCode> {
  return withConfiguration(async ({ db }) => {
    const [a, b] = [await revisionOf(db, from), await revisionOf(db, to)]
    if ('refused' in a) return refuse(a.refused, { json })
    if ('refused' in b) return refuse(b.refused, { json })
    const found = differences(toFiles(a.document), toFiles(b.document))
    if (json) sayJson({ from: a.number, to: b.number, differences: found })
    else say(found.length === 0 ? `r${a.number} and r${b.number} hold the same.` : renderDifferences(found, outputStyle()))
    return 0
  })
}

export interface Difference {
  path: string
  /** A unified diff. */
  patch: string
}

export function differences(from: Files, to: Files): Difference[] {
  return changedPaths(from, to).map((path) => ({ path, patch: patchOf(path, from[path] ?? '', to[path] ?? '') }))
}

export const documentDifferences = (from: ConfigurationDocument, to: ConfigurationDocument): Difference[] =>
  differences(toFiles(from), toFiles(to))

/** A person waits for it, and texts that have nothing in common take very long to compare. */
const PATIENCE_MS = 1_000

export function patchOf(path: string, from: string, to: string, names: readonly [string, string] = [path, path]): string {
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: PATIENCE_MS }
  const patch = createTwoFilesPatch(names[0], names[1], from, to, undefined, undefined, options)
  return patch ?? `--- ${names[0]}\n+++ ${names[1]}\nthe whole text was replaced (${linesIn(from)} → ${linesIn(to)} lines)\n`
}

const linesIn = (text: string): string => text.split('\n').length.toLocaleString('en-US')

export function renderDifferences(found: readonly Difference[], style: Style): string {
  return found.map(({ patch }) => renderPatch(patch, style)).join('\n\n')
}

export function renderPatch(patch: string, style: Style): string {
  return patch
    .trimEnd()
    .split('\n')
    .map((line) => {
      const shown = shownText(line)
      if (/^(\+\+\+|---)/.test(line)) return painted(shown, 'strong', style)
      if (line.startsWith('@@')) return painted(shown, 'faint', style)
      return line.startsWith('+') ? painted(shown, 'good', style) : line.startsWith('-') ? painted(shown, 'bad', style) : shown
    })
    .join('\n')
}
