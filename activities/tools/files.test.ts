import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agentsMdFor } from '../workspace/agents-md.ts'
import { createSandbox, type Sandbox } from '../workspace/sandbox.ts'
import { edit, replace } from './edit.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { read } from './read.ts'
import { shell } from './shell.ts'
import { todoWrite } from './todo-write.ts'
import { write } from './write.ts'

const confined = createSandbox({ mode: 'bubblewrap', allowedHosts: [] })
const sandbox: Sandbox = (await confined.available()).ok ? confined : createSandbox({ mode: 'off', allowedHosts: [] })
const { signal } = new AbortController()

let outer: string
let folder: string

beforeEach(() => {
  outer = realpathSync(mkdtempSync(join(tmpdir(), 'switchyard-tools-')))
  folder = join(outer, 'workspaces', 't-1', 'shop')
  mkdirSync(folder, { recursive: true })
  put('src/cart.ts', 'export const a = 1\nexport const b = 2\n')
  writeFileSync(join(outer, 'secret'), 'of the host')
})
afterEach(() => rmSync(outer, { recursive: true, force: true }))

function put(path: string, content: string | Buffer) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}
const content = (path: string) => readFileSync(join(folder, path), 'utf8')
const given = <Input>(input: Input) => ({ folder, sandbox, signal, input })
const text = (answer: { text: string } | { refused: string }) => ('text' in answer ? answer.text : `refused: ${answer.refused}`)

describe('[H10] no path leads out', () => {
  beforeEach(() => {
    symlinkSync(outer, join(folder, 'out'))
    symlinkSync(join(outer, 'secret'), join(folder, 'secret-link'))
    symlinkSync(join(outer, 'fresh'), join(folder, 'dangling'))
    symlinkSync('src', join(folder, 'inner'))
    symlinkSync('src/cart.ts', join(folder, 'cart-link'))
    mkdirSync(join(folder, '.git', 'hooks'), { recursive: true })
    writeFileSync(join(folder, '.git', 'config'), '[core]\n')
    symlinkSync('.git/hooks', join(folder, 'hooks'))
  })

  test.each(['../../../secret', '/etc/passwd', 'src/../../../../secret', 'out/secret', 'secret-link', 'out', 'a\0b', ''])(
    '%j is neither read, written nor edited',
    async (path) => {
      for (const answer of [
        await read(given({ path })),
        await write(given({ path, content: 'mine' })),
        await edit(given({ path, old: 'of', new: 'xx' })),
      ])
        expect(answer).toEqual({ refused: expect.stringMatching(/leads out of the repository|NUL character|is a folder/) })
      expect(readFileSync(join(outer, 'secret'), 'utf8')).toBe('of the host')
    },
  )

  test('a link to nothing outside makes no file there', async () => {
    expect(await write(given({ path: 'dangling', content: 'x' }))).toHaveProperty('refused')
    expect(await write(given({ path: 'out/deep/er/file', content: 'x' }))).toHaveProperty('refused')
    expect(existsSync(join(outer, 'fresh'))).toBe(false)
    expect(existsSync(join(outer, 'deep'))).toBe(false)
  })

  test('links that stay inside are followed', async () => {
    expect(text(await read(given({ path: 'inner/cart.ts', limit: 1 })))).toContain('1→export const a = 1')
    expect(text(await edit(given({ path: 'cart-link', old: 'a = 1', new: 'a = 3' })))).toContain('line 1')
    expect(content('src/cart.ts')).toContain('a = 3')
    expect(text(await read(given({ path: join(folder, 'src/cart.ts'), limit: 1 })))).toContain('a = 3')
  })

  test.each(['.git/config', '.GIT/config', '.git/hooks/post-commit', 'hooks/post-commit', 'sub/.git/config'])(
    '%s is not written by hand',
    async (path) => {
      expect(await write(given({ path, content: 'evil' }))).toEqual({ refused: expect.stringContaining("git's own files") })
      expect(content('.git/config')).toBe('[core]\n')
      expect(existsSync(join(folder, '.git/hooks/post-commit'))).toBe(false)
    },
  )

  test('glob and grep see nothing outside either', async () => {
    expect(text(await grep(given({ pattern: 'of the host' })))).toContain('no line matches')
    expect(text(await grep(given({ pattern: 'of the host', path: '../../..' })))).toContain('leads out')
    expect(text(await glob(given({ pattern: '**/secret' })))).toContain('no file matches')
    expect(text(await glob(given({ pattern: '../**' })))).toContain('relative to the folder')
    if (sandbox.mode === 'bubblewrap') expect(text(await grep(given({ pattern: 'of the host', path: 'out' })))).toMatch(/refused|no line/)
  })
})

