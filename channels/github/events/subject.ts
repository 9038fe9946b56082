/**
 * Issues and pull requests themselves: opened, edited, assigned, and the changes of their state.
 *
 * One request, whichever event tells of it (F110): opening an issue or pull request that asks the agent (by a mention, as an
 * assignee or as a reviewer) and an assignment or review request that belongs to the opening both get the key
 * `…:asked-at-opening` and carry the same text, so that the unique key keeps whichever comes first. An assignment belongs to the
 * opening if its author made it within ten seconds. Later ones are messages of their own, with no text.
 */
import type { Normalised } from '../../../core/routing/trigger.ts'
import { at, idOf, shaOf, textOf, timeOf } from '../payload.ts'
import {
  authorOf,
  beforeEdit,
  type Delivered,
  fact,
  ignored,
  includesAgent,
  isAgent,
  known,
  message,
  NO_CONCERN,
  numberedPlace,
  pullRequestConcern,
  type Told,
} from './delivered.ts'

const OPENING_MS = 10_000

export const issues = (given: Delivered): Normalised => subject(given, 'issue')
export const pullRequest = (given: Delivered): Normalised => subject(given, 'pull_request')

type Kind = 'issue' | 'pull_request'
type FactsOf = (payload: unknown, subject: unknown) => Record<string, string | null>

const nothing: FactsOf = () => ({})
const label: FactsOf = (payload) => ({ label: textOf(at(payload, 'label', 'name')) })
const milestone: FactsOf = (payload) => ({ milestone: idOf(at(payload, 'milestone', 'number')) })
const assignee: FactsOf = (payload) => ({
  assignee: idOf(at(payload, 'assignee', 'id')),
  assigneeLogin: textOf(at(payload, 'assignee', 'login')),
})
const reviewer: FactsOf = (payload) => ({
  reviewer: idOf(at(payload, 'requested_reviewer', 'id')),
  reviewerLogin: textOf(at(payload, 'requested_reviewer', 'login')),
  team: textOf(at(payload, 'requested_team', 'slug')),
})

/** Unmerged, the merge commit is only GitHub's trial. */
const closedPull: FactsOf = (_, pull) => {
  const isMerged = at(pull, 'merged') === true
  return { merged: String(isMerged), mergeCommit: isMerged ? shaOf(at(pull, 'merge_commit_sha')) : null }
}

const SHARED: readonly [action: string, facts: FactsOf][] = [
  ['reopened', nothing],
  ['labeled', label],
  ['unlabeled', label],
  ['milestoned', milestone],
  ['demilestoned', milestone],
  ['assigned', assignee],
  ['unassigned', assignee],
  ['locked', nothing],
  ['unlocked', nothing],
]

/** The changes of state that are read, with the small facts that a card shows. Every other action is ignored by name. */
const FACTS: Record<Kind, ReadonlyMap<string, FactsOf>> = {
  issue: new Map<string, FactsOf>([
    ...SHARED,
    ['closed', (_, issue) => ({ reason: textOf(at(issue, 'state_reason')) })],
    ['deleted', nothing],
    [
      'transferred',
      (payload) => ({ transferredTo: placeKey(at(payload, 'changes', 'new_repository'), at(payload, 'changes', 'new_issue')) }),
    ],
  ]),
  pull_request: new Map<string, FactsOf>([
    ...SHARED,
    ['closed', closedPull],
    ['synchronize', (payload) => ({ before: shaOf(at(payload, 'before')), after: shaOf(at(payload, 'after')) })],
    ['review_requested', reviewer],
    ['review_request_removed', reviewer],
    ['ready_for_review', nothing],
    ['converted_to_draft', nothing],
    ['auto_merge_enabled', nothing],
    ['auto_merge_disabled', nothing],
    ['enqueued', nothing],
    ['dequeued', nothing],
  ]),
}

function subject(given: Delivered, kind: Kind): Normalised {
  const { event, action, payload, agent } = given
  const thing = at(payload, kind)
  if (action === 'opened') return opened(given, kind, thing)
  if (action === 'edited') return edited(given, kind, thing)
  if (action === 'assigned' && isAgent(at(payload, 'assignee'), agent)) return asked(given, kind, thing)
  if (action === 'review_requested' && isAgent(at(payload, 'requested_reviewer'), agent)) return asked(given, kind, thing)

  const facts = FACTS[kind].get(action)
  return facts ? fact(given, told(given, kind, thing, known(facts(payload, thing)))) : ignored(`${event}.${action} is not read`)
}

