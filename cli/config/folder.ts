/** A configuration as a folder on disk: what `export` and `edit` write and `import` reads. */
import { isUtf8 } from 'node:buffer'
import { type Dirent, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { ConfigurationDocument } from '../../core/config/document.ts'
import type { ConfigFault } from '../../core/config/fault.ts'
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

export interface Folder {
  files: Record<string, string>
  /** Null: it does not say which one it was made from. */
  revision: number | null
  /** What is there and cannot be read as text. */
  faults: ConfigFault[]
}

/** Every file but what editors leave about (hidden, or ending in ~). */
export function readFolder(folder: string): Folder {
  // a file may be called as what every object inherits
  const files: Record<string, string> = Object.create(null)
  const faults: ConfigFault[] = []
  let revision: number | null = null
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = pathIn(folder, entry)
    const isOurs = !path.split('/').some((name) => name.startsWith('.')) && !path.endsWith('~') && !isBeside(path)
    if (entry.isDirectory() || !isOurs) continue
    // what a link points to can be any file of this computer, and would be read by every agent
    const text = entry.isFile() ? textOf(join(folder, path)) : null
    if (text === null) {
      const found = entry.isSymbolicLink() ? 'a symbolic link' : entry.isFile() ? 'its bytes are no UTF-8' : 'no file'
      faults.push({ pointer: `/${path}`, found, legal: 'a file of its own, in UTF-8' })
    } else if (path === REVISION) revision = revisionIn(text)
    else files[path] = text
  }
  return { files, revision, faults }
}

const pathIn = (folder: string, entry: Dirent): string => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')

const isBeside = (path: string): boolean => BESIDE.includes(path.split('/')[0]!)

function textOf(file: string): string | null {
  const bytes = readFileSync(file)
  return isUtf8(bytes) ? bytes.toString() : null
}

function revisionIn(text: string): number | null {
  try {
    const { revision } = JSON.parse(text) as { revision?: unknown }
    return Number.isSafeInteger(revision) ? (revision as number) : null
  } catch {
    return null
  }
}