describe('read', () => {
  test('numbers lines, starts and stops where asked, and says how to go on', async () => {
    put('long.txt', Array.from({ length: 3_000 }, (_, at) => `line ${at + 1}`).join('\r\n'))
    expect(text(await read(given({ path: 'src/cart.ts' })))).toBe(
      '     1→export const a = 1\n     2→export const b = 2\n[end of src/cart.ts: 2 lines]',
    )
    expect(text(await read(given({ path: 'long.txt', offset: 2_999, limit: 5 })))).toBe(
      '  2999→line 2999\n  3000→line 3000\n[end of long.txt: 3000 lines]',
    )
    expect(text(await read(given({ path: 'long.txt', offset: 2, limit: 1 })))).toBe(
      '     2→line 2\n[long.txt goes on after line 2: read on with offset 3]',
    )
    expect(text(await read(given({ path: 'long.txt' })))).toContain('read on with offset 2001')
    expect(await read(given({ path: 'long.txt', offset: 3_001 }))).toEqual({
      refused: 'long.txt has 3000 lines; offset 3001 is behind its end',
    })
  })

  test('[F334] is bounded in lines and in length of a line, and names what is left out', async () => {
    put('wide.txt', `${'修'.repeat(50_000)}\nend\n`)
    const wide = text(await read(given({ path: 'wide.txt' })))
    expect(wide).toContain('[line 1 has 150000 bytes, the first 3999 are shown')
    expect(wide).not.toContain('\\x')
    expect(wide).toContain('     2→end')
    put('big.txt', 'x'.repeat(999).concat('\n').repeat(10_000))
    const big = text(await read(given({ path: 'big.txt' })))
    expect(big.length).toBeLessThan(51_000)
    expect(big).toMatch(/goes on after line (\d+): read on with offset/)
  })

  test('[F332] a binary file is said, not shown; odd bytes in a text are escapes; an empty file is said', async () => {
    put('x.bin', Buffer.from([1, 0, 2]))
    put('latin.txt', Buffer.from([0x66, 0xfc, 0x72, 10]))
    put('empty', '')
    expect(text(await read(given({ path: 'x.bin' })))).toContain('is a binary file of 3 bytes')
    expect(text(await read(given({ path: 'latin.txt' })))).toContain('1→f\\xfcr')
    expect(text(await read(given({ path: 'empty' })))).toBe('empty is empty')
  })

  test('a folder, a pipe and a missing file are refused with what helps', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect(text(await read(given({ path: 'src' })))).toBe('refused: src is a folder: use glob to list it')
    expect(text(await read(given({ path: 'pipe' })))).toBe('refused: pipe is no regular file')
    expect(text(await read(given({ path: 'src/Cart.tsx' })))).toBe('refused: src/Cart.tsx does not exist. In the same folder: cart.ts.')
    expect(text(await read(given({ path: 'src/cart.ts/x' })))).toContain('does not exist')
    expect(text(await read(given({ path: 'x'.repeat(300) })))).toContain('too long')
  })
})

describe('write', () => {
  test('makes folders, replaces whole files, and says which', async () => {
    expect(text(await write(given({ path: 'a/b/c.txt', content: 'one\ntwo\n' })))).toBe('a/b/c.txt is new: 2 lines, 8 bytes')
    expect(text(await write(given({ path: 'a/b/c.txt', content: '修' })))).toBe('a/b/c.txt is replaced: 1 lines, 3 bytes (before: 8 bytes)')
    expect(content('a/b/c.txt')).toBe('修')
    expect(text(await write(given({ path: 'src', content: 'x' })))).toContain('is a folder')
    expect(text(await write(given({ path: 'src/cart.ts/x', content: 'x' })))).toContain('does not exist')
    expect(text(await write(given({ path: 'bad', content: '\ud800' })))).toContain('ill-formed')
    expect(existsSync(join(folder, 'bad'))).toBe(false)
  })
})

