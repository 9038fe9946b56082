/**
 * From a draft to the document of a new revision (spec B2, B8–B10, D2, K5, K6), or to everything that is wrong with it at once.
 * Pure: who may save, and whether the base is still the head, is decided where the revision is written.
 */
import { closest } from '../prompt/near.ts'
import { isPart, PARTS } from '../prompt/templates.ts'
import { shapeFaults } from '../schema/shape-faults.ts'
import { type ConfigurationDocument, Draft } from './document.ts'
import { sameText } from './drift.ts'
import { type ConfigFault, faultLine, pointerOf } from './fault.ts'
import { partFaults } from './part-faults.ts'
import { type ReadableSkill, skillFaults } from './skill-faults.ts'
import { DEEPEST, withLineFeeds, wordFaults } from './words.ts'

export interface SaveGiven {
  /** The document of the revision that the draft was made from. */
  stored: ConfigurationDocument
  /** The program's own texts by name. */
  builtIn: Readonly<Record<string, string>>
  /** Of everything that a model can read (spec K5); a remembered base is not read. */
  maxBytes: number
}

export interface Settled {
  document: ConfigurationDocument
  /** Overrides that were left out: their part is gone (spec B9), or they equal the built-in text (B10). */
  dropped: string[]
  identical: string[]
  bytes: number
}

export type Checked = Settled | { faults: ConfigFault[] }

export function checkDraft(written: unknown, given: SaveGiven): Checked {
  const draft = withLineFeeds(written)
  const overrides = readableOverrides(draft)
  const faults = [
    ...shapeFaults(Draft, draft).map(({ path, found, legal }) => ({ pointer: pointerOf(path), found, legal })),
    ...wordFaults(draft),
    ...skillFaults(readableSkills(draft)),
    ...overrides.flatMap((override) => overrideFaults(override, given)),
    ...sizeFaults(draft, given),
  ]
  if (faults.length > 0) return { faults }
  return settled(draft as Draft, given)
}

/** So many faults are told in words; who needs them all reads the list. */
const MOST_TOLD = 50

/** Several faults in the words of one who can mend them. */
export const faultsText = (faults: readonly ConfigFault[]): string =>
  [
    `${faults.length === 1 ? '1 fault' : `${number(faults.length)} faults`}, so nothing was saved:`,
    ...faults.slice(0, MOST_TOLD).map((fault) => `- ${faultLine(fault)}`),
    ...(faults.length > MOST_TOLD ? [`(and ${number(faults.length - MOST_TOLD)} more)`] : []),
  ].join('\n')

/** What a sound draft becomes. An older revision is brought back by this alone: what it holds was checked when it was saved (spec B6, K2). */
export function settled({ overrides, ...draft }: Draft, { stored, builtIn }: Pick<SaveGiven, 'stored' | 'builtIn'>): Settled {
  const names = Object.keys(overrides).sort()
  const dropped = names.filter((name) => !isPart(name))
  const identical = names.filter((name) => isPart(name) && sameText(overrides[name]!.text, builtIn[name]!))
  const kept = names.filter((name) => !dropped.includes(name) && !identical.includes(name))
  const document = {
    ...draft,
    skills: draft.skills.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    overrides: Object.fromEntries(
      kept.map((part) => {
        const { text, base } = overrides[part]!
        return [part, { text, base: base ?? storedBase(stored, part) ?? builtIn[part]! }]
      }),
    ),
  }
  return { document, dropped, identical, bytes: total(sizes(document)) }
}

interface ReadableOverride {
  part: string
  text?: string
  base?: string
}

