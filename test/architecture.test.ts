/** The house as design §2 draws it, read from the imports of every file of the project: arrows point downwards only. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface Import {
  from: string
  /** Erased before the program runs. */
  isType: boolean
}
interface File {
  path: string
  imports: Import[]
  lines: number
  hasDefaultExport: boolean
}

/** What each part of the house may import of the others. The terminal and the processes stand on top, the rules below. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  ledger: ['core'],
  workflows: ['core'],
  channels: ['ledger', 'core'],
  activities: ['channels', 'workflows', 'ledger', 'core'],
  server: ['activities', 'channels', 'workflows', 'ledger', 'core'],
  // its types of addresses and its stage: the program starts it, and it knows nothing of the program
  worker: ['server', 'activities', 'channels', 'workflows', 'ledger', 'core', 'rehearsal'],
  cli: ['worker', 'server', 'activities', 'channels', 'workflows', 'ledger', 'core', 'rehearsal'],
  rehearsal: ['core'],
  // runs before anything is installed
  setup: [],
  bench: ['cli', 'worker', 'server', 'activities', 'channels', 'workflows', 'ledger', 'core', 'rehearsal', 'test'],
}

/** Packages that a part may use at run time, where that says what the part is. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  // values in, values out: no files, no network, no processes, no clock of its own
  core: ['zod', 'marked', 'picomatch', 'yaml', 'node:crypto'],
  workflows: ['@temporalio/workflow', '@temporalio/common'],
  ledger: ['kysely', 'pg', 'node-pg-migrate', 'node:crypto', 'node:url'],
  setup: ['node:'],
}

/** What must not get into the workflow bundle: it is slow there, or not there at all (Temporal forbids it). */
const NOT_IN_WORKFLOWS = /^(zod|node:|@temporalio\/(client|worker|activity|envconfig))/

/** Above 400 lines, each with its reason. */
const LONG: Readonly<Record<string, string>> = {
  'channels/github/normalise.test.ts': 'one table of events, read as a whole',
  'ledger/steps.ts': 'the two sides of one step, whose columns must be read side by side',
  'ledger/story.ts': 'one story in one query a chapter',
}
const LONGEST = 400

/** Found by their runners only in this form. */
const DEFAULT_EXPORTS: readonly string[] = ['vitest.config.ts', 'test/global-setup.ts']

const isTest = (path: string): boolean => /(\.test|\.test-help)\.ts$|(^|\/)fixture\.ts$/.test(path) || path.startsWith('test/')
const partOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '')

/** Every arrow that runs up, every file that breaks the form; by file, in sentences. */
function faultsOf(files: readonly File[]): string[] {
  const known = new Map(files.map((file) => [file.path, file]))
  return [
    ...files.flatMap((file) => [...arrows(file), ...packages(file), ...form(file)]),
    ...files.filter(({ path }) => partOf(path) === 'workflows' && !isTest(path)).flatMap((file) => bundled(file, known)),
  ]
}

function arrows({ path, imports }: File): string[] {
  if (isTest(path)) return []
  const part = partOf(path)
  return imports.flatMap(({ from }) => {
    if (!from.startsWith('.')) return []
    const target = targetOf(path, from)
    if (isTest(target) && part !== 'bench') return [`${path} imports ${target}: test help is for tests`]
    const other = partOf(target)
    if (other === part || MAY_IMPORT[part]?.includes(other)) return []
    return [`${path} imports ${target}: ${part || 'the root'} may import ${MAY_IMPORT[part]?.join(', ') || 'nothing of the project'}`]
  })
}

function packages({ path, imports }: File): string[] {
  const allowed = PACKAGES[partOf(path)]
  if (!allowed || isTest(path)) return []
  return imports
    .filter(
      ({ from, isType }) =>
        !from.startsWith('.') && !isType && !allowed.some((name) => from === name || (name.endsWith(':') && from.startsWith(name))),
    )
    .map(({ from }) => `${path} imports ${from}: ${partOf(path)} may use ${allowed.join(', ')}`)
}

function form({ path, lines, hasDefaultExport }: File): string[] {
  return [
    ...(lines > LONGEST && !LONG[path] ? [`${path} has ${lines} lines: ${LONGEST} are enough, or say why in LONG`] : []),
    ...(hasDefaultExport && !DEFAULT_EXPORTS.includes(path) ? [`${path} has a default export: name it`] : []),
  ]
}

/** Follows the imports that stay at run time. */
function bundled(start: File, known: ReadonlyMap<string, File>): string[] {
  const faults: string[] = []
  const seen = new Set<string>()
  const follow = (file: File, way: readonly string[]) => {
    if (seen.has(file.path)) return
    seen.add(file.path)
    for (const { from } of file.imports.filter(({ isType }) => !isType)) {
      if (NOT_IN_WORKFLOWS.test(from)) faults.push(`${[...way, file.path].join(' → ')} imports ${from}: it would be in the workflow bundle`)
      const next = from.startsWith('.') ? known.get(targetOf(file.path, from)) : undefined
      if (next) follow(next, [...way, file.path])
    }
  }
  follow(start, [])
  return faults
}

const targetOf = (path: string, from: string): string => normalize(join(dirname(path), from))

const STATEMENT = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm
const DYNAMIC = /\bimport\('([^']+)'\)/g

