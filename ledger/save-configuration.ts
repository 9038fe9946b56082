/** A draft of the prompt configuration becomes a revision, or an answer that says what keeps it from that (spec B8–B10, K1–K3, K5). */
import { EMPTY } from '../core/config/document.ts'
import type { ConfigFault } from '../core/config/fault.ts'
import { checkDraft, type Settled, settled } from '../core/config/save.ts'
import type { Database } from './database.ts'
import { headVersion, type NewVersion, readVersion, saveVersion, type VersionHead } from './versions.ts'

/** What the program brings and what the deployment allows. */
export interface Texts {
  builtIn: Readonly<Record<string, string>>
  maxBytes: number
}

export type Author = Pick<NewVersion<'prompts'>, 'origin' | 'actor' | 'note' | 'basis'>

/** `head`: the base is not the newest revision. */
export type SavedConfiguration = ({ revision: number } & Settled) | { head: VersionHead }

export async function saveConfiguration(
  db: Database,
  { builtIn, maxBytes }: Texts,
  { base, draft, ...author }: Author & { base: number; draft: unknown },
): Promise<SavedConfiguration | { faults: ConfigFault[] }> {
  const stored = await readVersion(db, 'prompts', base)
  if (!stored) return { head: await headVersion(db, 'prompts') }
  const checked = checkDraft(draft, { stored: stored.document, builtIn, maxBytes })
  if ('faults' in checked) return checked
  const saved = await saveVersion(db, 'prompts', { base, document: checked.document, ...author })
  return 'head' in saved ? saved : { revision: saved.number, ...checked }
}

/**
 * An older revision again, or the program's own texts everywhere (`defaults`, as the first revision has them), as a new revision
 * (spec K2). Parts that are gone meanwhile are dropped; null: there is no such revision.
 */
export async function restoreConfiguration(
  db: Database,
  builtIn: Texts['builtIn'],
  { base, which, ...author }: Author & { base: number; which: number | 'defaults' },
): Promise<SavedConfiguration | null> {
  const restored = which === 'defaults' ? 1 : which
  const older = which === 'defaults' ? { document: EMPTY } : await readVersion(db, 'prompts', which)
  if (!older) return null
  const result = settled(older.document, { stored: older.document, builtIn })
  const saved = await saveVersion(db, 'prompts', { base, document: result.document, restored, ...author })
  return 'head' in saved ? saved : { revision: saved.number, ...result }
}
