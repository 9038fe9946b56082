/** `SKILL.md`: a head of YAML between two lines `---` with name and description, then the body (spec A2, A6). */
import { parse, stringify } from 'yaml'

export interface Skill {
  name: string
  description: string
  body: string
}

const HEAD = /^---\n([\s\S]*?\n)?---\n/

/** The head as it is written, so that unknown keys in it are seen by whoever checks; or a sentence that says what is wrong. */
export function readSkillFile(text: string): { head: Record<string, unknown>; body: string } | { fault: string } {
  const match = HEAD.exec(text)
  if (!match) return { fault: 'a skill file opens with a line ---, then name: and description:, then a line ---, then its text' }
  const head = parsed(match[1] ?? '')
  if (head === null || typeof head !== 'object' || Array.isArray(head))
    return { fault: 'between the lines --- stand name: and description:' }
  return { head: head as Record<string, unknown>, body: text.slice(match[0].length) }
}

export const skillFile = ({ name, description, body }: Skill): string =>
  `---\n${stringify({ name, description }, { lineWidth: 0 })}---\n${body}`

function parsed(head: string): unknown {
  try {
    return parse(head)
  } catch {
    return null
  }
}