describe('edit', () => {
  test('replaces what is found once, text as it is, and shrinks the file', async () => {
    expect(text(await edit(given({ path: 'src/cart.ts', old: 'const a = 1\nexport', new: '$& $1 修' })))).toBe(
      'src/cart.ts is changed: line 1',
    )
    expect(content('src/cart.ts')).toBe('export $& $1 修 const b = 2\n')
    await edit(given({ path: 'src/cart.ts', old: 'export $& $1 修 const b = 2\n', new: '' }))
    expect(content('src/cart.ts')).toBe('')
  })

  test.each([
    ['found twice', 'a\nb\na\n', 'a', /found 2 times, in lines 1, 3.*all: true/],
    ['other indentation', 'if (x) {\n\tgo()\n}\n', 'if (x) {\n  go()\n}', /Lines 1 to 3 differ only in white space[\s\S]*\tgo\(\)/],
    ['only the first line is right', 'one\ntwo\n', 'one\nthree', /first line stands in line 1, but what follows differs/],
    ['CR LF', 'one\r\ntwo\r\n', 'one\ntwo', /ends its lines with CR LF/],
    ['nothing like it', 'one\n', 'zzz', /No line of the file is like/],
  ])('says why nothing was changed: %s', (_, whole, old, why) => {
    expect(replace(whole, { path: 'f', old, new: 'x' }, 'f')).toEqual({ refused: expect.stringMatching(why) })
  })

  test('replaces every match if that is said', () => {
    expect(replace('a\nb\na\n', { path: 'f', old: 'a', new: 'aa', all: true }, 'f')).toEqual({
      content: 'aa\nb\naa\n',
      said: 'f is changed: 2 places, lines 1, 3',
    })
  })

  test('does not touch what it cannot hold as text, nor do nothing in silence', async () => {
    put('latin.txt', Buffer.from([0x66, 0xfc, 0x72, 10]))
    expect(text(await edit(given({ path: 'latin.txt', old: 'f', new: 'g' })))).toContain('is not UTF-8')
    expect(text(await edit(given({ path: 'src/cart.ts', old: '', new: 'g' })))).toContain('old is empty')
    expect(text(await edit(given({ path: 'src/cart.ts', old: 'a', new: 'a' })))).toContain('nothing would change')
    expect(text(await edit(given({ path: 'none.ts', old: 'a', new: 'b' })))).toContain('use write to make it')
  })
})

describe('glob and grep', () => {
  beforeEach(() => {
    execFileSync('git', ['init', '-q'], { cwd: folder })
    put('.gitignore', 'dist\n')
    put('dist/cart.js', 'a = 1')
    put('src/修复.ts', 'needle here\n')
    put('.github/ci.yml', 'needle: yes\n')
  })

  test("glob lists by pattern, hidden files too, git's own never, ignored ones only where nothing else matches", async () => {
    expect(text(await glob(given({ pattern: '**/*.ts' })))).toBe('src/cart.ts\nsrc/修复.ts')
    expect(text(await glob(given({ pattern: '*.ts', path: 'src' })))).toBe('cart.ts\n修复.ts')
    expect(text(await glob(given({ pattern: '**/*.{yml,json}' })))).toBe('.github/ci.yml')
    expect(text(await glob(given({ pattern: '**/*cart*' })))).toMatch(/^(?:dist\/cart\.js\n)?src\/cart\.ts$/)
    expect(text(await glob(given({ pattern: 'dist/*' })))).toMatch(/^dist\/cart\.js/)
    expect(text(await glob(given({ pattern: '**/config' })))).toBe('no file matches **/config below .')
    expect(text(await glob(given({ pattern: '*', path: 'gone' })))).toContain('refused')
  })

  test('[F334] a long list is bounded and says how much is left out', async () => {
    for (let at = 0; at < 700; at++) put(`many/${'x'.repeat(100)}-${at}`, '')
    expect(text(await glob(given({ pattern: 'many/*' })))).toMatch(/\[\d+ more of 700 files are left out/)
  })

  test('grep finds lines with file and number, in all, in one folder, in some files, with context', async () => {
    expect(text(await grep(given({ pattern: 'needle' })))).toBe('.github/ci.yml:1:needle: yes\nsrc/修复.ts:1:needle here\n')
    expect(text(await grep(given({ pattern: 'b = \\d', path: 'src', context: 1 })))).toBe(
      'src/cart.ts-1-export const a = 1\nsrc/cart.ts:2:export const b = 2\n',
    )
    expect(text(await grep(given({ pattern: 'needle', glob: '*.yml' })))).toBe('.github/ci.yml:1:needle: yes\n')
    expect(text(await grep(given({ pattern: '--version' })))).toContain('no line matches --version')
    expect(text(await grep(given({ pattern: '(' })))).toContain('refused: the search failed')
    expect(text(await grep(given({ pattern: 'x', path: 'gone' })))).toContain('refused')
  })

  test('[F334] many matches are bounded, and the whole list can be read', async () => {
    put('many.txt', 'needle needle needle needle\n'.repeat(5_000))
    const found = text(await grep(given({ pattern: 'needle' })))
    expect(found.length).toBeLessThan(50_000)
    const file = /is in (\S+\.txt)\]/.exec(found)![1]!
    expect(text(await read(given({ path: file, limit: 1 })))).toContain('1→')
  })
})

