/** The tables as TypeScript sees them (columns in camelCase; the SQL is in `migrations/`, with the reasons). */

import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { Effect } from '../core/authority/gate.ts'
import type { Permission } from '../core/authority/permission.ts'
import type { Reference, Source } from '../core/routing/trigger.ts'

type Made<T> = ColumnType<T, T | undefined, T>
type Json<T> = JSONColumnType<T & object, string, string>
type Sha = Buffer

export type TicketState = 'queued' | 'working' | 'waiting' | 'blocked' | 'closed'
export type InboxKind =
  | 'candidate'
  | 'assignment'
  | 'message'
  | 'information'
  | 'fact'
  | 'report'
  | 'notice'
  | 'note'
  | 'answer'
  | 'job'
  | 'reminder'
  | 'handoff'
export type OutboxState = 'intent' | 'sent' | 'confirmed' | 'uncertain' | 'failed' | 'dropped'
export type CallOutcome = 'done' | 'refused' | 'failed' | 'interrupted'
/** Who authorised a Ticket, and how (spec F4). */
export type Basis = { kind: 'explicit'; requester: string; trigger: number }

/** What a prompt was made from beside texts and log: facts of the deployment and of the Session. */
export interface RequestFacts {
  github: boolean
  /** The checkout's folder as commands see it. */
  cwd: string | null
  /** Deployment values that the main Session reads, in order. */
  environment: readonly { name: string; value: string }[]
}

