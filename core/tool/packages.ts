/**
 * Tools come in packages (spec D5, D6): its tools, perhaps one section of habits that span calls, and the condition on which all
 * of it is there. The order of this list is the order in which a model sees tools and habits.
 */
import { edit, read, write } from './file-tools.ts'
import { githubPullRequest } from './github-pull-request.ts'
import { githubPush } from './github-push.ts'
import { orchestratorAcknowledge } from './orchestrator-acknowledge.ts'
import { orchestratorPromptsSave } from './orchestrator-prompts-save.ts'
import { orchestratorReadForExecutor, orchestratorReadForMain } from './orchestrator-read.ts'
import { orchestratorReport } from './orchestrator-report.ts'
import { orchestratorRoute } from './orchestrator-route.ts'
import { reply } from './reply.ts'
import { glob, grep } from './search-tools.ts'
import { shell } from './shell.ts'
import { skill } from './skill.ts'
import { type SubagentProvider, subagentTool } from './subagent.ts'
import { todoWrite } from './todo-write.ts'
import type { Role, Tool } from './tool.ts'

export interface Package {
  name: string
  /** Fixed, or made from what is there, such as one for each provider of subagents. */
  tools: readonly Tool[] | ((given: Present) => readonly Tool[])
  /** Name of the built-in text, e.g. `habit/shell`. */
  habit?: string
  present: (given: Present) => boolean
}

/** What this deployment and this Session have, asked anew for each request. */
export interface Present {
  /** GitHub is configured. */
  github: boolean
  /** The Session has a checkout to work in. */
  workspace: boolean
  /** There is a skill to load. */
  skills: boolean
  /** Providers that the deployment has switched on and that answer (spec D6). */
  subagents: readonly SubagentProvider[]
}

export const PACKAGES: readonly Package[] = [
  { name: 'routing', tools: [orchestratorRoute, orchestratorReadForMain], present: () => true },
  { name: 'prompts', tools: [orchestratorPromptsSave], present: () => true },
  { name: 'ticket', tools: [orchestratorAcknowledge, orchestratorReport, orchestratorReadForExecutor], present: () => true },
  { name: 'files', tools: [read, write, edit, glob, grep], habit: 'habit/files', present: ({ workspace }) => workspace },
  { name: 'shell', tools: [shell], habit: 'habit/shell', present: ({ workspace }) => workspace },
  { name: 'todo', tools: [todoWrite], present: () => true },
  {
    name: 'subagents',
    tools: ({ subagents }) => subagents.map(subagentTool),
    present: ({ subagents, workspace }) => workspace && subagents.length > 0,
  },
  { name: 'skills', tools: [skill], present: ({ skills }) => skills },
  { name: 'people', tools: [reply], present: () => true },
  { name: 'github', tools: [githubPush, githubPullRequest], present: ({ github, workspace }) => github && workspace },
]

export interface Offered {
  tools: readonly Tool[]
  /** The packages they come from, for the prompt's habits and catalogue. */
  packages: readonly { name: string; habit?: string }[]
}

export function offered(role: Role, given: Present, packages: readonly Package[] = PACKAGES): Offered {
  const present = packages
    .filter((pack) => pack.present(given))
    .map((pack) => ({ ...pack, tools: toolsOf(pack, given).filter((tool) => tool.for.includes(role)) }))
    .filter(({ tools }) => tools.length > 0)
  refuseDoubles(role, present)
  return {
    tools: present.flatMap(({ tools }) => tools),
    packages: present.map(({ name, habit }) => (habit === undefined ? { name } : { name, habit })),
  }
}

const toolsOf = ({ tools }: Pick<Package, 'tools'>, given: Present): readonly Tool[] => (typeof tools === 'function' ? tools(given) : tools)

/** Spec D3, for each role: a model that is offered two tools of one name calls neither of them for certain. */
function refuseDoubles(role: Role, packages: readonly { name: string; tools: readonly Tool[] }[]): void {
  const owners = new Map<string, string>()
  for (const { name: owner, tools } of packages) {
    for (const { name } of tools) {
      const first = owners.get(name)
      if (first !== undefined) {
        throw new Error(`tool "${name}" is offered to the role ${role} by the packages "${first}" and "${owner}"; a tool has one owner`)
      }
      owners.set(name, owner)
    }
  }
}