function overrideFaults({ part, text, base }: ReadableOverride, { stored, builtIn }: SaveGiven): ConfigFault[] {
  if (!isPart(part)) {
    if (Object.hasOwn(stored.overrides, part)) return [] // the program lost the part: dropped below
    const meant = closest(part, PARTS)
    return [
      {
        pointer: pointerOf(['overrides', part]),
        found: `no such part${meant === null ? '' : `; did you mean ${meant}?`}`,
        legal: PARTS.join(', '),
      },
    ]
  }
  // what is stored already does not keep other pieces from being saved: where a release made it invalid, it stays so (spec B6)
  const isStored = text !== undefined && Object.hasOwn(stored.overrides, part) && stored.overrides[part]!.text === text
  return [
    ...(text === undefined || isStored
      ? []
      : partFaults(part, text).map((fault) => ({ pointer: pointerOf(['overrides', part, 'text']), ...fault }))),
    ...(base === undefined || [storedBase(stored, part), builtIn[part]!].some((known) => known !== undefined && sameText(known, base))
      ? []
      : [
          {
            pointer: pointerOf(['overrides', part, 'base']),
            found: `found a text that is neither the stored base of ${part} nor its built-in text`,
            legal: 'one of the two; or leave it out, to keep the stored base, or to start from the built-in text',
          },
        ]),
  ]
}

const storedBase = ({ overrides }: ConfigurationDocument, part: string): string | undefined =>
  Object.hasOwn(overrides, part) ? overrides[part]!.base : undefined

/** Bytes of each piece that a model can read. */
function sizes(draft: unknown, kept: (override: ReadableOverride) => boolean = () => true): { piece: string; bytes: number }[] {
  const { sections } = (isObject(draft) ? draft : {}) as { sections?: unknown }
  return [
    ...(isObject(sections)
      ? Object.entries(sections).map(([name, section]) => ({ piece: `sections/${name}`, bytes: bytesIn(section) }))
      : []),
    ...readableSkills(draft).map((skill, index) => ({ piece: `skills/${skill.name ?? index}`, bytes: bytesIn(skill) })),
    ...readableOverrides(draft)
      .filter(kept)
      .map(({ part, text }) => ({ piece: `overrides/${part}`, bytes: bytesIn(text) })),
  ]
}

const total = (pieces: readonly { bytes: number }[]): number => pieces.reduce((sum, { bytes }) => sum + bytes, 0)

/** What would be kept: an override that is dropped or follows the program weighs nothing. */
function sizeFaults(draft: unknown, { builtIn, maxBytes }: SaveGiven): ConfigFault[] {
  const kept = ({ part, text }: ReadableOverride) => isPart(part) && !(text !== undefined && sameText(text, builtIn[part]!))
  const pieces = sizes(draft, kept)
  const bytes = total(pieces)
  if (bytes <= maxBytes) return []
  const biggest = pieces
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, 3)
    .map((each) => `${each.piece} ${number(each.bytes)}`)
  return [
    {
      pointer: '',
      found: `${number(bytes)} bytes in all; the biggest are ${biggest.join(', ')}`,
      legal: `at most ${number(maxBytes)} bytes (SWITCHYARD_MAX_CONFIG_BYTES)`,
    },
  ]
}

const number = (value: number): string => value.toLocaleString('en-US')

/** Bytes of all texts in a value, whatever else it holds. */
function bytesIn(value: unknown, depth = 0): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value === null || typeof value !== 'object' || depth > DEEPEST) return 0
  return Object.values(value).reduce<number>((sum, each) => sum + bytesIn(each, depth + 1), 0)
}

/** What can be read of a draft whose shape may be wrong elsewhere, so that one look finds every fault. */
function readableSkills(draft: unknown): ReadableSkill[] {
  const skills = isObject(draft) && Array.isArray(draft.skills) ? (draft.skills as unknown[]) : []
  return skills.map((skill) => textsOf(skill, ['name', 'description', 'body']))
}

function readableOverrides(draft: unknown): ReadableOverride[] {
  const overrides = isObject(draft) && isObject(draft.overrides) ? draft.overrides : {}
  return Object.entries(overrides).map(([part, override]) => ({ part, ...textsOf(override, ['text', 'base']) }))
}

function textsOf<const Name extends string>(value: unknown, names: readonly Name[]): { [Key in Name]?: string } {
  if (!isObject(value)) return {}
  return Object.fromEntries(names.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name]]] : []))) as {
    [Key in Name]?: string
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value)
