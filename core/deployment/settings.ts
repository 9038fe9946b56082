/**
 * The deployment's settings (design §8): environment variables for secrets and addresses, `switchyard.yaml` for what a team's
 * deployment decides otherwise. Parsed once at start; every fault is listed at once, with its name and what was expected.
 */
import { z } from 'zod'
import { closest } from '../prompt/near.ts'

export interface Fault {
  name: string
  message: string
}

const port = (fallback: number) =>
  z
    .string()
    .optional()
    .transform((given, context) => {
      if (given === undefined) return { port: fallback, chosen: false }
      const number = Number(given)
      if (/^\d{1,5}$/.test(given) && number >= 1 && number <= 65_535) return { port: number, chosen: true }
      context.addIssue({ code: 'custom', message: `"${given}" is not a port: a number from 1 to 65535` })
      return z.NEVER
    })

const count = (what: string, fallback: number | null) =>
  z
    .string()
    .optional()
    .transform((given, context) => {
      if (given === undefined) return fallback
      if (/^[1-9]\d{0,14}$/.test(given)) return Number(given)
      context.addIssue({ code: 'custom', message: `"${given}" is not ${what}: a whole number from 1` })
      return z.NEVER
    })

const url = (example: string, ...protocols: string[]) =>
  z
    .string()
    .optional()
    .refine((given) => given === undefined || (URL.canParse(given) && protocols.includes(new URL(given).protocol)), {
      message: `not an address such as ${example}`,
    })

const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: ({ input }) => `"${input}" is not known: ${values.join(', ')}` })

const words = z
  .string()
  .optional()
  .transform((given) => given?.split(/[\s,]+/).filter((word) => word !== '') ?? [])

const pem = z
  .string()
  .optional()
  .refine((given) => given === undefined || given.includes('-----BEGIN'), {
    error: ({ input }) =>
      `not a PEM private key (starts with "${String(input).slice(0, 14)}"): give the key itself, or GITHUB_APP_PRIVATE_KEY_FILE`,
  })

/** Every variable that the program reads. Keep the names: they are a public interface. */
const variables = z.object({
  DATABASE_URL: url('postgres://user@host/switchyard', 'postgres:', 'postgresql:'),
  DATABASE_ADMIN_URL: url('postgres://owner@host/switchyard', 'postgres:', 'postgresql:'),
  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/]+:\d+$/, 'not an address such as temporal.example:7233')
    .optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  SWITCHYARD_HOME: z.string().min(1).optional(),
  SWITCHYARD_CONFIG: z.string().min(1).optional(),
  SWITCHYARD_HOST: z.string().min(1).default('127.0.0.1'),
  SWITCHYARD_PORT: port(8787),
  SWITCHYARD_WEBHOOK_PORT: port(8788),
  SWITCHYARD_PUBLIC_URL: url('https://switchyard.example', 'http:', 'https:'),
  SWITCHYARD_MAX_CONFIG_BYTES: count('a size in bytes', 262_144),
  SWITCHYARD_DAY_BUDGET_TOKENS: count('a number of tokens', null),
  SWITCHYARD_TICKET_BUDGET_TOKENS: count('a number of tokens', 5_000_000),
  GITHUB_API_URL: url('https://api.github.com', 'http:', 'https:'),
  GITHUB_GRAPHQL_URL: url('https://api.github.com/graphql', 'http:', 'https:'),
  GITHUB_GIT_URL: url('https://github.com', 'http:', 'https:'),
  GITHUB_APP_ID: z.string().regex(/^\d+$/, 'not an app id: digits only').optional(),
  GITHUB_APP_PRIVATE_KEY: pem,
  GITHUB_TOKEN: z.string().min(1).optional(),
  GITHUB_WEBHOOK_SECRET: words,
  GITHUB_REPOSITORIES: words.refine((names) => names.every((name) => /^[\w.-]+\/[\w.-]+$/.test(name)), 'not a list of owner/name'),
  MODEL_PROVIDER: oneOf(['openai-compatible', 'deepseek', 'anthropic', 'openai']).optional(),
  MODEL_NAME: z.string().min(1).optional(),
  MODEL_MAIN_NAME: z.string().min(1).optional(),
  MODEL_BASE_URL: url('https://models.example/v1', 'http:', 'https:'),
  MODEL_API_KEY: z.string().min(1).optional(),
  MODEL_CONTEXT_TOKENS: count('a number of tokens', 128_000),
  SANDBOX: oneOf(['bubblewrap', 'off']).optional(),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
})

