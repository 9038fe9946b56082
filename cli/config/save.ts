/** `switchyard config save | import | restore`, and what becomes of a draft: saved, refused with every fault, or too late (spec K1–K3). */
import { readFileSync } from 'node:fs'
import { type Draft as CheckedDraft, type ConfigurationDocument, EMPTY } from '../../core/config/document.ts'
import type { ConfigFault } from '../../core/config/fault.ts'
import { carriedOver, changedPaths, fromFiles, piecesIn, toFiles, withStoredBases } from '../../core/config/files.ts'
import { readDraft } from '../../core/config/read-draft.ts'
import { checkDraft, faultsText } from '../../core/config/save.ts'
import { withLineFeeds } from '../../core/config/words.ts'
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
  takeMine?: string[]
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
    const again = (onto: number) => `switchyard config save ${path} --base ${base} --onto ${onto}`
    return saveOnto(context, { base, draft: read.draft, options, again })
  })
}

export function importFolder(folder: string, options: SaveOptions): Promise<ExitCode> {
  return withConfiguration((context) => saveFolder(context, folder, options))
}

/** What a folder holds becomes the newest revision; with `onto`, only what it changed since its base. */
export async function saveFolder(context: Context, folder: string, options: SaveOptions): Promise<ExitCode> {
  const { files, revision } = readFolder(folder)
  const base = options.base === undefined ? revision : wholeNumber(options.base)
  if (base === null) return wrongUse(`${folder} does not say which revision it was made from; give it with --base`)
  const made = await readVersion(context.db, 'prompts', base)
  const from = options.base === undefined ? '' : ` --base ${base}`
  const again = (onto: number) => `switchyard config import ${folder}${from} --onto ${onto}`
  if (!made) return noSuch(context, base, options)
  const read = fromFiles(files, made.document)
  if ('faults' in read) return refused(read.faults, options)
  return saveOnto(context, { base, draft: read.draft, options, again })
}

/** A draft as it is; or with `onto` what it changed since its base, done to that revision, which then is what it was made from. */
async function saveOnto(context: Context, given: Draft): Promise<ExitCode> {
  const { db, builtIn, maxBytes } = context
  const { base, draft, options, again } = given
  const onto = options.onto === undefined ? base : wholeNumber(options.onto)
  if (onto === null) return wrongUse(`"${options.onto}" is no revision; --onto names the one that the changes are to be done to`)
  if (options.takeMine && options.onto === undefined)
    return wrongUse('--take-mine goes with --onto: it decides about a file that both changed')
  const made = await readVersion(db, 'prompts', base)
  if (!made) return noSuch(context, base, options)
  if (onto === base) return settle(context, given)
  const target = await readVersion(db, 'prompts', onto)
  if (!target) return noSuch(context, onto, options)
  const checked = checkDraft(draft, { stored: made.document, builtIn, maxBytes })
  if ('faults' in checked) return refused(checked.faults, options)
  const carried = carriedOver({
    base: toFiles(made.document),
    mine: toFiles(withStoredBases(withLineFeeds(draft) as CheckedDraft, made.document)),
    theirs: toFiles(target.document),
    merged: options.takeMine,
  })
  if ('conflicts' in carried) return conflict(carried.conflicts, { base, onto, options, again })
  const merged = fromFiles(carried.files, target.document)
  if ('faults' in merged) return refused(merged.faults, options)
  return settle(context, { base: onto, draft: merged.draft, options, again })
}

interface Conflict extends Pick<Draft, 'base' | 'options' | 'again'> {
  onto: number
}

/** Only people can bring two texts together; every other file of theirs stays theirs. */
function conflict(conflicts: readonly string[], { base, onto, options, again }: Conflict): ExitCode {
  if (options.json) {
    sayJson({ refused: 'conflicts', base, onto, conflicts })
    return 1
  }
  const pieces = [...new Set(conflicts.flatMap(piecesIn))]
  const files = [...new Set([...(options.takeMine ?? []), ...conflicts])]
  complain(
    [
      `nothing was saved: both the draft and r${onto} changed ${conflicts.join(', ')} since r${base}.`,
      'See theirs:',
      ...pieces.map((piece) => `  switchyard config show ${piece} --revision ${onto}`),
      'Write into your draft the text that holds both changes. Then let yours stand in just these files; all else of theirs is kept:',
      `  ${again(onto)} ${files.map((path) => `--take-mine ${path}`).join(' ')}`,
    ].join('\n'),
  )
  return 1
}

async function noSuch({ db }: Context, which: number, options: SaveOptions): Promise<ExitCode> {
  const { number } = await headVersion(db, 'prompts')
  const sentence = `there is no r${which}; the newest is r${number}`
  if (options.json) sayJson({ refused: sentence })
  else complain(`nothing was saved: ${sentence}`)
  return 1
}

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
  /** The command that carries it over to a newer revision; never one that would take back what others changed. */
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
