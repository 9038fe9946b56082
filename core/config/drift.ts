/**
 * Where an override stands beside the program's own text, computed from the two and the base whenever it is read and stored
 * nowhere (spec B4, B6, B9). A base is the built-in text that the override was made from.
 */
import { isPart, PARTS, type Part } from '../prompt/templates.ts'
import type { ConfigurationDocument } from './document.ts'
import { partFaults, type TextFault } from './part-faults.ts'

/**
 * The first that holds. `removed`: the program has no such part; dropped at the next save. `invalid`: a release made it so; the
 * built-in text is used meanwhile. `identical`: equals the built-in text; removed at the next save. `default updated`: the
 * built-in text changed since; the override stays in use until the team decides. `current`: neither changed.
 */
export type DriftState = 'removed' | 'invalid' | 'identical' | 'default updated' | 'current'

export interface PartDrift {
  part: string
  state: DriftState
  text: string
  base: string
  /** Null: the program has no such part. */
  builtIn: string | null
  /** Why it is invalid. */
  faults: TextFault[]
}

type Texts = Readonly<Record<string, string>>

/** One for each override, in the order of the parts, removed ones last. */
export function drift({ overrides }: ConfigurationDocument, builtIn: Texts): PartDrift[] {
  const removed = Object.keys(overrides)
    .filter((name) => !isPart(name))
    .sort()
  return [...PARTS.filter((part) => Object.hasOwn(overrides, part)), ...removed].map((part) => {
    const { text, base } = overrides[part]!
    if (!isPart(part)) return { part, state: 'removed', text, base, builtIn: null, faults: [] }
    const now = builtIn[part]!
    const faults = partFaults(part, text)
    return { part, state: stateOf(text, base, now, faults), text, base, builtIn: now, faults }
  })
}

function stateOf(text: string, base: string, now: string, faults: readonly TextFault[]): DriftState {
  if (faults.length > 0) return 'invalid'
  if (sameText(text, now)) return 'identical'
  return sameText(base, now) ? 'current' : 'default updated'
}

/** Files end in a line break and editors differ, so breaks at the end do not count. */
export const sameText = (a: string, b: string): boolean => a.slice(0, endOf(a)) === b.slice(0, endOf(b))

function endOf(text: string): number {
  let end = text.length
  while (text[end - 1] === '\n') end -= 1
  return end
}

/** The overrides that an agent reads; where one is invalid it reads the built-in text (spec B6). */
export function overridesInUse(drifts: readonly PartDrift[]): Partial<Record<Part, string>> {
  return Object.fromEntries(drifts.flatMap(({ part, state, text }) => (state === 'removed' || state === 'invalid' ? [] : [[part, text]])))
}

/** What the main Session reads under `default_changed` (spec B7). */
export const defaultChanged = (drifts: readonly PartDrift[]): string[] =>
  drifts.flatMap(({ part, state }) => (state === 'default updated' || state === 'invalid' ? [part] : []))