/** Each may be given as a file's path instead, in `<NAME>_FILE`. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_ADMIN_URL',
  'GITHUB_APP_PRIVATE_KEY',
  'GITHUB_TOKEN',
  'GITHUB_WEBHOOK_SECRET',
  'MODEL_API_KEY',
] as const

const file = z.strictObject({
  sandbox: z.strictObject({ allowedHosts: z.array(z.string().min(1)).default([]) }).prefault({}),
  github: z
    .strictObject({
      /** An outsider who addresses the agent is told once in each Thread that only members can ask. */
      tellOutsiders: z.boolean().default(true),
    })
    .prefault({}),
  personas: z
    .strictObject({
      /** Files that open the prompt of a role in place of the built-in persona, from the project's folder. */
      main: z.string().min(1).optional(),
      executor: z.string().min(1).optional(),
      subagent: z.string().min(1).optional(),
    })
    .prefault({}),
  worker: z
    .strictObject({
      /** A workflow continues as new above this many history events. */
      rollAfter: z.int().min(60).default(1_200),
    })
    .prefault({}),
})

export type Variables = z.output<typeof variables>
export type DeploymentFile = z.output<typeof file>

export interface GithubSettings {
  apiUrl: string
  graphqlUrl: string | null
  gitUrl: string | null
  auth: { kind: 'app'; appId: string; privateKey: string } | { kind: 'token'; token: string }
  webhookSecrets: string[]
  repositories: string[]
}
export interface ModelSettings {
  provider: NonNullable<Variables['MODEL_PROVIDER']>
  name: string
  mainName: string
  baseUrl: string | null
  apiKey: string | null
  contextTokens: number
}

export interface Settings {
  database: { url: string; adminUrl: string } | null
  temporal: { address: string | null; namespace: string }
  home: string | null
  host: string
  panelPort: { port: number; chosen: boolean }
  webhookPort: { port: number; chosen: boolean }
  publicUrl: string | null
  maxConfigBytes: number
  ticketBudgetTokens: number
  github: GithubSettings | null
  model: ModelSettings | null
  /** Null: bubblewrap where it is there; the rehearsal may run without. */
  sandbox: 'bubblewrap' | 'off' | null
  logLevel: Variables['LOG_LEVEL']
  file: DeploymentFile
}

export type ParsedSettings = { settings: Settings } | { faults: Fault[] }

/**
 * `environment` with `<SECRET>_FILE` read already; `document` is the YAML file's content, `{}` without one, and `documentName` what
 * its faults call it.
 */
export function parseSettings(
  environment: Readonly<Record<string, string | undefined>>,
  document: unknown = {},
  documentName = 'switchyard.yaml',
): ParsedSettings {
  const given = Object.fromEntries(
    Object.keys(variables.shape).map((name) => [name, environment[name] === '' ? undefined : environment[name]]),
  )
  const parsed = variables.safeParse(given)
  const single = parsed.success ? [] : parsed.error.issues.map(faultOf)
  const faulty = new Set(single.map(({ name }) => name))
  // every variable may be left out, so what is left without the faulty ones parses
  const sound = parsed.success
    ? parsed.data
    : variables.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name))))
  const parsedFile = file.safeParse(document ?? {})
  const faults = [
    ...single,
    ...contradictions(sound, faulty),
    ...unknownVariables(environment),
    ...(parsedFile.success ? [] : parsedFile.error.issues.flatMap((issue) => documentFaults(issue, documentName))),
  ]
  if (faults.length > 0 || !parsedFile.success) return { faults }
  return { settings: settingsOf(sound, parsedFile.data) }
}

const faultOf = (issue: z.core.$ZodIssue): Fault => ({ name: String(issue.path[0]), message: issue.message })

/** Where the first is set, the second must be too. */
type Need = readonly [set: keyof Variables, needed: keyof Variables, reason?: string]

const UNVERIFIED = 'without it no delivery can be verified'
const NEEDS: readonly Need[] = [
  ['GITHUB_APP_ID', 'GITHUB_APP_PRIVATE_KEY'],
  ['GITHUB_APP_PRIVATE_KEY', 'GITHUB_APP_ID'],
  ['GITHUB_APP_ID', 'GITHUB_WEBHOOK_SECRET', UNVERIFIED],
  ['GITHUB_TOKEN', 'GITHUB_WEBHOOK_SECRET', UNVERIFIED],
  ['MODEL_PROVIDER', 'MODEL_NAME'],
  ['MODEL_NAME', 'MODEL_PROVIDER', 'one of openai-compatible, deepseek, anthropic, openai'],
  ['DATABASE_ADMIN_URL', 'DATABASE_URL'],
]

function needOf(provider: Variables['MODEL_PROVIDER']): Need[] {
  if (provider === undefined) return []
  if (provider === 'openai-compatible') return [['MODEL_PROVIDER', 'MODEL_BASE_URL', `${provider} needs the address of its server`]]
  return [['MODEL_PROVIDER', 'MODEL_API_KEY', `${provider} needs a key`]]
}

