/** A configuration as a folder on disk: what `export` and `edit` write and `import` reads. */
import { type Dirent, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { ConfigurationDocument } from '../../core/config/document.ts'
import { type Files, toFiles } from '../../core/config/files.ts'

/** Which revision the folder was made from; people do not edit it. */
const REVISION = 'revision.json'
/** There from the start, so that a new piece has its place. */
const FOLDERS = ['sections', 'skills', 'overrides']
/** Lies beside for reading, and is no part of the configuration. */
const BESIDE = ['README.md', 'built-in']

/** Writes a new folder, and answers with what stands in it. */
export function writeFolder(folder: string, revision: number, document: ConfigurationDocument, beside: Files = {}): Files {
  mkdirSync(folder, { recursive: true })
  const there = readdirSync(folder)
  if (there.length > 0)
    throw new Error(`${folder} is not empty (${there[0]}): give a new folder, so that nothing in it is mistaken for a piece`)
  for (const name of FOLDERS) mkdirSync(join(folder, name))
  const files = { ...toFiles(document), ...beside, [REVISION]: `${JSON.stringify({ revision })}\n` }
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return files
}

/** The files whose bytes are not those that were written, whatever they are called; what lies beside (`built-in/`) is not saved. */
export function touchedSince(written: Files, folder: string): { path: string; isBeside: boolean }[] {
  const touched = new Set(Object.keys(written))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const path = pathIn(folder, entry)
    const text = Object.hasOwn(written, path) ? written[path]! : null
    if (text !== null && entry.isFile() && readFileSync(join(folder, path)).equals(Buffer.from(text))) touched.delete(path)
    else touched.add(path)
  }
  return [...touched].sort().map((path) => ({ path, isBeside: isBeside(path) }))
}

/** Every file but what editors leave about (hidden, or ending in ~). Throws a sentence about one that is no text. */
export function readFolder(folder: string): { files: Record<string, string>; revision: number | null } {
  // a file may be called as what every object inherits
  const files: Record<string, string> = Object.create(null)
  let revision: number | null = null
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = pathIn(folder, entry)
    const isOurs = !path.split('/').some((name) => name.startsWith('.')) && !path.endsWith('~') && !isBeside(path)
    if (!entry.isFile() || !isOurs) continue
    const text = textOf(join(entry.parentPath, entry.name))
    if (path === REVISION) revision = revisionIn(text)
    else files[path] = text
  }
  return { files, revision }
}

const pathIn = (folder: string, entry: Dirent): string => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')

const isBeside = (path: string): boolean => BESIDE.includes(path.split('/')[0]!)

function textOf(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
  } catch (error) {
    if (error instanceof TypeError) throw new Error(`${file} is no UTF-8 text`)
    throw error
  }
}

function revisionIn(text: string): number | null {
  try {
    const { revision } = JSON.parse(text) as { revision?: unknown }
    return Number.isSafeInteger(revision) ? (revision as number) : null
  } catch {
    return null
  }
}
