/**
 * Which line of which scenario answers a request. Lines are tried in order and the first that matches answers; when none does,
 * the value says what the request was and why each line did not match. Pure: the same request gets the same answer, always.
 */
import type { Role } from '../../core/tool/tool.ts'
import type { Answer } from './protocol.ts'
import { fromTheStart, type View } from './view.ts'

export interface Scenario {
  name: string
  title: string
  /** Whether a conversation is this scenario's; the main Session's may be that of several. */
  applies(view: View): boolean
  roles: { [role in Role]?: readonly Line[] }
}

export interface Line {
  name: string
  when: Condition | ((view: View) => boolean)
  answer: Answer | ((view: View) => Answer)
  /** How long the model thinks before it goes on after its first chunk. */
  delayMs?: number
}

/** All that is named must hold; patterns are looked for in `view.conversation`. */
export interface Condition {
  step?: number
  contains?: readonly (string | RegExp)[]
  lacks?: readonly (string | RegExp)[]
}

export type Choice = { scenario: string; line: string; answer: Answer; delayMs: number } | { unexpected: string }

export function choose(scenarios: readonly Scenario[], view: View): Choice {
  const differences: string[] = []
  for (const scenario of scenarios) {
    if (!scenario.applies(view)) {
      differences.push(`${scenario.name}: does not take this conversation for its own`)
      continue
    }
    const lines = scenario.roles[view.role] ?? []
    if (lines.length === 0) differences.push(`${scenario.name}: has no line for the role ${view.role}`)
    for (const line of lines) {
      const faults = differencesOf(line, view)
      if (faults.length > 0) {
        differences.push(`${scenario.name}, "${line.name}": ${faults.join('; ')}`)
        continue
      }
      const answer = answerOf(line, view)
      if ('failed' in answer) {
        return { unexpected: unexpected(view, [...differences, `${scenario.name}, "${line.name}": matches, but ${answer.failed}`]) }
      }
      return { scenario: scenario.name, line: line.name, answer: answer.said, delayMs: line.delayMs ?? 0 }
    }
  }
  return { unexpected: unexpected(view, differences) }
}

/** What keeps a line from matching; nothing: it matches. */
function differencesOf({ when }: Line, view: View): string[] {
  if (typeof when === 'function') return when(view) ? [] : ['its condition does not hold']
  return [
    ...(when.step === undefined || when.step === view.step ? [] : [`the step is ${view.step}, not ${when.step}`]),
    ...(when.contains ?? []).filter((pattern) => !holds(view, pattern)).map((pattern) => `the conversation lacks ${named(pattern)}`),
    ...(when.lacks ?? []).filter((pattern) => holds(view, pattern)).map((pattern) => `the conversation holds ${named(pattern)}`),
  ]
}

function holds({ conversation }: View, pattern: string | RegExp): boolean {
  return typeof pattern === 'string' ? conversation.includes(pattern) : fromTheStart(pattern).test(conversation)
}

function named(pattern: string | RegExp): string {
  return typeof pattern === 'string' ? JSON.stringify(pattern) : String(pattern)
}

/** A script that cannot find what its answer needs met a conversation that it did not expect. */
function answerOf({ answer }: Line, view: View): { said: Answer } | { failed: string } {
  if (typeof answer !== 'function') return { said: answer }
  try {
    return { said: answer(view) }
  } catch (error) {
    return { failed: `its answer cannot be given: ${error instanceof Error ? error.message : String(error)}` }
  }
}

const SHOWN = 2_000

function unexpected(view: View, differences: readonly string[]): string {
  const last = [...view.last]
  const rest = last.length - SHOWN
  return [
    `no line expects this request: role ${view.role}, step ${view.step}, last message:`,
    last.slice(0, SHOWN).join('') + (rest > 0 ? `\n(${rest} more characters; the recorded request holds them all)` : ''),
    'why each line did not match:',
    ...(differences.length > 0 ? differences : ['no scenario is loaded']).map((difference) => `- ${difference}`),
  ].join('\n')
}
