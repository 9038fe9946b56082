/** `switchyard config save | import | restore`, and what becomes of a draft: saved, refused with every fault, or too late (spec K1–K3). */
import { readFileSync } from 'node:fs'
import { type ConfigurationDocument, EMPTY } from '../../core/config/document.ts'
import type { ConfigFault } from '../../core/config/fault.ts'
import { carriedOver, changedPaths, fromFiles, toFiles } from '../../core/config/files.ts'
import { readDraft } from '../../core/config/read-draft.ts'
import { faultsText } from '../../core/config/save.ts'
import { restoreConfiguration, type SavedConfiguration, saveConfiguration } from '../../ledger/save-configuration.ts'
import { headVersion, readVersion, type VersionHead } from '../../ledger/versions.ts'
import { counted } from '../lines.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from '../terminal.ts'
import { whoAsks } from '../who.ts'
import { type Context, numberOf, withConfiguration } from './context.ts'
import { documentDifferences, renderDifferences } from './diff.ts'
import { readFolder } from './folder.ts'

export interface SaveOptions {
  base?: string
  onto?: string
  note?: string
  as?: string
  json?: boolean
}

export function save(path: string, options: SaveOptions): Promise<ExitCode> {
  return withConfiguration(async (context) => {
    const base = wholeNumber(options.base)
    if (base === null) return wrongUse(`"${options.base}" is no revision; --base names the one that the draft was made from`)
    const read = readDraft(readFileSync(path))
    if ('faults' in read) return refused(read.faults, options)
    return settle(context, { base, draft: read.draft, options, again: (head) => `switchyard config save ${path} --base ${head}` })
  })
}

export function importFolder(folder: string, options: SaveOptions): Promise<ExitCode> {
  return withConfiguration((context) => saveFolder(context, folder, options))
}

/** What a folder holds becomes the newest revision; with `onto`, only what it changed since its base. */
export async function saveFolder(context: Context, folder: string, options: SaveOptions): Promise<ExitCode> {
  const { db } = context
  const { files, revision } = readFolder(folder)
  const base = options.base === undefined ? revision : wholeNumber(options.base)
  if (base === null) return wrongUse(`${folder} does not say which revision it was made from; give it with --base`)
  const onto = options.onto === undefined ? base : wholeNumber(options.onto)
  if (onto === null) return wrongUse(`"${options.onto}" is no revision; --onto names the one that the changes are to be done to`)
  const made = await readVersion(db, 'prompts', base)
  const target = await readVersion(db, 'prompts', onto)
  if (!made || !target)
    return late(context, { base: made ? onto : base, document: null, head: await headVersion(db, 'prompts') }, options, again(folder))
  const read = fromFiles(files, made.document)
  if ('faults' in read) return refused(read.faults, options)
  if (onto === base) return settle(context, { base, draft: read.draft, options, again: again(folder) })
  // files of the draft as they would be written, so that a break at an end is no change here either
  const carried = carriedOver(toFiles(made.document), toFiles(read.draft as ConfigurationDocument), toFiles(target.document))
  if ('conflicts' in carried) {
    if (options.json) sayJson({ conflicts: carried.conflicts })
    else
      complain(
        `both the draft and r${onto} changed ${carried.conflicts.join(', ')} since r${base}: write there what shall stand, and import with --base ${onto}`,
      )
    return 1
  }
  const merged = fromFiles(carried.files, target.document)
  if ('faults' in merged) return refused(merged.faults, options)
  return settle(context, { base: onto, draft: merged.draft, options, again: again(folder) })
}

const again = (folder: string) => (head: number) => `switchyard config import ${folder} --onto ${head}`

