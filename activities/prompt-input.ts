/** From what one step sees in the ledger to everything that its prompt is made from (spec C1, C5). */

import type { PromptInput, TeamSections } from '../core/prompt/section.ts'
import { DEFAULT_SECTIONS } from '../core/prompt/team.ts'
import type { Offered } from '../core/tool/packages.ts'
import type { TicketView } from '../ledger/step-view.ts'
import type { RequestInput } from './build-request.ts'

export function promptInput({ view, facts, builtIn, provider, model, agentsMd }: RequestInput, offered: Offered): PromptInput {
  const { document, policy } = view.configuration
  return {
    role: view.role,
    builtIn,
    overrides: Object.fromEntries(Object.entries(document.overrides).map(([part, { text }]) => [part, text])),
    team: { ...DEFAULT_SECTIONS, ...(document.sections as Partial<TeamSections>) },
    persona: builtIn[`persona/${view.role}`]!,
    variables: { model, provider, cwd: facts.cwd ?? undefined },
    packages: offered.packages,
    skills: document.skills,
    environment: view.ticket === null ? facts.environment : ticketEnvironment(view.ticket, facts.cwd),
    policy,
    agentsMd,
    matched: null,
  }
}

/** The Ticket's own values; the same Ticket gives the same bytes for its whole Session, so that the prefix stays. */
function ticketEnvironment({ id, title, repository, requester, origin, effects, note }: TicketView, cwd: string | null) {
  const values: [string, string | null][] = [
    ['Ticket', `T-${id}`],
    ['Title', title],
    ['Asked by', requester],
    ['Where it was asked', origin.url],
    ['Repository', repository?.fullName ?? 'none: read and ask only'],
    ['Default branch', repository?.defaultBranch ?? null],
    ['Checkout', cwd],
    ['Allowed effects', effects.join(', ')],
    ['Note from the main Session', note || null],
  ]
  return values.flatMap(([name, value]) => (value === null ? [] : [{ name, value }]))
}
