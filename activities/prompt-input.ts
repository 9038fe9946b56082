/** From what one step sees in the ledger to everything that its prompt is made from (spec C1, C5). */

import { type ConfigurationDocument, teamSections } from '../core/config/document.ts'
import { overridesInUse } from '../core/config/drift.ts'
import type { Variables } from '../core/prompt/registered.ts'
import type { PromptInput } from '../core/prompt/section.ts'
import type { Offered } from '../core/tool/packages.ts'
import type { TicketView } from '../ledger/step-view.ts'
import type { RequestInput } from './build-request.ts'

/** The skills that can be loaded: the program's own for the channels that are on, then the team's. */
export function skillsOf(
  { builtIn }: Pick<RequestInput, 'builtIn'>,
  github: boolean,
  { skills }: ConfigurationDocument,
): { name: string; description: string }[] {
  const own = github ? ['github'] : []
  return [...own.map((name) => ({ name, description: builtIn[`catalogue/${name}`]! })), ...skills]
}

export function promptInput(input: RequestInput, offered: Offered): PromptInput {
  const { view, facts, builtIn, readDrift, provider, model, agentsMd } = input
  const { document, policy } = view.configuration
  return {
    role: view.role,
    builtIn,
    overrides: overridesInUse(readDrift(document)),
    team: teamSections(document.sections),
    persona: builtIn[`persona/${view.role}`]!,
    variables: { model, provider, cwd: facts.cwd ?? undefined } satisfies Variables,
    packages: offered.packages,
    skills: skillsOf(input, facts.github, document),
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
