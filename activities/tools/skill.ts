/** The body of a skill as it is now (spec A2, C3): the program's own, as the team overrode it, or the team's. */
import { overridesInUse } from '../../core/config/drift.ts'
import type { Part } from '../../core/prompt/templates.ts'
import { skillsOf } from '../prompt-input.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function skill({ deps, input }: ToolCall): Promise<ToolAnswer> {
  const { name } = input as { name: string }
  const { document, revision } = await deps.readConfiguration(deps.db)
  const known = skillsOf(deps, deps.github !== null, document).map((each) => each.name)
  if (!known.includes(name)) return { refused: `there is no skill "${name}". You can load: ${known.join(', ') || 'none'}` }
  const own = document.skills.find((each) => each.name === name)?.body
  const part = `skill/${name}` as Part
  const body = own ?? overridesInUse(deps.readDrift(document))[part] ?? deps.builtIn[part]!
  return { text: `Skill ${name}, as of revision ${revision}:\n\n${body}` }
}
