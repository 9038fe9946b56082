/**
 * The gate in front of everything that changes or sends something (spec F4, H2): facts in, permission or refusal out. The facts
 * are read again at the moment of the effect; no prompt, override or model moves it (spec B3).
 */

export type Effect = 'comment' | 'branch' | 'pull_request' | 'review' | 'merge' | 'chat'

export interface GateFacts {
  ticket: number
  /** Null: the tool changes the workspace only. */
  effect: Effect | null
  /** Where the effect would land; null: nowhere outside. */
  repository: { id: number; fullName: string } | null
  mandate: { effects: readonly Effect[]; repositories: readonly { id: number; fullName: string }[] }
  /** Messages that this Ticket has not acknowledged yet. */
  owed: readonly number[]
}

export type Gated = { allowed: true } | { refused: string }

export function gate({ ticket, effect, repository, mandate, owed }: GateFacts): Gated {
  if (owed.length > 0) {
    const messages = owed.map((message) => `message ${message}`).join(', ')
    return {
      refused: `Refused: an acknowledgement is owed for ${messages}. Call orchestrator_acknowledge first, then this again. Reading is possible meanwhile.`,
    }
  }
  if (effect === null) return { allowed: true }
  if (!mandate.effects.includes(effect)) {
    return {
      refused: `Refused: the Mandate of T-${ticket} does not allow "${effect}". It allows: ${list(mandate.effects)}. A member's explicit request can add to it.`,
    }
  }
  if (repository && !mandate.repositories.some(({ id }) => id === repository.id)) {
    const allowed = list(mandate.repositories.map(({ fullName }) => fullName))
    return {
      refused: `Refused: the Mandate of T-${ticket} does not cover ${repository.fullName}. It covers: ${allowed}. A member's explicit request can add to it.`,
    }
  }
  return { allowed: true }
}

const list = (names: readonly string[]): string => (names.length > 0 ? names.join(', ') : 'nothing')