export interface Ledger {
  text: { sha: Sha; body: string | null; bytes: number; purgedAt: Date | null }
  promptRevision: {
    revision: number
    predecessor: number | null
    createdAt: Generated<Date>
    origin: 'built-in' | 'panel' | 'tool' | 'cli'
    actor: string
    note: string | null
    restored: number | null
    basis: number | null
    document: Sha
  }
  policyVersion: {
    version: number
    predecessor: number | null
    createdAt: Generated<Date>
    origin: 'built-in' | 'panel' | 'tool' | 'cli'
    actor: string
    note: string | null
    restored: number | null
    basis: number | null
    document: Sha
  }
  delivery: {
    id: Generated<number>
    source: Source
    transport: string
    hook: string
    guid: string
    event: string
    headers: Json<Record<string, string>>
    body: string | null
    sha: Sha
    purgedAt: Date | null
    place: string | null
    receivedAt: Generated<Date>
    state: Generated<'pending' | 'normalised' | 'ignored' | 'failed'>
    reason: string | null
    tries: Generated<number>
    nextTryAt: Generated<Date>
    settledAt: Date | null
  }
  watermark: {
    source: Source
    bornAt: Generated<Date>
    readTo: Generated<Date>
    listingBegan: Date | null
    listingCursor: string | null
    failingSince: Date | null
    nextTryAt: Generated<Date>
  }
  repository: { id: Generated<number>; source: Source; externalId: string; fullName: string; private: boolean; defaultBranch: string }
  thread: {
    id: Generated<number>
    key: string
    source: Source
    kind: 'issue' | 'pull_request' | 'review_thread' | 'repository'
    repository: number | null
    number: number | null
    title: string
    url: string
    createdAt: Generated<Date>
  }
  account: { id: Generated<number>; source: Source; externalId: string; login: string; kind: 'user' | 'bot' | 'unknown' }
  membership: { account: number; repository: number; permission: Permission; askedAt: Date }
  trigger: {
    id: Generated<number>
    key: string
    delivery: number
    thread: number
    kind: 'message' | 'fact'
    event: string
    object: string
    author: number | null
    authorLogin: string
    member: boolean
    body: string | null
    sha: Sha
    purgedAt: Date | null
    url: string
    happenedAt: Date
    createdAt: Generated<Date>
    mentionsAgent: boolean
    addressesAgent: boolean
    refs: Json<Reference[]>
    facts: Json<Record<string, string>>
    rule: 'P1' | 'P2' | 'P3' | 'P4' | 'P5' | 'P6' | 'P7'
    reason: string
  }
  ticket: {
    id: Generated<number>
    state: Made<TicketState>
    closedReason: string | null
    opening: Made<number>
    title: string
    origin: number
    repository: number | null
    createdAt: Generated<Date>
    stateSince: Made<Date>
    host: string | null
  }
  mandate: {
    ticket: number
    seq: number
    basis: Json<Basis>
    requester: number | null
    trigger: number | null
    repositories: number[]
    effects: Effect[]
    note: string
    createdAt: Generated<Date>
  }
  candidate: {
    id: Generated<number>
    trigger: number
    thread: number
    explicit: boolean
    matchable: Json<string[]>
    state: Made<'waiting' | 'started' | 'attached' | 'ignored' | 'stuck' | 'withdrawn'>
    round: Made<number>
    reasons: ColumnType<{ ticket: number; reason: string }[], string | undefined, string>
    ticket: number | null
    reason: string | null
    decidedBy: string | null
    decidedAt: Date | null
    policyVersion: number | null
    createdAt: Generated<Date>
  }
  subscription: { ticket: number; thread: number; role: 'owner' | 'context'; since: Generated<Date>; endedAt: Date | null }
  claim: {
    trigger: number
    ticket: number
    state: 'pending' | 'claimed' | 'returned' | 'ended' | 'withdrawn'
    reason: string | null
    createdAt: Generated<Date>
  }
  pullRequest: {
    id: Generated<number>
    ticket: number
    repository: number
    number: number
    externalId: string
    nodeId: string
    url: string
    branch: string
    base: string
    head: string
    draft: boolean
    state: Made<'open' | 'closed' | 'merged'>
    createdAt: Generated<Date>
  }
  push: { ticket: number; repository: number; branch: string; sha: string; pushedAt: Generated<Date> }
  session: {
    id: string
    role: 'main' | 'executor' | 'subagent'
    ticket: number | null
    number: number
    openedAt: Generated<Date>
    endedAt: Date | null
    baseCommit: string | null
    agentsMd: Sha | null
  }
  sessionLog: {
    session: string
    seq: number
    kind: 'input' | 'answer' | 'result'
    step: number
    call: string | null
    body: string | null
    sha: Sha
    purgedAt: Date | null
    at: Generated<Date>
  }
  request: {
    id: Generated<number>
    session: string
    step: number
    revision: number
    policyVersion: number
    sections: Json<{ name: string; sha: string; bytes: number }[]>
    tools: Sha
    logSeq: number
    inputs: Json<{ inbox: number; sha: string }[]>
    facts: Json<RequestFacts>
    provider: string
    model: string
    openedAt: Generated<Date>
    endedAt: Date | null
    outcome: 'answered' | 'outrun' | 'failed' | 'cut off' | null
    error: string | null
    finishReason: string | null
    inputTokens: number | null
    cachedTokens: number | null
    outputTokens: number | null
    wireSha: Sha | null
  }
  recording: {
    request: number
    status: number
    contentType: string
    body: string | null
    sha: Sha
    purgedAt: Date | null
    at: Generated<Date>
  }
  step: { session: string; step: number; outcome: 'tools' | 'end' | 'more' | 'closed'; request: number | null; at: Generated<Date> }
  toolCall: {
    session: string
    step: number
    call: string
    position: number
    tool: string
    input: Json<Record<string, unknown>>
    fault: string | null
    nature: string
    place: string
    startedAt: Date | null
    endedAt: Date | null
    outcome: CallOutcome | null
  }
  instructionFile: { session: string; path: string; bytes: number; step: number; call: string }
  inbox: {
    id: Generated<number>
    address: string
    kind: InboxKind
    trigger: number | null
    candidate: number | null
    report: number | null
    body: string | null
    purgedAt: Date | null
    createdAt: Generated<Date>
    signalledAt: Date | null
    nextSignalAt: Generated<Date>
    seenAt: Date | null
    session: string | null
    step: number | null
    dropped: string | null
  }
  report: {
    id: Generated<number>
    ticket: number
    session: string
    step: number
    call: string
    status: 'progress' | 'draft' | 'done' | 'cannot_complete' | 'yielded'
    body: string | null
    purgedAt: Date | null
    evidence: Json<string[]>
    pullRequest: number | null
    createdAt: Generated<Date>
  }
  outbox: {
    id: Generated<number>
    key: string
    ticket: number | null
    session: string | null
    step: number | null
    call: string | null
    kind: string
    thread: number | null
    payload: Json<Record<string, unknown>>
    body: string | null
    purgedAt: Date | null
    state: Made<OutboxState>
    externalId: string | null
    url: string | null
    error: string | null
    tries: Made<number>
    createdAt: Generated<Date>
    nextTryAt: Generated<Date>
    sentAt: Date | null
    settledAt: Date | null
  }
  pause: { scope: string; generation: Made<number>; held: Made<boolean>; actor: string | null; reason: string | null; at: Made<Date> }
  command: {
    id: Generated<number>
    kind: 'pause' | 'resume' | 'close' | 'retry' | 'record_on' | 'record_off'
    scope: string
    actor: string
    transport: 'cli' | 'panel' | 'chat' | 'temporal'
    basis: string | null
    reason: string
    generation: number
    updateId: string | null
    createdAt: Generated<Date>
    deliveredAt: Date | null
    nextTryAt: Generated<Date>
    tries: Made<number>
    error: string | null
  }
  alarm: { id: Generated<number>; kind: string; subject: string; body: string; raisedAt: Generated<Date>; endedAt: Date | null }
}
