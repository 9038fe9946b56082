/**
 * A stored GitHub delivery becomes a Trigger or is ignored with a reason (spec M5). Pure and total: no JSON object makes it
 * throw. The key of a Trigger is made of object, action and version only, never of the hook or the delivery id, so the same event
 * over two hooks is one Trigger (spec M2).
 */
import type { AgentIdentity, Normalised } from '../../core/routing/trigger.ts'
import { checkRun, checkSuite, push } from './events/checks.ts'
import { issueComment, review, reviewComment, reviewThread } from './events/comment.ts'
import { type Delivered, delivered, ignored } from './events/delivered.ts'
import { issues, pullRequest } from './events/subject.ts'

/** The events that are read. A map, since an event's name comes from outside and may be `constructor` (F022). */
const READERS: ReadonlyMap<string, (given: Delivered) => Normalised> = new Map([
  ['issues', issues],
  ['issue_comment', issueComment],
  ['pull_request', pullRequest],
  ['pull_request_review', review],
  ['pull_request_review_comment', reviewComment],
  ['pull_request_review_thread', reviewThread],
  ['check_run', checkRun],
  ['check_suite', checkSuite],
  ['push', push],
])

export function normalise(event: string, payload: unknown, agent: AgentIdentity): Normalised {
  const read = READERS.get(event)
  if (!read) return ignored(event === 'ping' ? 'ping only tests the hook' : `${event} is not read`)
  const given = delivered(event, payload, agent)
  return given ? read(given) : ignored(`${event} names no repository`)
}
