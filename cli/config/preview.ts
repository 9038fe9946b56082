/** `switchyard config preview`: the prompt that a role would read now, as the next request would have it (spec C1). */
import { buildRequest } from '../../activities/build-request.ts'
import { createDriftReader } from '../../activities/read-drift.ts'
import { deploymentValues } from '../../core/deployment/values.ts'
import type { RepositoryText } from '../../core/prompt/section.ts'
import { ticketOf } from '../../core/ticket/scope.ts'
import type { Role } from '../../core/tool/tool.ts'
import { createConfigurationReader } from '../../ledger/revisions.ts'
import { currentSession } from '../../ledger/sessions.ts'
import { type TicketView, viewStep } from '../../ledger/step-view.ts'
import { readText } from '../../ledger/texts.ts'
import { loadBuiltInTexts } from '../../worker/built-in.ts'
import { shownText } from '../lines.ts'
import { parseScope } from '../scope.ts'
import { complain, type ExitCode, refuse, say, sayJson } from '../terminal.ts'
import { type Context, withConfiguration } from './context.ts'

const ROLES: readonly string[] = ['main', 'executor', 'subagent'] satisfies Role[]

export async function preview({ role, ticket, json = false }: { role: string; ticket?: string; json?: boolean }): Promise<ExitCode> {
  if (!ROLES.includes(role)) return wrongUse(`there is no role "${role}"; roles are ${ROLES.join(', ')}`)
  const parsed = ticket === undefined ? null : parseScope(ticket)
  const number = parsed === null || 'refused' in parsed ? null : ticketOf(parsed.scope)
  if (ticket !== undefined && number === null) return wrongUse(`"${ticket}" is no Ticket; give T-7, ticket-7 or 7`)
  if (number !== null && role === 'main') return wrongUse('the main Session has no Ticket: leave out --ticket')
  return withConfiguration(async (context) => {
    const given = number === null ? EXAMPLE : await ground(context, number)
    if (given === null) return refuse(`there is no Ticket T-${number}. Those there are: switchyard status`, { json })
    const prompt = await built(context, role as Role, given)
    if ('fault' in prompt) return refuse(`the prompt cannot be built: ${prompt.fault.message}`, { json })
    const { sections, system, tools } = prompt
    if (json) sayJson({ sections, text: system, bytes: Buffer.byteLength(system), tools })
    else say(process.stdout.isTTY ? shownText(system) : system)
    return 0
  })
}

interface Given {
  ticket: TicketView
  agentsMd: RepositoryText | null
}

/** Stands where no Ticket was named: each value says what will be there. */
const EXAMPLE: Given = {
  ticket: {
    id: 0,
    title: '(the title of the Ticket)',
    state: 'working',
    repository: { id: 0, externalId: '0', fullName: 'owner/repository', defaultBranch: '(the default branch)' },
    requester: '(who asked)',
    note: '',
    effects: ['comment', 'branch', 'pull_request'],
    origin: { url: '(the address of the request)', title: '', number: null },
    spentTokens: 0,
  },
  agentsMd: null,
}

async function ground({ db }: Context, number: number): Promise<Given | null> {
  const known = await db.selectFrom('ticket').select('id').where('id', '=', number).executeTakeFirst()
  if (!known) return null
  const session = await currentSession(db, `ticket-${number}`)
  const { ticket, baseCommit, agentsMd } = await viewStep(db, { session, step: 0 }, createConfigurationReader())
  const text = agentsMd === null ? null : await readText(db, agentsMd)
  return {
    ticket: ticket!,
    agentsMd: text === null ? null : { repository: ticket!.repository!.fullName, commit: baseCommit!, text },
  }
}

async function built({ db, settings }: Context, role: Role, { ticket, agentsMd }: Given) {
  const builtIn = loadBuiltInTexts(settings.file.personas)
  const { github, model } = settings
  const warn = (fields: unknown, message?: string) => complain(`${message}: ${JSON.stringify(fields)}`)
  const repository = ticket.repository?.fullName.split('/')[1]
  return buildRequest({
    view: { role, ticket: role === 'main' ? null : ticket, configuration: await createConfigurationReader()(db) },
    facts: {
      github: true, // without one of its own the deployment plays the rehearsal, which has one
      cwd: role === 'main' || repository === undefined ? null : `/workspace/${repository}`,
      environment: deploymentValues({ github, model }),
    },
    builtIn,
    readDrift: createDriftReader(builtIn, { warn }),
    provider: model?.provider ?? 'rehearsal',
    model: (role === 'main' ? model?.mainName : model?.name) ?? 'scripted',
    agentsMd,
    log: [],
  })
}

function wrongUse(sentence: string): ExitCode {
  complain(sentence)
  return 2
}
