/** What every `switchyard config …` needs: the ledger, the program's texts and the limit that the deployment set. */
import type { Settings } from '../../core/deployment/settings.ts'
import type { Database } from '../../ledger/database.ts'
import type { Texts } from '../../ledger/save-configuration.ts'
import { headVersion, readVersion, type Version } from '../../ledger/versions.ts'
import { loadBuiltInTexts } from '../../worker/built-in.ts'
import { readSettings } from '../../worker/environment.ts'
import { withLedger } from '../ledger.ts'
import { complain, type ExitCode, faultsText } from '../terminal.ts'

export interface Context extends Texts {
  db: Database
  settings: Settings
}

export async function withConfiguration(work: (context: Context) => Promise<ExitCode>): Promise<ExitCode> {
  const parsed = readSettings()
  if ('faults' in parsed) {
    complain(faultsText(parsed.faults))
    return 1
  }
  const { settings } = parsed
  const builtIn = loadBuiltInTexts() // a persona that is broken keeps nobody from mending the rest
  return withLedger((db) => work({ db, settings, builtIn, maxBytes: settings.maxConfigBytes }))
}

/** The revision that is meant by `12`, `r12` or nothing (the newest); a sentence if there is none. */
export async function revisionOf(db: Database, written: string | undefined): Promise<Version<'prompts'> | { refused: string }> {
  const { number: head } = await headVersion(db, 'prompts')
  const which = written === undefined ? head : numberOf(written)
  if (which === null) return { refused: `"${written}" is no revision; give its number, such as ${head}` }
  return (await readVersion(db, 'prompts', which)) ?? { refused: `there is no revision ${which}; the newest is ${head}` }
}

/** `12` or `r12`, `v12`. */
export function numberOf(written: string): number | null {
  const match = /^[rv]?([1-9]\d{0,8})$/i.exec(written.trim())
  return match ? Number(match[1]) : null
}
