/** From what one step sees in the ledger to everything that its prompt is made from (spec C1, C5). */

import { type ConfigurationDocument, teamSections } from '../core/config/document.ts'
import { overridesInUse } from '../core/config/drift.ts'
import type { Variables } from '../core/prompt/registered.ts'
import type { PromptInput, RepositoryText } from '../core/prompt/section.ts'
import type { Offered } from '../core/tool/packages.ts'
import type { Role } from '../core/tool/tool.ts'
import type { StepView, TicketView } from '../ledger/step-view.ts'
import type { Deps } from './deps.ts'

/** What the prompt shows of the program and the deployment. */
export type Surroundings = Pick<Deps, 'builtIn' | 'readDrift' | 'environment'> & {
  github: object | null
  model: Pick<Deps['model'], 'provider' | 'nameFor'>
}

/** The skills that can be loaded: the program's own for the channels that are on, then the team's. */
export function skillsOf({ builtIn, github }: Surroundings, { skills }: ConfigurationDocument): { name: string; description: string }[] {
  const own = github ? ['github'] : []
  return [...own.map((name) => ({ name, description: builtIn[`catalogue/${name}`]! })), ...skills]
}

export function promptInput(
  deps: Surroundings,
  view: Pick<StepView, 'ticket' | 'configuration'> & { role: Role },
  offered: Offered,
  agentsMd: RepositoryText | null,
  cwd: string | null,
): PromptInput {
  const { document, policy } = view.configuration
  return {
    role: view.role,
    builtIn: deps.builtIn,
    overrides: overridesInUse(deps.readDrift(document)),
    team: teamSections(document.sections),
    persona: deps.builtIn[`persona/${view.role}`]!,
    variables: {
      model: deps.model.nameFor(view.role === 'main' ? 'main' : 'executor'),
      provider: deps.model.provider,
      cwd: cwd ?? undefined,
    } satisfies Variables,
    packages: offered.packages,
    skills: skillsOf(deps, document),
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
