/** `switchyard policy …`: the accept mode and the rules for inferred work (spec F2, F5). Each change is a new version. */
import {
  addRule,
  type Changed,
  editRule,
  enableRule,
  type PolicyDocument,
  type RuleWords,
  removeRule,
  restored,
  setMode,
} from '../../core/policy/policy.ts'
import type { Database } from '../../ledger/database.ts'
import { headVersion, readVersion, saveVersion, type Version, type VersionHead, versions } from '../../ledger/versions.ts'
import { numberOf } from '../config/context.ts'
import { renderHistory } from '../config/show.ts'
import { withLedger } from '../ledger.ts'
import { aligned } from '../lines.ts'
import { painted, type Style } from '../live/style.ts'
import { complain, type ExitCode, outputStyle, refuse, say, sayJson } from '../terminal.ts'
import { whoAsks } from '../who.ts'

export interface PolicyOptions {
  base?: string
  note?: string
  as?: string
  json?: boolean
}

export function show({ json = false }: PolicyOptions): Promise<ExitCode> {
  return withLedger(async (db) => {
    const head = await newest(db)
    if (json) sayJson(head)
    else say(renderPolicy(head, outputStyle()))
    return 0
  })
}

export function renderPolicy({ number, document: { mode, rules } }: Version<'policy'>, style: Style): string {
  const lines = rules.map(({ id, name, instruction, enabled }) => [
    { text: id, tone: 'strong' as const },
    { text: enabled ? 'enabled' : 'disabled', tone: enabled ? ('good' as const) : ('faint' as const) },
    { text: `${name}: ${instruction}` },
  ])
  return [
    `Policy v${number}, accept mode ${painted(mode, 'strong', style)}: ${MEANS[mode]}`,
    ...(rules.length === 0 ? ['No rule.'] : aligned(lines, style)),
  ].join('\n')
}

const MEANS: Readonly<Record<PolicyDocument['mode'], string>> = {
  explicit: 'only what members ask for is worked on.',
  confirm: 'what a rule covers is worked on after a member accepts it.',
  automatic: 'what a rule covers is worked on at once.',
}

export function history({ json = false, most }: { json?: boolean; most: number }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const heads = await versions(db, 'policy', { most })
    if (json) sayJson({ versions: heads })
    else say(renderHistory(heads, 'v', outputStyle()))
    return 0
  })
}

export const mode = (name: string, options: PolicyOptions) => change(options, `accept mode ${name}`, (policy) => setMode(policy, name))
export const add = (words: RuleWords, options: PolicyOptions) =>
  change(options, `rule "${words.name}" added`, (policy) => addRule(policy, words))
export const edit = (id: string, words: Partial<RuleWords>, options: PolicyOptions) =>
  change(options, `rule ${id} edited`, (policy) => editRule(policy, id, words))
export const enable = (id: string, enabled: boolean, options: PolicyOptions) =>
  change(options, `rule ${id} ${enabled ? 'enabled' : 'disabled'}`, (policy) => enableRule(policy, id, enabled))
export const remove = (id: string, options: PolicyOptions) => change(options, `rule ${id} removed`, (policy) => removeRule(policy, id))

export function restore(which: string, options: PolicyOptions): Promise<ExitCode> {
  return withLedger(async (db) => {
    const number = numberOf(which)
    const older = number === null ? null : await readVersion(db, 'policy', number)
    if (older === null)
      return refuse(`there is no Policy version "${which}"; the newest is ${(await headVersion(db, 'policy')).number}`, options)
    return save(db, options, { note: `restored from v${older.number}`, restored: older.number }, (head) => ({
      policy: restored(older.document, head),
    }))
  })
}

function change(options: PolicyOptions, note: string, apply: (policy: PolicyDocument) => Changed): Promise<ExitCode> {
  return withLedger((db) => save(db, options, { note, restored: null }, apply))
}

async function save(
  db: Database,
  options: PolicyOptions,
  given: { note: string; restored: number | null },
  apply: (policy: PolicyDocument) => Changed,
): Promise<ExitCode> {
  const head = await headVersion(db, 'policy')
  const base = options.base === undefined ? head.number : numberOf(options.base)
  if (base === null) {
    complain(`"${options.base}" is no version; --base names the one that you read`)
    return 2
  }
  // made from what was read: a save that comes in between must not pass for it
  const read = await readVersion(db, 'policy', base)
  if (read === null) return refuse(`nothing was saved: there is no v${base}; the newest is v${head.number}`, options)
  if (base !== head.number) return late(base, head, options)
  const changed = apply(read.document)
  if ('refused' in changed) return refuse(changed.refused, options)
  const saved = await saveVersion(db, 'policy', {
    base,
    document: changed.policy,
    origin: 'cli',
    actor: options.as ?? whoAsks(),
    note: options.note ?? given.note,
    restored: given.restored,
  })
  if ('head' in saved) return late(base, saved.head, options)
  const version = (await readVersion(db, 'policy', saved.number))!
  if (options.json) sayJson(version)
  else say(`${renderPolicy(version, outputStyle())}\nSaved. The main Session reads it with its next request.`)
  return 0
}

function late(base: number, head: VersionHead, { json = false }: PolicyOptions): ExitCode {
  if (json) sayJson({ refused: 'stale', base, head })
  else complain(`nothing was saved: v${head.number} by ${head.actor} is newer than v${base}. See: switchyard policy show`)
  return 1
}

const newest = async (db: Database): Promise<Version<'policy'>> =>
  (await readVersion(db, 'policy', (await headVersion(db, 'policy')).number))!
