/** What a workspace tool gets and gives (design §5). A refusal is for the model: it names what failed and what is legal. */
import type { Sandbox } from './sandbox.ts'

export interface Given<Input> {
  /** The checkout of the repository. */
  folder: string
  sandbox: Sandbox
  input: Input
  signal: AbortSignal
}

export type Answer = { text: string } | { refused: string }

/** No result is larger; what is left out is said, with the way to it. */
export const ANSWER_BYTES = 48_000
