/**
 * What people wrote and closed, read from GitHub's lists (spec M3, F117) where no log of deliveries tells of it. What is found becomes
 * a delivery like the webhook's, of the same object, action and time, so that it is the same Trigger (M2).
 *
 * Lists show things as they are now. They tell of issues, pull requests, comments and reviews that are new, of comments whose words
 * were changed, and of what was closed; not of labels, assignments, check results, deletions, or a changed description. Nor do they
 * tell that a comment was hidden, or who changed one: nobody's authority stands behind such a change (N7).
 */
import type { NewDelivery } from '../../ledger/deliveries.ts'
import { placeOf } from './delivery.ts'
import { GithubError } from './failure.ts'
import { at, idOf, isRecord, numberOf, stringifyExact, timeOf } from './payload.ts'

/** From `since` on, and before `until`; null: to this moment. */
export interface Window {
  since: Date
  until: Date | null
}

export interface Found {
  event: 'issues' | 'pull_request' | 'issue_comment' | 'pull_request_review' | 'pull_request_review_comment'
  action: 'opened' | 'closed' | 'created' | 'edited' | 'submitted'
  /** As its Trigger names it, e.g. `issue_comment:55`. */
  object: string
  at: Date
  bornAt: Date
  payload: Record<string, unknown>
}

/** Oldest first; null: the agent does not see the repository. Throws `GithubError`, also where one of its lists is refused. */
export type FindChanges = (fullName: string, window: Window) => Promise<Found[] | null>

/** Reading requests in a repository's name. */
export interface Read {
  one(fullName: string, route: string, parameters: Record<string, unknown>): Promise<unknown>
  /** Every page. */
  all(fullName: string, route: string, parameters: Record<string, unknown>): Promise<unknown[]>
}

const REPOSITORY = 'GET /repos/{owner}/{repo}'

export function findChanges(read: Read): FindChanges {
  return async (fullName, window) => {
    /** Null: it was deleted since it was listed. */
    const one = (path: string, number: number) => unlessGone(read.one(fullName, `${REPOSITORY}/${path}/{number}`, { number }))
    // newest first: what changes while pages are read moves to the front, where it is met twice, and nothing is passed over
    const changed = (path: string, which = {}) =>
      read.all(fullName, `${REPOSITORY}/${path}`, { ...which, since: window.since.toISOString(), sort: 'updated', direction: 'desc' })

    const repository = await unlessGone(read.one(fullName, REPOSITORY, {}), ['not-found', 'gone', 'forbidden'])
    if (repository === null) return null
    const listed = new Map<number, unknown>(
      (await changed('issues', { state: 'all' })).map((issue) => [numberOf(at(issue, 'number')) ?? 0, issue]),
    )
    const issueOf = remembered(listed, (number) => one('issues', number))
    const pullOf = remembered(new Map(), (number) => one('pulls', number))

    const found: (Found | null)[] = []
    for (const [number, issue] of [...listed]) {
      const isPull = isRecord(at(issue, 'pull_request'))
      const subject = isPull ? await pullOf(number) : issue
      if (subject === null) continue
      found.push(opened(isPull, subject))
      // only a single issue says who closed it, a pull request too
      if (isWithin(window, timeOf(at(subject, 'closed_at')))) found.push(closed(isPull, subject, await one('issues', number)))
      const reviews = isPull ? await unlessGone(read.all(fullName, `${REPOSITORY}/pulls/{number}/reviews`, { number })) : []
      found.push(...(reviews ?? []).map((review) => submitted(review, subject)))
    }
    for (const comment of await changed('issues/comments')) {
      const issue = await issueOf(numberIn(at(comment, 'issue_url')))
      if (issue !== null) found.push(written('issue_comment', 'issue_comment', comment, { issue }))
    }
    for (const comment of await changed('pulls/comments')) {
      const pull = await pullOf(numberIn(at(comment, 'pull_request_url')))
      if (pull !== null) found.push(written('pull_request_review_comment', 'review_comment', comment, { pull_request: pull }))
    }
    return found
      .filter((each) => each !== null && isWithin(window, each.at.toISOString()))
      .map((each) => ({ ...each!, payload: { ...each!.payload, action: each!.action, repository } }))
      .toSorted((a, b) => a.at.getTime() - b.at.getTime())
  }
}

