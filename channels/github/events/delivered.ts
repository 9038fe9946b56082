/**
 * What every reader of an event starts from and how a Trigger is put together: places, authors and keys are made here and nowhere
 * else. Places are keyed by numeric ids, authors are judged by id only (spec Words, N2).
 */
import { findMention } from '../../../core/routing/mention.ts'
import { findReferences } from '../../../core/routing/references.ts'
import type {
  AgentIdentity,
  Author,
  Concern,
  Normalised,
  NormalisedTrigger,
  Place,
  RepositoryFacts,
} from '../../../core/routing/trigger.ts'
import { at, idOf, isRecord, listOf, numberOf, shaOf, textOf } from '../payload.ts'

export interface Delivered {
  event: string
  action: string
  payload: unknown
  repository: RepositoryFacts
  /** Address of the repository's page. */
  repositoryUrl: string
  agent: AgentIdentity
  /** Who caused the event. */
  sender: Author
}

export const ignored = (reason: string): Normalised => ({ ignored: reason })

export function delivered(event: string, payload: unknown, agent: AgentIdentity): Delivered | null {
  const repository = at(payload, 'repository')
  const id = idOf(at(repository, 'id'))
  if (id === null) return null
  return {
    event,
    action: textOf(at(payload, 'action')),
    payload,
    repository: {
      id,
      fullName: textOf(at(repository, 'full_name')),
      private: at(repository, 'private') !== false, // unknown is treated as private, which shows less
      defaultBranch: textOf(at(repository, 'default_branch')),
    },
    repositoryUrl: textOf(at(repository, 'html_url')),
    agent,
    sender: authorOf(at(payload, 'sender'), null),
  }
}

/** A deleted account and a missing sender are nobody: no id, so no authority and no match with anything (F032). */
export function authorOf(user: unknown, app: unknown): Author {
  const id = idOf(at(user, 'id'))
  const type = at(user, 'type')
  return {
    source: 'github',
    id,
    login: id === null ? 'ghost' : textOf(at(user, 'login')),
    kind: id === null ? 'unknown' : type === 'Bot' ? 'bot' : type === 'User' ? 'user' : 'unknown',
    viaApp: idOf(at(app, 'id')),
  }
}

export function isAgent(user: unknown, agent: AgentIdentity): boolean {
  return idOf(at(user, 'id')) === agent.id
}

export function repositoryPlace({ repository, repositoryUrl }: Delivered): Place {
  return {
    source: 'github',
    key: `github:${repository.id}`,
    kind: 'repository',
    repository,
    number: null,
    title: repository.fullName,
    url: repositoryUrl,
  }
}

/** Issues and pull requests share their numbers, so one key serves both, whichever event names them (F038). */
export function numberedPlace({ repository }: Delivered, kind: 'issue' | 'pull_request', subject: unknown): Place | null {
  const number = numberOf(at(subject, 'number'))
  if (number === null) return null
  return {
    source: 'github',
    key: `github:${repository.id}#${number}`,
    kind,
    repository,
    number,
    title: textOf(at(subject, 'title')),
    url: textOf(at(subject, 'html_url')),
  }
}

/** A review thread is named by the comment that opened it. */
export function reviewThreadPlace(pullRequest: Place, rootComment: string, url: string): Place {
  return { ...pullRequest, key: `${pullRequest.key}/review:${rootComment}`, kind: 'review_thread', url }
}

export const NO_CONCERN: Concern = { pullRequests: [], branches: [], commits: [], reviewThread: null }

/** A fork's branch may have the name of one of ours, so it is no concern; its commit is (F053). */
export function pullRequestConcern({ repository }: Delivered, pullRequest: unknown): Concern {
  const number = numberOf(at(pullRequest, 'number'))
  const branch = textOf(at(pullRequest, 'head', 'ref'))
  const sha = shaOf(at(pullRequest, 'head', 'sha'))
  const isOwn = idOf(at(pullRequest, 'head', 'repo', 'id')) === repository.id
  return {
    pullRequests: number === null ? [] : [number],
    branches: isOwn && branch !== '' ? [branch] : [],
    commits: sha === null ? [] : [sha],
    reviewThread: null,
  }
}

