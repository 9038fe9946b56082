/** How a path is found among templates as the OpenAPI description writes them: the routes of the server and the operations of the contract. */

export interface Template {
  path: string
  pattern: RegExp
  weight: number
}

/** Parameters that may hold slashes: refs, branches, paths and comparisons. */
const LONG = ['ref', 'branch', 'path', 'basehead']

export function compileTemplate(path: string): Template {
  const source = path
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace(/\{([\w-]+)\}/g, (_, name: string) => `(?<${name.replaceAll('-', '_')}>${LONG.includes(name) ? '.*' : '[^/]+'})`)
  return { path, pattern: new RegExp(`^${source}$`), weight: path.replace(/\{[\w-]+\}/g, '').length }
}

/** The most literal template wins: `/issues/comments` before `/issues/{issue_number}`. */
export function bestMatch<T extends Template>(templates: readonly T[], path: string): T | undefined {
  return templates.filter(({ pattern }) => pattern.test(path)).sort((a, b) => b.weight - a.weight)[0]
}

/** What stands in the place of each parameter; a part that is not well encoded is taken as it is written. */
export function parametersIn({ pattern }: Template, path: string): Record<string, string> {
  return Object.fromEntries(Object.entries(pattern.exec(path)?.groups ?? {}).map(([name, value]) => [name, decode(value)]))
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (error instanceof URIError) return part
    throw error
  }
}
