/** What a tool is given and what it answers. */
import type { Mark } from '../../core/ticket/scope.ts'
import type { BegunCall, CallAddress } from '../../ledger/calls.ts'
import type { Deps } from '../deps.ts'

export interface ToolCall {
  deps: Deps
  at: CallAddress
  /** Input that fits the tool's schema: it was parsed when the model's answer was taken in. */
  input: Record<string, unknown>
  role: BegunCall['role']
  ticket: number | null
  /** Of a tool that must not run twice: called when all that it needs is there, and nothing is done before it says so. */
  start(): Promise<'started' | { paused: Mark[] } | { refused: string }>
  signal: AbortSignal
}

/** `paused`: people held it before it had done anything; it is called again after their hold. */
export type ToolAnswer = { text: string } | { refused: string } | { paused: Mark[] }
