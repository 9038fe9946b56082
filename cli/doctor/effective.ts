/** `switchyard doctor --config`: every setting in effect and where it comes from. A secret is said to be set, never shown. */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse } from 'yaml'
import { SECRETS, type Settings, type Variables } from '../../core/deployment/settings.ts'
import { type Environment, homeFolder, ROOT, readEnvironment } from '../../worker/environment.ts'
import { aligned, type Cell } from '../lines.ts'
import type { Style } from '../live/style.ts'

export interface Effective {
  name: string
  value: string
  source: string
}

export interface Sources {
  /** The process's own variables, and these over those of the `.env` file. */
  own: Environment
  merged: Environment
  /** The content of `switchyard.yaml`, and its name. */
  document: unknown
  documentName: string
}

/** A limit that is read and checked, but no part of the program asks for it yet: the settings do not carry it. */
type Shown = Exclude<keyof Variables, 'SWITCHYARD_DAY_BUDGET_TOKENS'>

/** What each variable came to. Null: not set, and there is no default. */
const VALUES: Readonly<Record<Shown, (settings: Settings) => string | number | null>> = {
  DATABASE_URL: ({ database }) => database?.url ?? 'embedded',
  DATABASE_ADMIN_URL: ({ database }) => database?.adminUrl ?? 'embedded',
  TEMPORAL_ADDRESS: ({ temporal }) => temporal.address ?? 'embedded, unless TEMPORAL_PROFILE names one',
  TEMPORAL_NAMESPACE: ({ temporal }) => temporal.namespace,
  SWITCHYARD_HOME: ({ home }) => homeFolder(home),
  SWITCHYARD_CONFIG: () => 'switchyard.yaml',
  SWITCHYARD_HOST: ({ host }) => host,
  SWITCHYARD_PORT: ({ panelPort }) => panelPort.port,
  SWITCHYARD_WEBHOOK_PORT: ({ webhookPort }) => webhookPort.port,
  SWITCHYARD_PUBLIC_URL: ({ publicUrl }) => publicUrl ?? 'the local address',
  SWITCHYARD_MAX_CONFIG_BYTES: ({ maxConfigBytes }) => maxConfigBytes,
  SWITCHYARD_TICKET_BUDGET_TOKENS: ({ ticketBudgetTokens }) => ticketBudgetTokens,
  GITHUB_API_URL: ({ github }) => github?.apiUrl ?? null,
  GITHUB_GRAPHQL_URL: ({ github }) => github && (github.graphqlUrl ?? 'follows from GITHUB_API_URL'),
  GITHUB_GIT_URL: ({ github }) => github && (github.gitUrl ?? 'follows from GITHUB_API_URL'),
  GITHUB_APP_ID: ({ github }) => (github?.auth.kind === 'app' ? github.auth.appId : null),
  GITHUB_APP_PRIVATE_KEY: ({ github }) => (github?.auth.kind === 'app' ? github.auth.privateKey : null),
  GITHUB_TOKEN: ({ github }) => (github?.auth.kind === 'token' ? github.auth.token : null),
  GITHUB_WEBHOOK_SECRET: ({ github }) => github?.webhookSecrets.join(' ') || null,
  GITHUB_REPOSITORIES: ({ github }) => github && (github.repositories.join(', ') || 'all that the identity sees'),
  MODEL_PROVIDER: ({ model }) => model?.provider ?? 'the scripted model of the rehearsal',
  MODEL_NAME: ({ model }) => model?.name ?? null,
  MODEL_MAIN_NAME: ({ model }) => model?.mainName ?? null,
  MODEL_BASE_URL: ({ model }) => model && (model.baseUrl ?? "the provider's own"),
  MODEL_API_KEY: ({ model }) => model?.apiKey ?? null,
  MODEL_CONTEXT_TOKENS: ({ model }) => model?.contextTokens ?? null,
  SANDBOX: ({ sandbox }) => sandbox ?? 'bubblewrap (the rehearsal also without)',
  LOG_LEVEL: ({ logLevel }) => logLevel,
}

const NOT_SET = 'not set'
const SECRET: ReadonlySet<string> = new Set(SECRETS)

export function effective(settings: Settings, sources: Sources): Effective[] {
  const variables = Object.entries(VALUES).map(([name, of]) => {
    const source = sourceOf(name, sources)
    const value = name === 'SWITCHYARD_CONFIG' ? sources.documentName : of(settings)
    return { name, value: shownValue(name, value, source), source }
  })
  const keys = flattened(settings.file).map(({ path, value }) => ({
    name: path.join('.'),
    value: JSON.stringify(value),
    source: has(sources.document, path) ? sources.documentName : 'default',
  }))
  return [...variables, ...keys]
}

export function renderEffective(found: readonly Effective[], style: Style): string {
  return aligned(
    found.map(({ name, value, source }): Cell[] => [
      { text: name },
      { text: source, tone: 'faint' },
      { text: value, tone: value === NOT_SET ? 'faint' : 'plain' },
    ]),
    style,
    0,
  ).join('\n')
}

/** As worker/environment.ts reads them. */
export function readSources(own: Environment = process.env, folder = ROOT): Sources {
  const merged = readEnvironment(own, folder)
  const documentName = merged.SWITCHYARD_CONFIG || 'switchyard.yaml'
  const path = resolve(folder, documentName)
  return { own, merged, documentName, document: existsSync(path) ? parse(readFileSync(path, 'utf8')) : {} }
}

/** An empty variable hides the `.env` file's, and counts as not set. */
function sourceOf(name: string, { own, merged }: Sources): string {
  if (!merged[name]) return merged[`${name}_FILE`] ? `${name}_FILE` : 'default'
  return own[name] === undefined ? '.env' : 'environment'
}

function shownValue(name: string, value: string | number | null, source: string): string {
  if (value === null) return source === 'default' ? NOT_SET : 'set, and not in use'
  return SECRET.has(name) && value !== 'embedded' ? 'set' : withoutCredentials(String(value))
}

/** An address may carry a user, a password or a key. */
function withoutCredentials(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return text
  const url = new URL(text)
  if (url.username === '' && url.password === '' && url.search === '') return text
  return `${url.protocol}//${url.username || url.password ? '…@' : ''}${url.host}${url.pathname}${url.search ? '?…' : ''}`
}

function flattened(value: unknown, path: string[] = []): { path: string[]; value: unknown }[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }]
  return Object.entries(value).flatMap(([key, inner]) => flattened(inner, [...path, key]))
}

function has(document: unknown, path: readonly string[]): boolean {
  let inner = document
  for (const key of path) {
    if (typeof inner !== 'object' || inner === null || !(key in inner)) return false
    inner = (inner as Record<string, unknown>)[key]
  }
  return true
}
