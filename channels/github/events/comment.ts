/**
 * What people write below an issue or pull request: conversation comments, reviews, review comments, and the state of review
 * threads. A deletion is a fact about the words and carries none of them (spec M6).
 */
import { createHash } from 'node:crypto'
import type { Normalised, Place } from '../../../core/routing/trigger.ts'
import { at, idOf, isRecord, listOf, shaOf, textOf, timeOf } from '../payload.ts'
import {
  authorOf,
  beforeEdit,
  type Delivered,
  fact,
  ignored,
  known,
  message,
  NO_CONCERN,
  numberedPlace,
  pullRequestConcern,
  reviewThreadPlace,
  type Told,
} from './delivered.ts'

/** Below a pull request GitHub still says `issue`; the field `pull_request` tells (F038). */
export function issueComment(given: Delivered): Normalised {
  const issue = at(given.payload, 'issue')
  const isPull = isRecord(at(issue, 'pull_request'))
  const place = numberedPlace(given, isPull ? 'pull_request' : 'issue', issue)
  const concerns = isPull && place?.number ? { ...NO_CONCERN, pullRequests: [place.number] } : NO_CONCERN
  return comment(given, { ...writing(given, 'issue_comment', at(given.payload, 'comment')), place, concerns, facts: {} })
}

export function reviewComment(given: Delivered): Normalised {
  const written = at(given.payload, 'comment')
  const root = idOf(at(written, 'in_reply_to_id')) ?? idOf(at(written, 'id'))
  const place = threadPlace(given, root, textOf(at(written, 'html_url')))
  return comment(given, {
    ...writing(given, 'review_comment', written),
    place,
    concerns: {
      ...pullRequestConcern(given, at(given.payload, 'pull_request')),
      reviewThread: place?.kind === 'review_thread' ? place.key : null,
    },
    facts: known({
      path: textOf(at(written, 'path')),
      line: idOf(at(written, 'line')),
      commit: shaOf(at(written, 'commit_id')),
      inReplyTo: idOf(at(written, 'in_reply_to_id')),
    }),
  })
}

function comment(given: Delivered, told: Told): Normalised {
  const { event, action, payload } = given
  const written = at(payload, 'comment')
  const author = authorOf(at(written, 'user'), at(written, 'performed_via_github_app'))
  const body = textOf(at(written, 'body'))
  switch (action) {
    case 'created':
      return message(given, told, { author, text: [body], before: null, asked: false })
    case 'edited': {
      const before = beforeEdit(payload, { body })
      return before
        ? message(given, told, { author, text: [body], before, asked: false })
        : ignored(`${event}.edited leaves the text as it was`)
    }
    case 'deleted':
      return fact(given, { ...told, facts: { ...told.facts, ...known({ writtenBy: author.id }) } })
    default:
      return ignored(`${event}.${action} is not read`)
  }
}

/** An inline comment alone also raises a review without words; the comment is the Trigger, the review is none (F037). */
export function review(given: Delivered): Normalised {
  const { event, action, payload } = given
  const written = at(payload, 'review')
  const pull = at(payload, 'pull_request')
  const body = textOf(at(written, 'body'))
  const state = textOf(at(written, 'state')).toLowerCase()
  const author = authorOf(at(written, 'user'), at(written, 'performed_via_github_app'))
  const told: Told = {
    ...writing(given, 'review', written),
    place: numberedPlace(given, 'pull_request', pull),
    concerns: pullRequestConcern(given, pull),
    facts: known({ state, commit: shaOf(at(written, 'commit_id')) }),
  }
  switch (action) {
    case 'submitted':
      if (body.trim() !== '') return message(given, told, { author, text: [body], before: null, asked: false })
      return state === 'commented'
        ? ignored('a review without words of its own; its inline comments come by themselves')
        : fact(given, told, author)
    case 'edited': {
      const before = beforeEdit(payload, { body })
      if (before === null) return ignored(`${event}.edited leaves the text as it was`)
      // A review's time of submission stays the same over its edits.
      const version = timeOf(at(written, 'updated_at')) ?? `${told.version}~${digest([...before, body])}`
      return message(given, { ...told, version }, { author, text: [body], before, asked: false })
    }
    case 'dismissed':
      return fact(given, told)
    default:
      return ignored(`${event}.${action} is not read`)
  }
}

export function reviewThread(given: Delivered): Normalised {
  const { event, action, payload } = given
  if (action !== 'resolved' && action !== 'unresolved') return ignored(`${event}.${action} is not read`)
  const thread = at(payload, 'thread')
  const pull = at(payload, 'pull_request')
  const comments = listOf(at(thread, 'comments'))
  const first = comments.find((each) => idOf(at(each, 'in_reply_to_id')) === null) ?? comments[0]
  const place = threadPlace(given, idOf(at(first, 'in_reply_to_id')) ?? idOf(at(first, 'id')), textOf(at(first, 'html_url')))
  const time = timeOf(at(payload, 'updated_at')) ?? timeOf(at(pull, 'updated_at'))
  return fact(given, {
    object: `review_thread:${textOf(at(thread, 'node_id'))}`,
    what: action,
    version: time,
    place,
    happenedAt: time,
    url: place?.url ?? '',
    concerns: { ...pullRequestConcern(given, pull), reviewThread: place?.kind === 'review_thread' ? place.key : null },
    facts: known({ nodeId: textOf(at(thread, 'node_id')) }),
  })
}

function threadPlace(given: Delivered, root: string | null, url: string): Place | null {
  const pullRequest = numberedPlace(given, 'pull_request', at(given.payload, 'pull_request'))
  return pullRequest && root !== null ? reviewThreadPlace(pullRequest, root, url) : pullRequest
}

function writing({ action }: Delivered, kind: string, written: unknown): Omit<Told, 'place' | 'concerns' | 'facts'> {
  const time = timeOf(at(written, 'updated_at')) ?? timeOf(at(written, 'submitted_at')) ?? timeOf(at(written, 'created_at'))
  return {
    object: `${kind}:${idOf(at(written, 'id')) ?? ''}`,
    what: action,
    version: time,
    happenedAt: time,
    url: textOf(at(written, 'html_url')),
  }
}

function digest(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
}
