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
import { headVersion, readVersion, saveVersion, type Version, versions } from '../../ledger/versions.ts'
import { numberOf } from '../config/context.ts'
import { renderHistory } from '../config/show.ts'
import { withLedger } from '../ledger.ts'
import { aligned } from '../lines.ts'
import { painted, type Style } from '../live/style.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from '../terminal.ts'
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

export function history({ json = false, most }: { json?: boolean; most: string }): Promise<ExitCode> {
  return withLedger(async (db) => {
    const heads = await versions(db, 'policy', { most: Number(most) })
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
    if (older === null) {
      complain(`there is no Policy version "${which}"; the newest is ${(await headVersion(db, 'policy')).number}`)
      return 1
    }
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
  { base, note, as, json = false }: PolicyOptions,
  given: { note: string; restored: number | null },
  apply: (policy: PolicyDocument) => Changed,
): Promise<ExitCode> {
  const head = await newest(db)
  const from = base === undefined ? head.number : numberOf(base)
  if (from === null) {
    complain(`"${base}" is no version; --base names the one that you read`)
    return 2
  }
  const changed = apply(head.document)
  if ('refused' in changed) {
    complain(changed.refused)
    return 1
  }
  const saved = await saveVersion(db, 'policy', {
    base: from,
    document: changed.policy,
    origin: 'cli',
    actor: as ?? whoAsks(),
    note: note ?? given.note,
    restored: given.restored,
  })
  if ('head' in saved) {
    if (json) sayJson({ refused: 'stale', base: from, head: saved.head })
    else complain(`nothing was saved: v${saved.head.number} by ${saved.head.actor} is newer than v${from}. See: switchyard policy show`)
    return 1
  }
  const version = (await readVersion(db, 'policy', saved.number))!
  if (json) sayJson(version)
  else say(`${renderPolicy(version, outputStyle())}\nSaved. The main Session reads it with its next request.`)
  return 0
}

const newest = async (db: Database): Promise<Version<'policy'>> =>
  (await readVersion(db, 'policy', (await headVersion(db, 'policy')).number))!
