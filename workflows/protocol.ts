/**
 * What workflows, activities and clients agree on: ids, task queues, messages, and what activities take and return. Ids,
 * counters and outcomes only (spec M7). Part of the workflow bundle, so it imports next to nothing.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { Mark } from '../core/ticket/scope.ts'

export const QUEUES = { workflows: 'switchyard', ledger: 'ledger', model: 'model', channel: 'channel' } as const
/** Tools that need a Ticket's checkout run on the host that has it. */
const WORKSPACE = 'workspace-'
export const workspaceQueue = (host: string): string => `${WORKSPACE}${host}`
export const isWorkspaceQueue = (queue: string): boolean => queue.startsWith(WORKSPACE)
export const hostOfQueue = (queue: string): string => queue.slice(WORKSPACE.length)

export interface Address {
  session: string
  step: number
}

/** `tool` is the name of a known tool, or `unknown`: what a model made up stays out of histories. */
export interface Call {
  id: string
  tool: string
  queue: string
  parallel: boolean
  subagent?: string
}

export type StepResult =
  | { outcome: 'tools'; calls: Call[]; revision: number }
  | { outcome: 'end' | 'more' | 'idle' | 'handoff' | 'budget' | 'blocked' | 'unbuilt' | 'error' | 'closed' }
  | { outcome: 'paused'; holds: Mark[] }
export type CallResult = { outcome: 'done' | 'closed' | 'error' } | { outcome: 'paused'; holds: Mark[] }

export interface Opened {
  at: Address
  /** How often the Ticket was opened; a close ends one opening. */
  opening: number
  holds: Mark[]
  /** Keys of the owned Threads, for the search attribute. */
  threads: string[]
}

/** A command that came straight to Temporal has no mark; `id` is its update's, so that a second attempt writes no second row. */
export interface RawCommand {
  scope: string
  id: string
  by: string
  reason: string
}

/** A call, and the queue of the host that did not take it in time. */
export type HostCall = Address & { call: string; queue: string }

export interface StepActivities {
  modelStep(at: Address): Promise<StepResult>
  runTool(at: Address & { call: string }): Promise<CallResult>
  openSubagent(at: Address & { call: string }): Promise<Address>
  /** If the host is gone: stores that as the call's result, and lets the Ticket go to another one. */
  loseHost(at: HostCall): Promise<void>
}

export interface LedgerActivities {
  /** Where the Session stands: its first unfinished step, how often it was opened, what holds it. Null: it is closed. */
  openSession(given: { scope: string }): Promise<Opened | null>
  /** Write the row of a raw command once per `id` and return its mark; refuse (a closed Ticket) with a non-retryable failure. */
  recordPause(given: RawCommand): Promise<Mark>
  recordResume(given: RawCommand): Promise<Mark>
  recordClose(given: RawCommand): Promise<Mark>
}

export interface Command {
  by: string
  reason: string
  mark?: Mark
}

export const wake = defineSignal('wake')
export const pause = defineUpdate<Mark, [Command]>('pause')
export const resume = defineUpdate<Mark, [Command]>('resume')
/** The mark of a close counts the Ticket's openings: a late one does not close a Ticket that was opened again. */
export const close = defineUpdate<Mark, [Command]>('close')
export const status = defineQuery<{ at: Address | null; held: boolean }>('status')
