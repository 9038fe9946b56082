import { expect, test } from 'vitest'
import { type GateFacts, gate } from './gate.ts'

const shop = { id: 1, fullName: 'acme/shop' }
const docs = { id: 2, fullName: 'acme/docs' }
const base: GateFacts = {
  ticket: 7,
  effect: 'comment',
  repository: shop,
  mandate: { effects: ['comment', 'branch'], repositories: [shop] },
  owed: [],
}

const table: [string, Partial<GateFacts>, string | null][] = [
  ['[F4] what the Mandate allows, where it allows it, passes', {}, null],
  ['[F4] an effect that the Mandate does not name is refused', { effect: 'merge' }, 'does not allow "merge". It allows: comment, branch'],
  [
    '[F4, F152] a repository that the Mandate does not name is refused',
    { repository: docs },
    'does not cover acme/docs. It covers: acme/shop',
  ],
  [
    '[F4] a Mandate without repositories allows no effect in any',
    { mandate: { effects: ['comment'], repositories: [] } },
    'It covers: nothing',
  ],
  ['[H2] while an acknowledgement is owed nothing is sent', { owed: [12] }, 'owed for message 12'],
  [
    '[H2] while an acknowledgement is owed nothing is changed in the workspace',
    { effect: null, repository: null, owed: [12, 13] },
    'message 12, message 13',
  ],
  ["[F4] the workspace is the Ticket's own", { effect: null, repository: null, mandate: { effects: [], repositories: [] } }, null],
]

test.each(table)('%s', (_, facts, refusal) => {
  const gated = gate({ ...base, ...facts })
  if (refusal === null) expect(gated).toEqual({ allowed: true })
  else expect(gated).toEqual({ refused: expect.stringContaining(refusal) })
})
