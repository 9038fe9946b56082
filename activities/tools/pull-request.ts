/** `github_pull_request`: open, update, ready, draft, close a pull request of the Ticket's own. */
import { gate } from '../../core/authority/gate.ts'
import { messageBody } from '../../core/message/opening.ts'
import { githubPullRequest, type PullRequestAction, readAction } from '../../core/tool/github-pull-request.ts'
import { ticketFacts } from '../../ledger/mandates.ts'
import { perform } from '../effects/effect.ts'
import type { OpenPayload, StatePayload } from '../effects/pull-request.ts'
import { openingSentence } from '../opening.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

type Repository = { id: number; externalId: string; fullName: string; defaultBranch: string }

export async function pullRequest(call: ToolCall): Promise<ToolAnswer> {
  const { deps, ticket } = call
  if (ticket === null) return { refused: 'Only a Ticket has pull requests.' }
  const action = readAction(githubPullRequest.input.parse(call.input))
  const { mandate, owed, repository } = await ticketFacts(deps.db, ticket)
  if (!repository) return { refused: `Refused: T-${ticket} has no repository.` }
  const gated = gate({ ticket, effect: 'pull_request', repository, mandate, owed })
  if ('refused' in gated) return gated
  return action.action === 'open' ? open(call, ticket, repository, action) : change(call, ticket, repository, action)
}

async function open(
  call: ToolCall,
  ticket: number,
  repository: Repository,
  given: Extract<PullRequestAction, { action: 'open' }>,
): Promise<ToolAnswer> {
  const { deps, at, signal } = call
  const pushed = await deps.db
    .selectFrom('push')
    .select('sha')
    .where('ticket', '=', ticket)
    .where('repository', '=', repository.id)
    .where('branch', '=', given.branch)
    .limit(1)
    .executeTakeFirst()
  if (!pushed)
    return { refused: `Refused: T-${ticket} has not pushed ${given.branch} to ${repository.fullName}. Push it with github_push first.` }
  const key = `ticket-${ticket}/pull_request/${repository.externalId}/${given.branch}`
  const payload: OpenPayload = {
    repository,
    branch: given.branch,
    base: given.base ?? repository.defaultBranch,
    title: given.title,
    draft: given.draft,
  }
  const body = messageBody({ opening: await openingSentence(deps), text: given.body, key })
  const performed = await perform(
    deps,
    { key, kind: 'pull_request.open', ticket, ...at, thread: null, payload: { ...payload }, body },
    signal,
  )
  if ('heldBack' in performed) return performed.heldBack
  if ('refused' in performed) return { refused: `Refused: ${performed.refused}` }
  const { url, externalId } = 'landed' in performed ? performed.landed : performed.taken
  return { text: `${repository.fullName}#${externalId} ${url}${'taken' in performed ? ' (it was open already)' : ''}` }
}

async function change(
  call: ToolCall,
  ticket: number,
  repository: Repository,
  given: Exclude<PullRequestAction, { action: 'open' }>,
): Promise<ToolAnswer> {
  const { deps, at, signal } = call
  const own = await deps.db.selectFrom('pullRequest').select(['number', 'repository']).where('ticket', '=', ticket).orderBy('id').execute()
  if (!own.some(({ number, repository: in_ }) => number === given.number && in_ === repository.id)) {
    const legal = own.length === 0 ? 'It has none.' : `It has ${own.map(({ number }) => `#${number}`).join(', ')}.`
    return { refused: `Refused: #${given.number} is not a pull request of T-${ticket}. ${legal}` }
  }
  const key = `ticket-${ticket}/pull_request.${given.action}/${at.session}/${at.step}/${at.call}`
  const payload: StatePayload = {
    repository: { fullName: repository.fullName },
    number: given.number,
    ...(given.action === 'update' ? { title: given.title } : {}),
  }
  const text = given.action === 'update' ? given.body : null
  // the body of a pull request keeps the marker of its opening, by which it is found again
  const openKey = await openingKey(deps, ticket, given.number)
  const body = text === null ? null : messageBody({ opening: await openingSentence(deps), text, key: openKey })
  const performed = await perform(
    deps,
    { key, kind: `pull_request.${given.action}`, ticket, ...at, thread: null, payload: { ...payload }, body },
    signal,
  )
  if ('heldBack' in performed) return performed.heldBack
  if ('refused' in performed) return { refused: `Refused: ${performed.refused}` }
  if ('taken' in performed) throw new Error(`the key ${key} belongs to this call alone`)
  return { text: `${repository.fullName}#${given.number} ${performed.landed.url}: ${DONE[given.action]}` }
}

const DONE = { update: 'updated', ready: 'ready for review', draft: 'a draft again', close: 'closed' } as const

async function openingKey({ db }: ToolCall['deps'], ticket: number, number: number): Promise<string> {
  const row = await db
    .selectFrom('outbox')
    .select('key')
    .where('ticket', '=', ticket)
    .where('kind', '=', 'pull_request.open')
    .where('externalId', '=', String(number))
    .executeTakeFirst()
  return row?.key ?? `ticket-${ticket}/pull_request/${number}`
}
