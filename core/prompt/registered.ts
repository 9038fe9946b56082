/** The variables that built-in parts, overrides and personas may refer to, and the roles for which each has a value (spec D2). */
import type { Role } from '../tool/tool.ts'
import type { Values } from './variables.ts'

export const REGISTERED = {
  model: ['main', 'executor', 'subagent'],
  provider: ['main', 'executor', 'subagent'],
  /** The checkout, as commands in the sandbox see it. */
  cwd: ['executor', 'subagent'],
} as const satisfies Readonly<Record<string, readonly Role[]>>

export type Variables = Readonly<Record<keyof typeof REGISTERED, string | undefined>>

/** What a save checks references with: some value for each variable that the role has. */
export function exampleValues(role: Role): Values {
  return Object.fromEntries(
    Object.entries(REGISTERED).map(([name, roles]) => [name, (roles as readonly Role[]).includes(role) ? name : undefined]),
  )
}