export function restore(which: string | undefined, options: SaveOptions & { defaults?: boolean }): Promise<ExitCode> {
  return withConfiguration(async (context) => {
    const { db, builtIn } = context
    if ((which === undefined) === !options.defaults) return wrongUse('name one revision, or --defaults')
    const number = which === undefined ? 'defaults' : numberOf(which)
    if (number === null) return wrongUse(`"${which}" is no revision; give its number, such as 12`)
    const head = await headVersion(db, 'prompts')
    const base = options.base === undefined ? head.number : wholeNumber(options.base)
    if (base === null) return wrongUse(`"${options.base}" is no revision`)
    const result = await restoreConfiguration(db, builtIn, { base, which: number, ...authorOf(options) })
    if (result === null) {
      complain(`there is no revision ${number}; the newest is ${head.number}`)
      return 1
    }
    const document = number === 'defaults' ? EMPTY : null
    return told(context, result, { base, document, options, again: () => `switchyard config restore ${which ?? '--defaults'}` })
  })
}

interface Draft {
  base: number
  draft: unknown
  options: SaveOptions
  again: (head: number) => string
}

/** Checks and saves a draft, and tells what became of it. */
export async function settle(context: Context, { base, draft, options, again }: Draft): Promise<ExitCode> {
  const result = await saveConfiguration(context.db, context, { base, draft, ...authorOf(options) })
  if ('faults' in result) return refused(result.faults, options)
  return told(context, result, { base, document: draft as ConfigurationDocument, options, again })
}

interface Told {
  base: number
  /** The draft, for what both changed; null: nothing to compare. */
  document: ConfigurationDocument | null
  options: SaveOptions
  again: (head: number) => string
}

async function told(context: Context, result: SavedConfiguration, { base, document, options, again }: Told): Promise<ExitCode> {
  if ('head' in result) return late(context, { base, document, head: result.head }, options, again)
  const before = await readVersion(context.db, 'prompts', base)
  const changed = documentDifferences(before!.document, result.document)
  if (options.json) {
    const { revision, dropped, identical, bytes } = result
    sayJson({ revision, base, dropped, identical, bytes, changed: changed.map(({ path }) => path) })
    return 0
  }
  if (changed.length > 0) say(`${renderDifferences(changed, outputStyle())}\n`)
  for (const part of result.dropped) say(`${part} is dropped: this version has no such part.`)
  for (const part of result.identical) say(`${part} equals the built-in text, so it follows it from now on.`)
  say(
    `Saved as r${result.revision} (${counted(result.bytes, 'byte')} of ${context.maxBytes.toLocaleString('en-US')}). Every agent reads it with its next request.`,
  )
  return 0
}

/** Somebody saved meanwhile: nothing of the draft is lost, and it is said what changed. */
async function late(
  { db }: Context,
  { base, document, head }: { base: number; document: ConfigurationDocument | null; head: VersionHead },
  options: SaveOptions,
  again: (head: number) => string,
): Promise<ExitCode> {
  const made = await readVersion(db, 'prompts', base)
  const newest = (await readVersion(db, 'prompts', head.number))!
  const theirs = made ? changedPaths(toFiles(made.document), toFiles(newest.document)) : []
  const mine = made && document ? changedPaths(toFiles(made.document), toFiles(document)) : []
  const both = mine.filter((path) => theirs.includes(path))
  if (options.json) {
    sayJson({ refused: 'stale', base, head, theirs, both })
    return 1
  }
  const since = made
    ? `r${head.number} by ${head.actor} is newer than r${base}`
    : `there is no r${base}; the newest is r${head.number} by ${head.actor}`
  const what = theirs.length === 0 ? '' : ` and changed ${theirs.join(', ')}`
  const clash = both.length === 0 ? '' : `; of these you changed ${both.join(', ')} too`
  complain(
    `nothing was saved: ${since}${what}${clash}. Your draft is as it was. See: switchyard config diff ${base} ${head.number}; then: ${again(head.number)}`,
  )
  return 1
}

function refused(faults: readonly ConfigFault[], { json = false }: SaveOptions): ExitCode {
  if (json) sayJson({ faults })
  else complain(faultsText(faults))
  return 1
}

function wrongUse(sentence: string): ExitCode {
  complain(sentence)
  return 2
}

const authorOf = ({ note, as }: SaveOptions) => ({ origin: 'cli' as const, actor: as ?? whoAsks(), note: note ?? null })

const wholeNumber = (written: string | undefined): number | null => (written === undefined ? null : numberOf(written))
