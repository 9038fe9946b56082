/**
 * `switchyard request <id>`: what one request sent (spec C8), whatever became of it and of the texts since. `--wire` prints the HTTP
 * body and nothing else, so that it can be piped; that it is the one that went out is proven by its hash.
 */
import { hash } from 'node:crypto'
import { wireBody } from '../activities/model/wire.ts'
import type { ModelSettings } from '../core/deployment/settings.ts'
import type { Message } from '../core/prompt/conversation.ts'
import { type PastRequest, pastRequest } from '../ledger/past-requests.ts'
import { withLedger } from './ledger.ts'
import { aligned, clockOf, counted, dayOf, shownLines } from './lines.ts'
import { harmless, painted, type Style } from './live/style.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from './terminal.ts'
import { saidLines } from './words.ts'

export async function request(written: string, { json = false, wire = false }: { json?: boolean; wire?: boolean }): Promise<ExitCode> {
  const id = /^#?([1-9]\d{0,8})$/.exec(written.trim())?.[1]
  if (id === undefined) {
    complain(`"${written}" is no request: give its number, such as 12. A Session's requests: switchyard requests t7-1`)
    return 2
  }
  if (json && wire) {
    complain('--wire prints the body alone and --json everything about the request: give one of them')
    return 2
  }
  return withLedger(async (db) => {
    const past = await pastRequest(db, Number(id))
    if (!past) {
      complain(`there is no request ${id}. A Session's requests: switchyard requests <session>`)
      return 1
    }
    if (wire) return sayWire(past)
    if (json) sayJson(past)
    else say(renderRequest(past, outputStyle()))
    return 0
  })
}

async function sayWire(past: PastRequest): Promise<ExitCode> {
  const body = await wireBody({ ...past, provider: past.provider as ModelSettings['provider'] })
  process.stdout.write(body)
  if (past.wireSha === null || past.wireSha === hash('sha256', body, 'hex')) return 0
  complain(
    past.removed.length > 0
      ? `what was sent is no longer known to the byte: ${counted(past.removed.length, 'text')} of it ${past.removed.length === 1 ? 'was' : 'were'} removed from the record`
      : `this version writes the same prompt, tools and messages as other bytes than the one that sent them (sha256 ${past.wireSha})`,
  )
  return 1
}

export function renderRequest(past: PastRequest, style: Style): string {
  const { request, system, sections, tools, messages } = past
  const facts = factsOf(past).map(([name, text]) => [{ text: name, tone: 'faint' as const }, { text }])
  const head = (text: string) => ['', painted(`── ${text}`, 'faint', style)]
  return [
    painted(`request ${request}`, 'strong', style),
    ...aligned(facts, style),
    ...head(`system prompt · ${counted(Buffer.byteLength(system), 'byte')} · ${sections.map(({ name }) => harmless(name)).join(', ')}`),
    ...shownLines(system),
    ...head(`tools · ${tools.length}`),
    ...tools.flatMap(({ name, description, schema }) => [`${name}: ${description}`, JSON.stringify(schema)].flatMap(shownLines)),
    ...messages.flatMap((message, index) => [...head(`message ${index + 1} · ${speakerOf(message)}`), ...saidLines(message)]),
  ].join('\n')
}

function factsOf(past: PastRequest): [string, string][] {
  const { session, step, attempt, opened, ended, model, provider, revision, policyVersion, kept, removed } = past
  const seconds = ended === null ? '' : `, ${((ended.getTime() - opened.getTime()) / 1000).toFixed(1)} s`
  return [
    ['session', `${session}, step ${step}, attempt ${attempt}`],
    ['sent', `${dayOf(opened)} ${clockOf(opened)}${seconds}`],
    ['model', `${model} (${provider})`],
    ['revision', `${revision}, Policy version ${policyVersion}`],
    ['outcome', outcomeOf(past)],
    ['tokens', tokensText(past)],
    ['kept', kept === null ? 'nothing came before it in its Session' : keptText(kept)],
    ...removed.map((sha): [string, string] => ['removed', `sha256 ${sha}: a purge took these words from the record`]),
  ]
}

export function outcomeOf({ outcome, error, finishReason }: Pick<PastRequest, 'outcome' | 'error' | 'finishReason'>): string {
  if (outcome === null) return 'open: not answered yet, or the process ended'
  if (error !== null) return `${outcome}: ${error}`
  return finishReason === null ? outcome : `${outcome} (${finishReason})`
}

function tokensText({ tokens: { input, cacheHit, cacheMiss, output } }: PastRequest): string {
  if (input === null && output === null) return 'the provider reported none'
  const cache =
    cacheHit === null || cacheMiss === null ? 'cache not reported' : `cache hit ${grouped(cacheHit)}, miss ${grouped(cacheMiss)}`
  return `${grouped(input)} in (${cache}), ${grouped(output)} out`
}

export const keptText = ({ bytes, of, differs }: NonNullable<PastRequest['kept']>): string =>
  differs === null
    ? `all ${counted(of, 'byte')} of the request before it`
    : `${grouped(bytes)} of ${counted(of, 'byte')} of the request before it; first difference: ${differs}`

export const grouped = (count: number | null): string => count?.toLocaleString('en-US') ?? 'unknown'

const speakerOf = (message: Message): string =>
  message.role === 'tool' ? `result of ${harmless(message.name)} · ${harmless(message.call)}` : message.role
