/** Where the overrides of a configuration stand beside this program's texts, computed once for each document (spec B4, B6, B9). */
import type { Logger } from 'pino'
import type { ConfigurationDocument } from '../core/config/document.ts'
import { drift, type PartDrift } from '../core/config/drift.ts'

export type ReadDrift = (document: ConfigurationDocument) => readonly PartDrift[]

/** The reader of the configuration gives one object for one document, so an entry lives as long as that. */
export function createDriftReader(builtIn: Readonly<Record<string, string>>, log: Pick<Logger, 'warn'>): ReadDrift {
  const known = new WeakMap<ConfigurationDocument, readonly PartDrift[]>()
  return (document) => {
    const before = known.get(document)
    if (before) return before
    const drifts = drift(document, builtIn)
    for (const { part, state, faults } of drifts) {
      if (state === 'invalid') log.warn({ part, faults }, 'an override is invalid in this version: the built-in text is used for that part')
      if (state === 'removed')
        log.warn({ part }, 'an override is of a part that this version does not have: it is dropped at the next save')
    }
    known.set(document, drifts)
    return drifts
  }
}