describe('shell', () => {
  test('gives the exit code and the output, or says that there is none', async () => {
    expect(text(await shell(given({ command: 'cat src/cart.ts | wc -l; exit 3' })))).toBe('exit 3\n2')
    expect(text(await shell(given({ command: 'true' })))).toBe('exit 0\n(no output)')
    expect(text(await shell(given({ command: 'kill -9 $$' })))).toMatch(/^(?:ended by SIGKILL|exit 137)\n/)
  })

  test('[F334] the whole of a long output can be opened with read', async () => {
    const said = text(await shell(given({ command: 'seq 1 100000' })))
    const file = /with the read tool: (.*)\]$/.exec(said)![1]!
    expect(text(await read(given({ path: file, offset: 50_000, limit: 1 })))).toContain(' 50000→50000')
    expect(text(await write(given({ path: file, content: 'forged' })))).toContain('leads out')
  })

  test('[M4] a command that was cut off says so, one that takes too long too', async () => {
    const abort = new AbortController()
    const cut = shell({ ...given({ command: 'echo ready; sleep 1000' }), signal: abort.signal, onOutput: () => abort.abort() })
    expect(text(await cut)).toMatch(/^interrupted: .*\nready$/)
    expect(text(await shell(given({ command: 'sleep 1000', timeoutSeconds: 0.2 })))).toMatch(/^stopped: it ran longer than 0.2 seconds/)
  })

  test.each([
    [{ command: '  ' }, 'is empty'],
    [{ command: 'a\0b' }, 'NUL'],
    [{ command: 'x'.repeat(130_000) }, 'write the text into a file'],
    [{ command: 'true', timeoutSeconds: 1_801 }, 'from 1 to 1800'],
    [{ command: 'true', timeoutSeconds: Number.NaN }, 'from 1 to 1800'],
  ])('refuses %j', async (input, why) => {
    expect(await shell(given(input))).toEqual({ refused: expect.stringContaining(why) })
  })
})

test('todo_write shows the list as it stands', async () => {
  const items = [
    { content: 'reproduce', status: 'completed' as const },
    { content: 'fix', status: 'in_progress' as const },
    { content: 'report', status: 'pending' as const },
  ]
  expect(await todoWrite({ input: { items } })).toEqual({ text: '1 of 3 done\n[x] reproduce\n[>] fix\n[ ] report' })
  expect(await todoWrite({ input: { items: [] } })).toEqual({ text: 'The list is empty now.' })
})

describe('nested AGENTS.md', () => {
  test('[N12] comes from the outer to the inner folder, once, without the root file', async () => {
    put('AGENTS.md', 'root')
    put('packages/AGENTS.md', 'outer')
    put('packages/a/AGENTS.md', 'inner')
    const found = await agentsMdFor(folder, 'packages/a/src/x.ts', new Set())
    expect(found).toEqual([
      { path: 'packages/AGENTS.md', text: 'outer', bytes: 5 },
      { path: 'packages/a/AGENTS.md', text: 'inner', bytes: 5 },
    ])
    expect(await agentsMdFor(folder, join(folder, 'packages/a/y.ts'), new Set(found.map(({ path }) => path)))).toEqual([])
    expect(await agentsMdFor(folder, 'x.ts', new Set())).toEqual([])
    expect(await agentsMdFor(folder, '../../x/y.ts', new Set())).toEqual([])
  })

  test('[N12] what does not fit is left out whole with a notice that names the file; a link out of the repository is none', async () => {
    put('a/AGENTS.md', 'x'.repeat(100))
    put('a/b/AGENTS.md', 'y'.repeat(50))
    mkdirSync(join(folder, 'a/b/c'))
    symlinkSync(join(outer, 'secret'), join(folder, 'a/b/c/AGENTS.md'))
    const found = await agentsMdFor(folder, 'a/b/c/x.ts', new Set(), 60)
    expect(found).toEqual([
      { path: 'a/AGENTS.md', text: expect.stringContaining('a/AGENTS.md (100 bytes) is left out'), bytes: 0 },
      { path: 'a/b/AGENTS.md', text: 'y'.repeat(50), bytes: 50 },
    ])
  })
})