function importsIn(text: string): Import[] {
  return [
    ...text.matchAll(STATEMENT).map(([, type, from]) => ({ from: from!, isType: type !== undefined })),
    ...text.matchAll(DYNAMIC).map(([, from]) => ({ from: from!, isType: false })),
  ]
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SKIPPED = new Set(['node_modules', '.git', '.switchyard', 'reports', 'dist', 'histories', 'repository'])

function pathsBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? pathsBelow(path) : entry.isFile() ? [path] : []
  })
}

const texts = new Map(
  pathsBelow('')
    .filter((path) => ['.ts', '.mjs', '.md', '.sql', '.json', '.yaml', '.yml'].includes(extname(path)) && path !== 'package-lock.json')
    .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const),
)
const files: File[] = [...texts]
  .filter(([path]) => /\.(ts|mjs)$/.test(path))
  .map(([path, text]) => ({
    path,
    imports: importsIn(text),
    lines: text.trimEnd().split('\n').length,
    hasDefaultExport: /^export default\b/m.test(text),
  }))

test('no arrow of the house runs up, and every file has its form', () => {
  expect(files.length).toBeGreaterThan(200)
  expect(faultsOf(files)).toEqual([])
})

const file = (path: string, ...imports: (string | Import)[]): File => ({
  path,
  imports: imports.map((each) => (typeof each === 'string' ? { from: each, isType: false } : each)),
  lines: 10,
  hasDefaultExport: false,
})

describe('the check can fail', () => {
  test.each<[string, File[], string | null]>([
    ['core takes nothing of the project', [file('core/a.ts', '../ledger/b.ts')], 'core/a.ts imports ledger/b.ts'],
    ['not even a type', [file('core/a.ts', { from: '../ledger/b.ts', isType: true })], 'core/a.ts imports ledger/b.ts'],
    ['core reads no files', [file('core/a.ts', 'node:fs')], 'core/a.ts imports node:fs'],
    ['core may hash', [file('core/a.ts', 'node:crypto')], null],
    ['the ledger knows no channel', [file('ledger/a.ts', '../channels/b.ts')], 'ledger/a.ts imports channels/b.ts'],
    ['activities know no worker', [file('activities/tools/a.ts', '../../worker/b.ts')], 'activities/tools/a.ts imports worker/b.ts'],
    ['activities know the ledger', [file('activities/tools/a.ts', '../../ledger/b.ts')], null],
    ['workflows know only core', [file('workflows/a.ts', '../ledger/b.ts')], 'workflows/a.ts imports ledger/b.ts'],
    ['the rehearsal knows only core', [file('rehearsal/a.ts', '../channels/b.ts')], 'rehearsal/a.ts imports channels/b.ts'],
    ['the set-up needs nothing installed', [file('setup/a.mjs', 'zod')], 'setup/a.mjs imports zod'],
    ['test help is for tests', [file('ledger/a.ts', './fixture.ts')], 'ledger/a.ts imports ledger/fixture.ts: test help'],
    ['tests may import anything', [file('core/a.test.ts', '../ledger/b.ts')], null],
    [
      'zod reaches the bundle through core',
      [file('workflows/a.ts', '../core/b.ts'), file('core/b.ts', './c.ts'), file('core/c.ts', 'zod')],
      'workflows/a.ts → core/b.ts → core/c.ts imports zod',
    ],
    ['a type does not reach the bundle', [file('workflows/a.ts', { from: '../core/b.ts', isType: true }), file('core/b.ts', 'zod')], null],
    ["Temporal's client is not for workflows", [file('workflows/a.ts', '@temporalio/client')], 'workflows/a.ts imports @temporalio/client'],
    ['a default export', [{ ...file('core/a.ts'), hasDefaultExport: true }], 'core/a.ts has a default export'],
    ['a long file', [{ ...file('core/a.ts'), lines: 401 }], 'core/a.ts has 401 lines'],
  ])('%s', (_, given, fault) => {
    const found = faultsOf(given)
    if (fault === null) expect(found).toEqual([])
    else expect(found.join('\n')).toContain(fault)
  })

  test('imports are read in every form in which they stand', () => {
    const text = [
      `import { a } from './a.ts'`,
      `import type { B } from './b.ts'`,
      `import {\n  type C,\n  c,\n} from './c.ts'`,
      `import './d.ts'`,
      `export { e } from './e.ts'`,
      `export type { F } from './f.ts'`,
      `export * from './g.ts'`,
      `  const h = await import('./h.ts')`,
      `const text = "import { x } from './x.ts'"`,
    ].join('\n')
    expect(importsIn(text).map(({ from, isType }) => (isType ? `type ${from}` : from))).toEqual([
      './a.ts',
      'type ./b.ts',
      './c.ts',
      './d.ts',
      './e.ts',
      'type ./f.ts',
      './g.ts',
      './h.ts',
    ])
  })
})

/** Nobody else's machine has these. */
const MACHINE = new RegExp(['/home/[a-z]', '/Users/[A-Za-z]', '/root/', '[A-Z]:\\\\\\\\Users'].join('|'))
/** By their ends, so that no host is named here either. */
const REGISTRY = /\b(registry|proxy|files)\.[a-z]+(npm|yarn|python|golang)?[a-z]*\.(org|com)\b/

test("no file names a path of somebody's machine or a package registry's host", () => {
  const found = [...texts]
    .filter(([path]) => path !== 'test/architecture.test.ts')
    .flatMap(([path, text]) =>
      text.split('\n').flatMap((line, at) => (MACHINE.test(line) || REGISTRY.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
    )
  expect(found).toEqual([])
})
