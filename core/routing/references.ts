/**
 * What a text points at in its author's own voice: issues and pull requests, commits, branches, Tickets and addresses. Facts of
 * the text only; whether a reference belongs to a Ticket is compared elsewhere (spec G5).
 */
import { spoken } from './spoken.ts'
import type { Reference } from './trigger.ts'

export interface ReferenceContext {
  /** What `#7` means: `owner/name` of the text's own repository; null where there is none, e.g. in a chat. */
  repository: string | null
  /** Whose addresses are read as issues and commits; any other address is only an address. */
  host?: string
}

/** In the order of the text, each once. */
export function findReferences(text: string, { repository, host = 'github.com' }: ReferenceContext): Reference[] {
  const found = new Map<string, Reference>()
  for (const { groups = {} } of spoken(text).matchAll(PATTERN)) {
    for (const reference of read(groups, repository, host)) found.set(JSON.stringify(reference), reference)
  }
  return [...found.values()]
}

const NAME = '[\\w.-]+'
const PATTERN = new RegExp(
  [
    '(?<url>https?://[^\\s<>"`\\[\\]\\u3000-\\u303F\\uFF00-\\uFF60]+)',
    `(?<![\\w/.@#&-])(?:(?<repository>${NAME}/${NAME}))?(?:#|(?<!/)\\bGH-)(?<number>[1-9]\\d{0,9})(?![\\w-])`,
    `(?<![\\w/.@-])(?<at>${NAME}/${NAME})@(?<atSha>[0-9a-f]{7,40})(?!\\w)`,
    '(?<![\\w/.@-])(?<sha>[0-9a-f]{40})(?!\\w)',
    '(?<![\\w-])T-(?<ticket>[1-9]\\d{0,9})(?![\\w-])',
  ].join('|'),
  'g',
)

function read(groups: Record<string, string | undefined>, repository: string | null, host: string): Reference[] {
  if (groups.url) return readUrl(groups.url, host)
  if (groups.number) return [{ kind: 'issue', repository: groups.repository ?? repository, number: Number(groups.number) }]
  if (groups.at && groups.atSha) return [{ kind: 'commit', repository: groups.at, sha: groups.atSha }]
  if (groups.sha) return [{ kind: 'commit', repository, sha: groups.sha }]
  if (groups.ticket) return [{ kind: 'ticket', number: Number(groups.ticket) }]
  return []
}

const PAGE = new RegExp(
  `^/(?<repository>${NAME}/${NAME})/(?:(?:issues|pull)/(?<number>[1-9]\\d{0,9})(?:/(?:commits/(?<inPull>[0-9a-f]{7,40}))?|/?$)|commit/(?<sha>[0-9a-f]{7,40})|tree/(?<branch>.+))`,
)

/** The address itself always counts (a receipt is found by it), and with it what it leads to. */
function readUrl(written: string, host: string): Reference[] {
  const url = trimmed(written)
  if (!URL.canParse(url)) return []
  const address = new URL(url)
  const page = address.host.toLowerCase() === host.toLowerCase() ? PAGE.exec(address.pathname)?.groups : undefined
  const references: Reference[] = [{ kind: 'url', url }]
  if (!page?.repository) return references
  if (page.number) references.push({ kind: 'issue', repository: page.repository, number: Number(page.number) })
  const sha = page.sha ?? page.inPull
  if (sha) references.push({ kind: 'commit', repository: page.repository, sha })
  if (page.branch) references.push({ kind: 'branch', repository: page.repository, name: unescaped(page.branch) })
  return references
}

/** Without the sentence's punctuation, and without a bracket that was opened before the address. */
function trimmed(url: string): string {
  const stray = url.includes('(') ? /[.,;:!?'*_~}]/ : /[.,;:!?'*_~})]/
  let end = url.length
  while (end > 0 && stray.test(url.charAt(end - 1))) end--
  return url.slice(0, end)
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A stray percent sign: what was written is all there is to compare.
    return path
  }
}
