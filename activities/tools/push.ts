/** `github_push`: HEAD's commits, taken out of the sandbox as a bundle, pushed from the host's mirror (design §7). */
import { gate } from '../../core/authority/gate.ts'
import { githubPush } from '../../core/tool/github-push.ts'
import { ticketFacts } from '../../ledger/mandates.ts'
import { perform } from '../effects/effect.ts'
import type { PushPayload } from '../effects/push.ts'
import { checkoutOf } from './in-checkout.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

export async function push(call: ToolCall): Promise<ToolAnswer> {
  const { deps, at, signal } = call
  const { branch } = githubPush.input.parse(call.input)
  const place = await checkoutOf(call)
  if ('refused' in place) return place
  const { ticket, repository, base, folder } = place
  const { mandate, owed } = await ticketFacts(deps.db, ticket)
  const gated = gate({ ticket, effect: 'branch', repository, mandate, owed })
  if ('refused' in gated) return gated
  if (branch === repository.defaultBranch) {
    return {
      refused: `Refused: ${branch} is the default branch of ${repository.fullName}. Push to a branch of your own, such as switchyard/t-${ticket}.`,
    }
  }
  const stranger = await strangersBranch(call, repository, branch)
  if (stranger) return { refused: stranger }

  const collected = await deps.workspaces.collect({ ticket, repository, base, signal }, folder)
  if ('refused' in collected) return { refused: `Refused: ${collected.refused}` }
  const { head, commits, dirty } = collected
  if (commits.length === 0)
    return {
      refused: `Refused: HEAD has no commit since ${base}. Commit in the checkout first; what is not committed does not leave the sandbox.`,
    }

  // before the push leaves: check results of this commit may arrive before its answer does
  await deps.db
    .insertInto('push')
    .values({ ticket, repository: repository.id, branch, sha: head })
    .onConflict((on) => on.columns(['repository', 'branch', 'sha']).doNothing())
    .execute()
  const payload: PushPayload = { repository, branch, sha: head }
  const key = `ticket-${ticket}/push/${at.session}/${at.step}/${at.call}`
  const performed = await perform(deps, { key, kind: 'push', ticket, ...at, thread: null, payload: { ...payload }, body: null }, signal)
  if ('heldBack' in performed) return performed.heldBack
  if ('refused' in performed) return { refused: `Refused: ${performed.refused}` }
  if ('taken' in performed) throw new Error(`the key ${key} belongs to this call alone`)
  const listed = commits.map(({ sha, subject }) => `${sha.slice(0, 10)} ${subject}`).join('\n')
  const warning = dirty.length === 0 ? '' : `\nNot committed and not pushed:\n${dirty.slice(0, 20).join('\n')}`
  const { externalId: present } = performed.landed
  const moved = present === head ? '' : `\nSomebody has pushed onto it since: it is at ${present} now.`
  return { text: `pushed: ${repository.fullName} ${branch} is at ${head}${moved}\n${listed}${warning}` }
}

/** A branch that stands on GitHub and that this Ticket never pushed is somebody else's. */
async function strangersBranch(
  { deps, ticket }: ToolCall,
  repository: { id: number; fullName: string },
  branch: string,
): Promise<string | null> {
  const own = await deps.db
    .selectFrom('push')
    .select('sha')
    .where('repository', '=', repository.id)
    .where('branch', '=', branch)
    .where('ticket', '=', ticket)
    .limit(1)
    .executeTakeFirst()
  if (own || !deps.github) return null
  const present = await deps.github.client.getRef(repository.fullName, branch)
  return present === null
    ? null
    : `Refused: ${branch} exists in ${repository.fullName} at ${present} and is not this Ticket's. Push to a new branch.`
}
