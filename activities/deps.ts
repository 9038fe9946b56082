/** What the activities are given, once, when a worker starts. */
import type { LanguageModel } from 'ai'
import type { Logger } from 'pino'
import type { GithubClient } from '../channels/github/client.ts'
import type { AgentIdentity } from '../core/routing/trigger.ts'
import type { Database, Tx } from '../ledger/database.ts'
import type { Configuration } from '../ledger/revisions.ts'
import type { ReadDrift } from './read-drift.ts'
import type { Workspaces } from './workspaces.ts'

export interface Model {
  provider: string
  nameFor(role: 'main' | 'executor'): string
  /** `fetch` is what it sends with. */
  languageModel(role: 'main' | 'executor', fetch: typeof globalThis.fetch): LanguageModel
  contextTokens: number
}

export interface Github {
  client: GithubClient
  identity(): Promise<AgentIdentity>
}

export interface Deps {
  db: Database
  readConfiguration: (tx: Database | Tx) => Promise<Configuration>
  /** Hashes of texts that this process stored before: one statement less per request. */
  storedTexts: Set<string>
  /** The program's own texts by name, read from `prompts/` at start. */
  builtIn: Readonly<Record<string, string>>
  readDrift: ReadDrift
  /** Of everything in the prompt configuration that a model can read (spec K5). */
  maxConfigBytes: number
  model: Model
  /** Null: GitHub is off. */
  github: Github | null
  workspaces: Workspaces
  /** This machine's name in task queues. */
  host: string
  ticketBudgetTokens: number
  /** Deployment values that the main Session reads, in order (spec C5). */
  environment: readonly { name: string; value: string }[]
  log: Logger
  now(): Date
}
