/** Every kind of effect that the outbox may hold, by the name in its row. */
import { comment } from './comment.ts'
import type { EffectKind } from './effect-kind.ts'
import { closing, draft, opening, ready, update } from './pull-request.ts'
import { push } from './push.ts'

export const KINDS: Readonly<Record<string, EffectKind>> = {
  comment,
  push,
  'pull_request.open': opening,
  'pull_request.update': update,
  'pull_request.ready': ready,
  'pull_request.draft': draft,
  'pull_request.close': closing,
}
