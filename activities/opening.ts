/** The sentence with which every message on GitHub opens (spec A1, H5): the team's, as it stands now. */
import { DEFAULT_OPENING } from '../core/message/opening.ts'
import type { Deps } from './deps.ts'

export async function openingSentence(deps: Deps): Promise<string> {
  const { document } = await deps.readConfiguration(deps.db)
  return document.sections.communication?.opening ?? DEFAULT_OPENING
}
