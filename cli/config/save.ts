/** `switchyard config save | import | restore`, and what becomes of a draft: saved, refused with every fault, or too late (spec K1–K3). */
import { readFileSync, statSync } from 'node:fs'
import { type Draft as CheckedDraft, type ConfigurationDocument, EMPTY } from '../../core/config/document.ts'
import type { ConfigFault } from '../../core/config/fault.ts'
import { carriedOver, changedPaths, fromFiles, piecesIn, toFiles, withStoredBases } from '../../core/config/files.ts'
import { readDraft } from '../../core/config/read-draft.ts'
import { checkDraft, faultsText, settled } from '../../core/config/save.ts'
import { withLineFeeds } from '../../core/config/words.ts'
import { restoreConfiguration, type SavedConfiguration, saveConfiguration } from '../../ledger/save-configuration.ts'
import { headVersion, readVersion, type VersionHead } from '../../ledger/versions.ts'
import { counted, shownText } from '../lines.ts'
import { complain, type ExitCode, outputStyle, refuse, say, sayJson } from '../terminal.ts'
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
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return refuse(`there is no file ${path}`, options)
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
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return refuse(`there is no folder ${folder}`, options)
  const { files, revision, faults } = readFolder(folder)
  if (revision === null && faults.length === 0 && Object.keys(files).length === 0) {
    const meant = 'To follow the built-in texts everywhere: switchyard config restore --defaults'
    return refuse(`nothing was saved: there is no configuration in ${folder}, neither revision.json nor any piece. ${meant}`, options)
  }
  const base = options.base === undefined ? revision : wholeNumber(options.base)
  if (base === null) return wrongUse(`${folder} does not say which revision it was made from; give it with --base`)
  const made = await readVersion(context.db, 'prompts', base)
  const from = options.base === undefined ? '' : ` --base ${base}`
  const again = (onto: number) => `switchyard config import ${folder}${from} --onto ${onto}`
  if (!made) return noSuch(context, base, options)
  const read = fromFiles(files, made.document)
  const unreadable = [...faults, ...('faults' in read ? read.faults : [])]
  if (unreadable.length > 0 || 'faults' in read) return refused(unreadable, options)
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
  return refuse(`nothing was saved: there is no r${which}; the newest is r${number}`, options)
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
    const older = number === 'defaults' ? { document: EMPTY } : await readVersion(db, 'prompts', number)
    if (older === null) return refuse(`there is no revision ${number}; the newest is ${head.number}`, options)
    const made = await readVersion(db, 'prompts', base)
    if (!made) return noSuch(context, base, options)
    const { document } = settled(older.document, { stored: older.document, builtIn })
    const changed = showChanges(made.document, document, options)
    // it was read a moment ago, and no revision is ever deleted
    const result = (await restoreConfiguration(db, builtIn, { base, which: number, ...authorOf(options) }))!
    return told(context, result, { base, document, changed, options, again: () => `switchyard config restore ${which ?? '--defaults'}` })
  })
}

interface Draft {
  base: number
  draft: unknown
  options: SaveOptions
  /** The command that carries it over to a newer revision; never one that would take back what others changed. */
  again: (head: number) => string
}

/** Checks a draft, shows what it changes, saves it, and tells what became of it. */
export async function settle(context: Context, { base, draft, options, again }: Draft): Promise<ExitCode> {
  const { db, builtIn, maxBytes } = context
  const made = await readVersion(db, 'prompts', base)
  if (!made) return noSuch(context, base, options)
  const checked = checkDraft(draft, { stored: made.document, builtIn, maxBytes })
  if ('faults' in checked) return refused(checked.faults, options)
  const changed = showChanges(made.document, checked.document, options)
  const result = await saveConfiguration(db, context, { base, draft, ...authorOf(options) })
  if ('faults' in result) return refused(result.faults, options)
  return told(context, result, { base, document: checked.document, changed, options, again })
}

/** Before anything is saved: the last look is at what will be. */
function showChanges(from: ConfigurationDocument, to: ConfigurationDocument, { json = false }: SaveOptions): string[] {
  const changed = documentDifferences(from, to)
  if (!json && changed.length > 0) say(`${renderDifferences(changed, outputStyle())}\n`)
  return changed.map(({ path }) => path)
}

interface Told extends Pick<Draft, 'base' | 'options' | 'again'> {
  document: ConfigurationDocument
  changed: string[]
}

async function told(context: Context, result: SavedConfiguration, { base, document, changed, options, again }: Told): Promise<ExitCode> {
  if ('head' in result) return late(context, { base, document, head: result.head, options, again })
  if (options.json) {
    const { revision, dropped, identical, bytes } = result
    sayJson({ revision, base, dropped, identical, bytes, changed })
    return 0
  }
  for (const part of result.dropped) say(`${shownText(part)} is dropped: this version has no such part.`)
  for (const part of result.identical) say(`${part} equals the built-in text, so it follows it from now on.`)
  say(
    `Saved as r${result.revision} (${counted(result.bytes, 'byte')} of ${context.maxBytes.toLocaleString('en-US')}). Every agent reads it with its next request.`,
  )
  return 0
}

interface Late extends Pick<Draft, 'base' | 'options' | 'again'> {
  document: ConfigurationDocument
  head: VersionHead
}

/** Somebody saved meanwhile: nothing of the draft is lost, and it is said what changed. */
async function late({ db }: Context, { base, document, head, options, again }: Late): Promise<ExitCode> {
  const made = (await readVersion(db, 'prompts', base))!
  const newest = (await readVersion(db, 'prompts', head.number))!
  const theirs = changedPaths(toFiles(made.document), toFiles(newest.document))
  const both = changedPaths(toFiles(made.document), toFiles(document)).filter((path) => theirs.includes(path))
  if (options.json) {
    sayJson({ refused: 'stale', base, head, theirs, both })
    return 1
  }
  const what = theirs.length === 0 ? '' : ` and changed ${theirs.join(', ')}`
  const clash = both.length === 0 ? '' : `; of these you changed ${both.join(', ')} too`
  complain(
    `nothing was saved: r${head.number} by ${head.actor} is newer than r${base}${what}${clash}. Your draft is as it was. See: switchyard config diff ${base} ${head.number}; then: ${again(head.number)}`,
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