async function unlessGone<Answer>(answer: Promise<Answer>, kinds: readonly string[] = ['not-found', 'gone']): Promise<Answer | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof GithubError && kinds.includes(error.failure.kind)) return null
    throw error
  }
}

/** `before` is what a changed comment said. */
export function asDelivery({ event, action, object, at: happened, payload }: Found, before: string): NewDelivery {
  const whole = action === 'edited' ? { ...payload, changes: { body: { from: before } } } : payload
  return {
    source: 'github',
    transport: 'lists',
    hook: 'lists',
    guid: `${object}:${action}:${happened.toISOString()}`,
    event,
    headers: {},
    body: stringifyExact(whole),
    place: placeOf(whole),
  }
}

/** Without those who are asked: who asked them, and when, is not told (F110). */
function opened(isPull: boolean, subject: unknown): Found | null {
  const asWritten = { ...(subject as object), assignee: null, assignees: [], requested_reviewers: [] }
  return about(isPull, 'opened', subject, timeOf(at(subject, 'created_at')), asWritten, at(subject, 'user'))
}

/** At that moment it was last changed; what came after is not its version (M2). */
function closed(isPull: boolean, subject: unknown, issue: unknown): Found | null {
  const time = timeOf(at(subject, 'closed_at'))
  return about(isPull, 'closed', subject, time, { ...(subject as object), updated_at: time }, at(issue, 'closed_by'))
}

function about(isPull: boolean, action: 'opened' | 'closed', subject: unknown, time: string | null, shown: object, sender: unknown) {
  const kind = isPull ? 'pull_request' : 'issue'
  return happening(isPull ? 'pull_request' : 'issues', action, `${kind}:${idOf(at(subject, 'id'))}`, time, { [kind]: shown, sender })
}

function submitted(review: unknown, pull: unknown): Found | null {
  const object = `review:${idOf(at(review, 'id'))}`
  const parts = { review, pull_request: pull, sender: at(review, 'user') }
  return happening('pull_request_review', 'submitted', object, timeOf(at(review, 'submitted_at')), parts)
}

function written(event: Found['event'], kind: string, comment: unknown, parent: Record<string, unknown>): Found | null {
  const [born, changed] = [timeOf(at(comment, 'created_at')), timeOf(at(comment, 'updated_at'))]
  const isEdited = changed !== born
  const parts = { comment, ...parent, sender: isEdited ? null : at(comment, 'user') }
  const found = happening(event, isEdited ? 'edited' : 'created', `${kind}:${idOf(at(comment, 'id'))}`, changed, parts)
  return found && born !== null ? { ...found, bornAt: new Date(born) } : found
}

function happening(
  event: Found['event'],
  action: Found['action'],
  object: string,
  time: string | null,
  payload: Record<string, unknown>,
): Found | null {
  return time === null ? null : { event, action, object, at: new Date(time), bornAt: new Date(time), payload }
}

function isWithin({ since, until }: Window, time: string | null): boolean {
  return time !== null && time >= since.toISOString() && (until === null || time < until.toISOString())
}

/** The number at the end of `…/issues/12`. */
const numberIn = (url: unknown): number => Number(/\/(\d+)$/.exec(String(url))?.[1] ?? 0)

function remembered(known: Map<number, unknown>, ask: (number: number) => Promise<unknown>): (number: number) => Promise<unknown> {
  return async (number) => {
    if (!known.has(number)) known.set(number, await ask(number))
    return known.get(number)
  }
}
