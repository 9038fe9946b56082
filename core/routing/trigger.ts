/**
 * What a Source's event looks like once it is normalised: one shape for every channel. Facts only; who gets it is decided
 * in `decide.ts`, and whether the author is a member is asked outside before that.
 */

export type Source = 'github' | 'feishu'

/** A repository by its numeric id: names change, ids do not. */
export interface RepositoryFacts {
  id: string
  fullName: string
  private: boolean
  defaultBranch: string
}

/** One place of conversation. `key` is made of stable ids only, e.g. `github:9001#7` or `github:9001#7/review:55`. */
export interface Place {
  source: Source
  key: string
  kind: 'issue' | 'pull_request' | 'review_thread' | 'repository'
  repository: RepositoryFacts
  /** Issue or pull request number; null for a place that is the repository itself (a push). */
  number: number | null
  title: string
  url: string
}

/** `id` is the numeric account id as text; null for a deleted account or a missing sender, which never has authority (spec N2). */
export interface Author {
  source: Source
  id: string | null
  login: string
  kind: 'user' | 'bot' | 'unknown'
  /** Numeric id of the app through which a person's account wrote, if any (spec N2). */
  viaApp: string | null
}

/** What a text or event points at, as far as the text alone tells. Compared with facts when a candidate is attached (spec G5). */
export type Reference =
  | { kind: 'issue'; repository: string | null; number: number }
  | { kind: 'commit'; repository: string | null; sha: string }
  | { kind: 'branch'; repository: string | null; name: string }
  | { kind: 'ticket'; number: number }
  | { kind: 'url'; url: string }

/** What a fact is about, so that the Ticket it concerns is found (spec P5). */
export interface Concern {
  pullRequests: number[]
  branches: string[]
  commits: string[]
  /** Key of the review thread's place, if the fact is about one. */
  reviewThread: string | null
}

export interface NormalisedTrigger {
  /** Unique for one event of one object, over whatever route it arrived (spec M2): object, action and version. */
  key: string
  kind: 'message' | 'fact'
  /** Event and action as the Source names them, e.g. `issues.opened`, `check_run.completed`. */
  event: string
  /** The thing that was written or changed, e.g. `issue_comment:9007199254740993`. Versions of one message share it. */
  object: string
  place: Place
  author: Author
  /** As written, LF line ends. Empty where there is none. */
  text: string
  /** What a chat command is read from (spec N5): the text without the agent's mention. Empty for an edit, which is never a command. */
  commandText: string
  url: string
  /** When it happened by the Source's clock, ISO 8601. */
  happenedAt: string
  mentionsAgent: boolean
  /** A mention, a reply to the agent, an assignment or review request of the agent. Whether it counts depends on the author. */
  addressesAgent: boolean
  references: Reference[]
  concerns: Concern
  /** Small facts that the card shows, e.g. `{ conclusion: 'failure', name: 'unit' }`. */
  facts: Record<string, string>
  /** The message holds invisible or bidirectional control characters; shown escaped. */
}

/** A delivery that is no Trigger says why (spec M5). */
export type Normalised = { triggers: NormalisedTrigger[] } | { ignored: string }

/** Who the agent is on a Source. Unknown identity: nothing may be treated as a person's message. */
export interface AgentIdentity {
  source: Source
  kind: 'app' | 'user'
  /** Numeric account id as text. */
  id: string
  /** As shown on the Source, e.g. `switchyard[bot]` or `switchyard-agent`. */
  login: string
  /** What people type after `@`, e.g. `switchyard`. */
  slug: string
  appId: string | null
  noReplyEmail: string
}
