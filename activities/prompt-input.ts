/** From what one step sees in the ledger to everything that its prompt is made from (spec C1, C5). */

import type { PromptInput, RepositoryText, TeamSections } from '../core/prompt/section.ts'
import { DEFAULT_SECTIONS } from '../core/prompt/team.ts'
import type { Offered } from '../core/tool/packages.ts'
import type { StepView, TicketView } from '../ledger/step-view.ts'
import type { Deps } from './deps.ts'

export function promptInput(
  deps: Deps,
  view: StepView,
  offered: Offered,
  agentsMd: RepositoryText | null,
  cwd: string | null,
): PromptInput {
  const { document, policy } = view.configuration
  return {
    role: view.role,
    builtIn: deps.builtIn,
    overrides: Object.fromEntries(Object.entries(document.overrides).map(([part, { text }]) => [part, text])),
    team: { ...DEFAULT_SECTIONS, ...(document.sections as Partial<TeamSections>) },
    persona: deps.builtIn[`persona/${view.role}`]!,
    variables: { model: deps.model.nameFor(view.role), provider: deps.model.provider, cwd: cwd ?? undefined },
    packages: offered.packages,
    skills: document.skills,
    environment: view.ticket === null ? deps.environment : ticketEnvironment(view.ticket, cwd),
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