/** What is right by itself and wrong together. `given` lacks what is faulty; that is not missing, only not mended yet. */
function contradictions(given: Variables, faulty: ReadonlySet<string>): Fault[] {
  const isSet = (name: keyof Variables) => [given[name] ?? []].flat().length > 0 // a list may be empty
  const missing = [...NEEDS, ...needOf(given.MODEL_PROVIDER)]
    .filter(([set, needed]) => isSet(set) && !isSet(needed) && !faulty.has(needed))
    .map(([set, needed, reason]) => ({ name: needed, message: `missing: ${set} is set${reason ? `; ${reason}` : ''}` }))
  const two = isSet('GITHUB_APP_ID') && isSet('GITHUB_TOKEN')
  return two
    ? [...missing, { name: 'GITHUB_TOKEN', message: 'set beside GITHUB_APP_ID: the agent has one identity; leave one of them out' }]
    : missing
}

/** Names that are the program's own. The rest of `GITHUB_` belongs to others as well: GitHub's CI sets dozens. */
const OWN_PREFIXES = ['SWITCHYARD_', 'MODEL_', 'GITHUB_APP', 'GITHUB_WEBHOOK'] as const
/** Stands in the environment of every shell command that the agent runs, which may well be this program; decides nothing. */
const MARKS: readonly string[] = ['SWITCHYARD_COMMAND']

function unknownVariables(environment: Readonly<Record<string, string | undefined>>): Fault[] {
  const known = [...Object.keys(variables.shape), ...SECRETS.map((name) => `${name}_FILE`)]
  return Object.keys(environment).flatMap((name) => {
    const prefix = OWN_PREFIXES.find((own) => name.startsWith(own))
    if (!prefix || !environment[name] || known.includes(name) || MARKS.includes(name)) return []
    const legal = known.filter((each) => each.startsWith(prefix))
    return [{ name, message: unknown('variable', name, known, legal) }]
  })
}

function documentFaults(issue: z.core.$ZodIssue, documentName: string): Fault[] {
  if (issue.code !== 'unrecognized_keys') return [{ name: `${documentName} ${issue.path.join('.')}`.trim(), message: issue.message }]
  const legal = legalKeys(issue.path)
  return issue.keys.map((key) => ({
    name: `${documentName} ${[...issue.path, key].join('.')}`,
    message: unknown('key', key, legal, legal),
  }))
}

function legalKeys(path: readonly PropertyKey[]): string[] {
  const place = path.reduce<z.core.JSONSchema.BaseSchema>(
    (above, part) => above.properties![String(part)] as z.core.JSONSchema.BaseSchema,
    z.toJSONSchema(file, { io: 'input' }),
  )
  return Object.keys(place.properties!)
}

function unknown(what: 'variable' | 'key', written: string, names: readonly string[], legal: readonly string[]): string {
  const meant = closest(written, names)
  return `no such ${what}${meant === null ? '' : `: did you mean ${meant}?`}; legal: ${legal.join(', ')}`
}

function settingsOf(given: Variables, deployment: DeploymentFile): Settings {
  const auth: GithubSettings['auth'] | null = given.GITHUB_APP_ID
    ? { kind: 'app', appId: given.GITHUB_APP_ID, privateKey: given.GITHUB_APP_PRIVATE_KEY! }
    : given.GITHUB_TOKEN
      ? { kind: 'token', token: given.GITHUB_TOKEN }
      : null
  return {
    database: given.DATABASE_URL ? { url: given.DATABASE_URL, adminUrl: given.DATABASE_ADMIN_URL ?? given.DATABASE_URL } : null,
    temporal: { address: given.TEMPORAL_ADDRESS ?? null, namespace: given.TEMPORAL_NAMESPACE },
    home: given.SWITCHYARD_HOME ?? null,
    host: given.SWITCHYARD_HOST,
    panelPort: given.SWITCHYARD_PORT,
    webhookPort: given.SWITCHYARD_WEBHOOK_PORT,
    publicUrl: given.SWITCHYARD_PUBLIC_URL ?? null,
    maxConfigBytes: given.SWITCHYARD_MAX_CONFIG_BYTES!,
    ticketBudgetTokens: given.SWITCHYARD_TICKET_BUDGET_TOKENS!,
    github: auth && {
      apiUrl: given.GITHUB_API_URL ?? 'https://api.github.com',
      graphqlUrl: given.GITHUB_GRAPHQL_URL ?? null,
      gitUrl: given.GITHUB_GIT_URL ?? null,
      auth,
      webhookSecrets: given.GITHUB_WEBHOOK_SECRET,
      repositories: given.GITHUB_REPOSITORIES,
    },
    model: given.MODEL_PROVIDER
      ? {
          provider: given.MODEL_PROVIDER,
          name: given.MODEL_NAME!,
          mainName: given.MODEL_MAIN_NAME ?? given.MODEL_NAME!,
          baseUrl: given.MODEL_BASE_URL ?? null,
          apiKey: given.MODEL_API_KEY ?? null,
          contextTokens: given.MODEL_CONTEXT_TOKENS!,
        }
      : null,
    sandbox: given.SANDBOX ?? null,
    logLevel: given.LOG_LEVEL,
    file: deployment,
  }
}
