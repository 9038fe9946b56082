/** One kind of effect, done from its row alone, so that a restarted process can settle what another one began. */
import type { EffectRow } from '../../ledger/outbox.ts'
import type { Deps, Github } from '../deps.ts'

export interface Landed {
  externalId: string
  url: string
}

export interface EffectKind {
  /** What an earlier attempt left outside, or a present state that is the wanted one already; null: it is not there. */
  find(at: EffectAt): Promise<Landed | null>
  send(at: EffectAt): Promise<Landed | { refused: string }>
  /** What the ledger learns when it is there; safe to repeat. */
  landed?(at: EffectAt, landed: Landed): Promise<void>
}

export interface EffectAt {
  deps: Deps
  github: Github
  row: EffectRow
  signal: AbortSignal
}
