/** What happens in a run of chaos and when, drawn from a seed: the same seed gives the same deeds, in the same order, with the same gaps. */

import type { Rule } from '../../rehearsal/github/faults.ts'

/** Killed with SIGKILL, and started again as a supervisor would. */
export const VICTIMS = ['server', 'worker', 'dispatcher', 'temporal', 'postgres'] as const
export type Victim = (typeof VICTIMS)[number]

/** What the offline GitHub does wrong, once or a few times, until the next one takes its place. */
const FAULTS: readonly Rule[] = [
  { does: '502 before', times: 2 },
  { does: '502 after commit', match: { method: 'POST' } },
  { does: 'reset before', times: 2 },
  { does: 'reset after commit', match: { method: 'POST' } },
  { does: 'hang after commit', ms: 2_000, match: { method: 'POST' } },
  { does: 'truncate', match: { method: 'POST' } },
  { does: 'delay', ms: 1_500, times: 5 },
  { does: 'token expired' },
  { does: 'secondary limit', seconds: 2 },
  { does: 'outage', ms: 2_000 },
  { does: 'duplicate', copies: 3 },
  { does: 'reorder', hold: 2 },
  { does: 'delay delivery', ms: 1_500, times: 3 },
  { does: 'drop' },
]

/** `pick` (0 to 1) chooses among the Tickets that live when its time comes. */
export type Deed =
  | { kind: 'kill'; victim: Victim; downMs: number }
  | { kind: 'comment'; pick: number }
  | { kind: 'fault'; rule: Rule }
  /** Held until so many deeds later. */
  | { kind: 'pause'; pick: number; everything: boolean; deeds: number }

export interface Planned {
  gapMs: number
  deed: Deed
}

/** Between two deeds, so that work gets on in between; a worker's activities wait out their heartbeat after each of its deaths. */
const GAP_MS = { from: 300, to: 4_000 }
const DOWN_MS = { from: 0, to: 2_500 }
/** How often a deed of people, or a mishap of GitHub's, comes before a kill. */
const COMMENT = 0.15
const PAUSE = 0.15
const FAULT = 0.3

export function plan(seed: number, kills: number): Planned[] {
  const random = randomFrom(seed)
  const between = ({ from, to }: { from: number; to: number }) => Math.round(from + random() * (to - from))
  return Array.from({ length: kills }, () => {
    const planned: Planned[] = []
    if (random() < COMMENT) planned.push({ gapMs: between(GAP_MS), deed: { kind: 'comment', pick: random() } })
    if (random() < PAUSE) {
      const deed = { kind: 'pause', pick: random(), everything: random() < 0.2, deeds: 1 + Math.floor(random() * 3) } as const
      planned.push({ gapMs: between(GAP_MS), deed })
    }
    if (random() < FAULT)
      planned.push({ gapMs: between(GAP_MS), deed: { kind: 'fault', rule: FAULTS[Math.floor(random() * FAULTS.length)]! } })
    const victim = VICTIMS[Math.floor(random() * VICTIMS.length)]!
    return [...planned, { gapMs: between(GAP_MS), deed: { kind: 'kill', victim, downMs: between(DOWN_MS) } } satisfies Planned]
  }).flat()
}

/** Mulberry32: 32 bits of state are plenty for a plan. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
