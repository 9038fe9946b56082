/** What a look at one thing found: it is well, it is not and this is what to do, or it is not in use. */
import type { Settings } from '../../core/deployment/settings.ts'

export type Finding = { state: 'ok' | 'off'; says: string } | { state: 'problem'; says: string; fix: string }

/** What every check may ask of. */
export interface Given {
  settings: Settings
  /** The state folder, which need not exist. */
  home: string
}

export const ok = (says: string): Finding => ({ state: 'ok', says })
export const off = (says: string): Finding => ({ state: 'off', says })
export const problem = (says: string, fix: string): Finding => ({ state: 'problem', says, fix })

export const reasonOf = (error: unknown): string => {
  const { message, cause, code } = error as { message?: string; cause?: unknown; code?: string }
  // fetch says only that it failed; what failed stands in its cause
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error)
}
