/** The order in which an agent reads its instructions (spec C1). One list, read from top to bottom. */
import { agentsMd } from './agents-md.ts'
import { environment, inferredNote, policy, policyNone, skillCatalogue } from './generated.ts'
import { ordered } from './section.ts'
import { communication, delivery, ticketScope } from './team.ts'

export const SECTIONS = ordered([
  // the harness
  { name: 'identity', for: ['main', 'executor', 'subagent'], text: (given) => given.builtIn['harness/identity']! },
  { name: 'persona', for: ['main', 'executor', 'subagent'], text: (given) => ({ template: given.persona }) },
  {
    name: 'habits',
    for: ['main', 'executor', 'subagent'],
    text: (given) => given.packages.flatMap(({ habit }) => (habit ? given.builtIn[habit]! : [])).join('\n'),
  },
  { name: 'AGENTS.md', for: ['executor', 'subagent'], text: (given) => (given.agentsMd ? agentsMd(given.agentsMd) : '') },
  { name: 'skills', for: ['main', 'executor'], text: skillCatalogue },
  // what the product says, as the team overrode it
  { name: 'runtime/shared', for: ['main', 'executor'], part: true },
  { name: 'runtime/orchestrator', for: ['main'], part: true },
  { name: 'runtime/worker', for: ['executor'], part: true },
  { name: 'Communication', for: ['main', 'executor'], text: communication },
  { name: 'Ticket scope', for: ['main', 'executor'], text: ticketScope },
  { name: 'Delivery requirements', for: ['main', 'executor'], text: delivery },
  { name: 'runtime/subscriptions', for: ['main', 'executor'], part: true },
  { name: 'runtime/replies', for: ['main', 'executor'], part: true },
  { name: 'runtime/dispatch', for: ['main'], part: true },
  { name: 'runtime/work', for: ['executor'], part: true },
  { name: 'runtime/admission', for: ['main'], part: true },
  { name: 'runtime/handoff/orchestrator', for: ['main'], part: true },
  { name: 'runtime/handoff/worker', for: ['executor'], part: true },
  // facts of this request; what changes most often stands last, so that the bytes before it stay the same
  { name: 'runtime/environment', for: ['main', 'executor', 'subagent'], text: environment },
  { name: 'matched rules', for: ['executor'], text: inferredNote },
  { name: 'runtime/policy', for: ['main'], text: policy },
  { name: 'runtime/policy/none', for: ['main'], text: policyNone },
])