export interface Told {
  /** The thing written or changed, e.g. `issue_comment:55`. */
  object: string
  /** What happened to it, without its version: the action, and what tells two of the same second apart. */
  what: string
  version: string | null
  place: Place | null
  happenedAt: string | null
  url: string
  concerns: Concern
  facts: Record<string, string>
}

/** A change of state: no text, and the author is who caused it. */
export function fact(given: Delivered, told: Told, author: Author = given.sender): Normalised {
  return complete(given, told, {
    kind: 'fact',
    text: '',
    commandText: '',
    author,
    mentionsAgent: false,
    addressesAgent: false,
    references: [],
  })
}

export interface Said {
  author: Author
  /** A title and a body, or a body alone; each is Markdown of its own. */
  text: readonly string[]
  /** What stood there before an edit; null for what is new. */
  before: readonly string[] | null
  /** Asked without a mention: assigned, or asked for a review. */
  asked: boolean
}

/**
 * Words of somebody. After an edit a mention counts only where none stood before (F041, F043); `facts.mentionKept` says that one
 * did, for the case that the edit arrives before what it edits (F039).
 */
export function message(given: Delivered, told: Told, { author, text, before, asked }: Said): Normalised {
  const mentions = (texts: readonly string[]) => texts.map((part) => findMention(part, given.agent.slug))
  const now = mentions(text)
  const isMentioned = now.some((part) => part.mentioned)
  const wasMentioned = before !== null && mentions(before).some((part) => part.mentioned)
  const mentionsAgent = isMentioned && !wasMentioned
  const whole = text.filter((part) => part !== '').join('\n\n')
  const host = URL.canParse(given.repositoryUrl) ? new URL(given.repositoryUrl).host : 'github.com'
  return complete(
    given,
    { ...told, facts: { ...told.facts, ...(isMentioned && wasMentioned ? { mentionKept: 'true' } : {}), ...editor(given, author) } },
    {
      kind: 'message',
      author,
      text: whole,
      commandText:
        given.action === 'edited'
          ? ''
          : now
              .map(({ withoutMention }) => withoutMention)
              .join('\n\n')
              .trim(),
      mentionsAgent,
      addressesAgent: mentionsAgent || asked,
      references: findReferences(whole, { repository: given.repository.fullName, host }),
    },
  )
}

/** Who edited another's words: the weaker of both authorities holds (spec N7). */
function editor({ action, sender }: Delivered, author: Author): Record<string, string> {
  if (action !== 'edited' || (sender.id !== null && sender.id === author.id)) return {}
  return { editor: sender.id ?? 'unknown', editorLogin: sender.login, editorKind: sender.kind }
}

type Words = Pick<NormalisedTrigger, 'kind' | 'author' | 'text' | 'commandText' | 'mentionsAgent' | 'addressesAgent' | 'references'>

function complete(given: Delivered, told: Told, words: Words): Normalised {
  const name = eventName(given)
  const { object, place, happenedAt, url, concerns, facts } = told
  if (object.endsWith(':')) return ignored(`${name} does not say which object it is about`)
  if (place === null) return ignored(`${name} names no issue or pull request number`)
  if (told.version === null || happenedAt === null) return ignored(`${name} carries no time, so its version cannot be told`)
  return {
    triggers: [
      { ...words, key: `github:${object}:${told.what}:${told.version}`, event: name, object, place, url, happenedAt, concerns, facts },
    ],
  }
}

export function eventName({ event, action }: Delivered): string {
  return action === '' ? event : `${event}.${action}`
}

/** What stood there before an edit, part by part; null where the edit changed none of the parts (F042). */
export function beforeEdit(payload: unknown, now: Record<string, string>): string[] | null {
  const parts = Object.entries(now).map(([name, text]) => {
    const change = at(payload, 'changes', name)
    return { text, before: isRecord(change) ? textOf(at(change, 'from')) : text }
  })
  return parts.some(({ text, before }) => text !== before) ? parts.map(({ before }) => before) : null
}

/** Only facts that are there. */
export function known(facts: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(facts).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ''))
}

export function includesAgent(users: unknown, agent: AgentIdentity): boolean {
  return listOf(users).some((user) => isAgent(user, agent))
}