function opened(given: Delivered, kind: Kind, thing: unknown): Normalised {
  const { payload, agent } = given
  const from = placeKey(at(payload, 'changes', 'old_repository'), at(payload, 'changes', 'old_issue'))
  // A transfer also opens the issue in its new repository; nobody asked anything anew (F054).
  if (from !== null) return fact(given, told(given, kind, thing, { transferredFrom: from }))
  const asks =
    includesAgent(at(thing, 'assignees'), agent) ||
    isAgent(at(thing, 'assignee'), agent) ||
    includesAgent(at(thing, 'requested_reviewers'), agent)
  return opening(given, kind, thing, asks)
}

/** An assignment or review request of the agent. Its author is who asked, who need not have written the text. */
function asked(given: Delivered, kind: Kind, thing: unknown): Normalised {
  const author = authorOf(at(thing, 'user'), null)
  const [created, updated] = [timeOf(at(thing, 'created_at')), timeOf(at(thing, 'updated_at'))]
  const isQuick = created !== null && updated !== null && Date.parse(updated) - Date.parse(created) <= OPENING_MS
  if (isQuick && author.id !== null && author.id === given.sender.id) return opening(given, kind, thing, true)

  const base = told(given, kind, thing, {})
  const how = given.action === 'assigned' ? 'assignment' : 'review_request'
  return message(given, { ...base, object: `${base.object}/${how}` }, { author: given.sender, text: [], before: null, asked: true })
}

function opening(given: Delivered, kind: Kind, thing: unknown, asks: boolean): Normalised {
  const base = told(given, kind, thing, {})
  const said = message(given, base, {
    author: authorOf(at(thing, 'user'), at(thing, 'performed_via_github_app')),
    text: Object.values(words(thing)),
    before: null,
    asked: asks,
  })
  if (!('triggers' in said)) return said
  return {
    triggers: said.triggers.map((trigger) => ({
      ...trigger,
      key: `github:${base.object}:${trigger.addressesAgent ? 'asked-at-opening' : 'opened'}`,
      happenedAt: timeOf(at(thing, 'created_at')) ?? trigger.happenedAt,
    })),
  }
}

function edited(given: Delivered, kind: Kind, thing: unknown): Normalised {
  const { payload } = given
  const base = textOf(at(payload, 'changes', 'base', 'ref', 'from'))
  const before = beforeEdit(payload, words(thing))
  if (before !== null) {
    const author = authorOf(at(thing, 'user'), at(thing, 'performed_via_github_app'))
    return message(given, told(given, kind, thing, known({ baseBefore: base })), {
      author,
      text: Object.values(words(thing)),
      before,
      asked: false,
    })
  }
  if (base !== '') return fact(given, told(given, kind, thing, { baseBefore: base }))
  return ignored(`${given.event}.edited leaves the text as it was`)
}

function words(thing: unknown): { title: string; body: string } {
  return { title: textOf(at(thing, 'title')), body: textOf(at(thing, 'body')) }
}

function told(given: Delivered, kind: Kind, thing: unknown, facts: Record<string, string>): Told {
  const time = timeOf(at(thing, 'updated_at')) ?? timeOf(at(thing, 'created_at'))
  return {
    object: `${kind}:${idOf(at(thing, 'id')) ?? ''}`,
    what: [given.action, ...Object.values(facts)].join('/'),
    version: time,
    place: numberedPlace(given, kind, thing),
    happenedAt: time,
    url: textOf(at(thing, 'html_url')),
    concerns: kind === 'pull_request' ? pullRequestConcern(given, thing) : NO_CONCERN,
    facts:
      kind === 'pull_request'
        ? { ...facts, ...known({ head: textOf(at(thing, 'head', 'ref')), base: textOf(at(thing, 'base', 'ref')) }) }
        : facts,
  }
}

function placeKey(repository: unknown, issue: unknown): string | null {
  const [id, number] = [idOf(at(repository, 'id')), idOf(at(issue, 'number'))]
  return id !== null && number !== null ? `github:${id}#${number}` : null
}
