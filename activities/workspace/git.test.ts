import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rootAgentsMd } from './agents-md.ts'
import { collectCommits } from './bundle.ts'
import { type Checkout, openCheckout, readHead, removeCheckout } from './checkout.ts'
import { type GitServer, HEADER, plainGit, startGitServer, TOKEN } from './git-server.test-help.ts'
import { foldersAround, mirrorFolder } from './layout.ts'
import { withLock } from './lock.ts'
import { branchCommit, fetchMirror, pushFromMirror } from './mirror.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'

const repository = { id: 4711, fullName: 'acme/shop' }
const author = { name: 'Switchyard', email: 'agent@example.com' }
const { signal } = new AbortController()
const hasBubblewrap = (await createSandbox({ mode: 'bubblewrap', allowedHosts: [] }).available()).ok
if (!hasBubblewrap) console.warn('bubblewrap does not work here: the tests of commits that leave a workspace run unconfined')

let folder: string
let home: string
let work: string
let server: GitServer
let sandbox: Sandbox

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'switchyard git '))
  home = join(folder, 'state')
  work = join(folder, 'author')
  server = await startGitServer(folder)
  sandbox = createSandbox({ mode: hasBubblewrap ? 'bubblewrap' : 'off', allowedHosts: [] })
  mkdirSync(work)
  plainGit(work, ['init', '--quiet', '--initial-branch=main'])
  commit('README.md', 'shop\n', 'first')
  publish('main')
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function commit(name: string, text: string, subject: string): string {
  writeFileSync(join(work, name), text)
  plainGit(work, ['add', '.'])
  plainGit(work, ['commit', '--quiet', '-m', subject])
  return plainGit(work, ['rev-parse', 'HEAD'])
}

function publish(branch: string) {
  plainGit(work, ['push', '--quiet', server.bare, `HEAD:refs/heads/${branch}`])
}

const fetch = () => fetchMirror({ home, repository, git: { url: server.url, header: HEADER }, signal })
const push = (branch: string, sha: string, expected?: string | null) =>
  pushFromMirror({ home, repository, git: { url: server.url, header: HEADER }, branch, sha, expected, signal })
const open = (ticket = 7, baseBranch = 'main') => openCheckout({ home, ticket, repository, baseBranch, author, signal })
const collect = ({ path, base }: Checkout, more: { limit?: number } = {}) =>
  collectCommits({ home, repository, signal, sandbox, folder: path, ticket: 7, base, ...more })
const inside = async ({ path }: Checkout, command: string) => {
  const ended = await sandbox.run({ folder: path, command, timeoutMs: 60_000, signal })
  if (ended.exit !== 0) throw new Error(ended.output)
  return ended.output
}

describe('the mirror', () => {
  test('[M8] is fetched with a header only: no secret in an address, in a file, or in what git says', async () => {
    const mirror = await fetch()
    expect(await branchCommit(mirror, 'main', signal)).toBe(plainGit(work, ['rev-parse', 'HEAD']))
    for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) expect(readFileSync(join(entry.parentPath, entry.name), 'latin1')).not.toMatch(/ghs_|eC1hY2Nlc3/)
    }
    expect(server.requests.join('\n')).not.toContain(TOKEN)
    await expect(
      fetchMirror({ home, repository, git: { url: server.url, header: `Authorization: Basic ${TOKEN}` }, signal }),
    ).rejects.toThrow(/^(?!.*ghs_)/s)
    await expect(fetchMirror({ home, repository, git: { url: `http://x:${TOKEN}@127.0.0.1/shop.git` }, signal })).rejects.toThrow(
      /^(?!.*ghs_).*header/s,
    )
  })

  test('[M8] no address but http is followed, whatever the host is configured for', async () => {
    await expect(fetchMirror({ home, repository, git: { url: `file://${server.bare}` }, signal })).rejects.toThrow(
      'git addresses are https',
    )
  })

  test('follows what was pushed, deleted and force-pushed', async () => {
    publish('old')
    await fetch()
    plainGit(work, ['commit', '--quiet', '--amend', '-m', 'other'])
    plainGit(work, ['push', '--quiet', '--force', server.bare, 'HEAD:refs/heads/main', ':refs/heads/old'])
    const mirror = await fetch()
    expect(await branchCommit(mirror, 'main', signal)).toBe(plainGit(work, ['rev-parse', 'HEAD']))
    expect(await branchCommit(mirror, 'old', signal)).toBeNull()
  })

  test.each(['fix#12', '$(id)', '`id`;x', '修复/登录', 'a&b'])('[F299] [F346] branch %s is plain text everywhere', async (branch) => {
    publish(branch)
    const mirror = await fetch()
    const base = await branchCommit(mirror, branch, signal)
    const checkout = await open(7, branch)
    expect(checkout.base).toBe(base)
    expect(await push(`agent/${branch}`, base!)).toEqual({ pushed: true, before: null })
    expect(plainGit(server.bare, ['rev-parse', `refs/heads/agent/${branch}`])).toBe(base)
  })

  test('[F346] a name that git would read as something else is refused before git sees it', async () => {
    await fetch()
    expect(await push('--force', plainGit(work, ['rev-parse', 'HEAD']))).toEqual({
      refused: '"--force" is no branch name: it begins with "-"',
    })
    expect(await push('topic', 'HEAD')).toEqual({ refused: expect.stringContaining('no full commit id') })
  })

  test('[M4] a push that is repeated has one effect and says so', async () => {
    const sha = commit('a.txt', 'a', 'second')
    publish('main')
    await fetch()
    const before = plainGit(work, ['rev-parse', 'HEAD~1'])
    expect(await push('topic', before)).toEqual({ pushed: true, before: null })
    expect(await push('topic', sha)).toEqual({ pushed: true, before })
    expect(await push('topic', sha)).toEqual({ pushed: true, before: sha })
  })

  test('a push never overwrites: a branch that went another way is refused, and so is one that is not where it was expected', async () => {
    await fetch()
    const first = plainGit(work, ['rev-parse', 'HEAD'])
    const mine = commit('mine.txt', '1', 'mine')
    publish('mine')
    plainGit(work, ['reset', '--quiet', '--hard', first])
    const theirs = commit('theirs.txt', '2', 'theirs')
    publish('topic')
    await fetch()
    expect(await push('topic', mine)).toEqual({ refused: expect.stringContaining('non-fast-forward') })
    expect(await push('topic', mine, first)).toEqual({ refused: expect.stringContaining(`is at ${theirs}`) })
    expect(await push('topic', theirs, null)).toEqual({ pushed: true, before: theirs })
    expect(await push('fresh', theirs, first)).toEqual({ refused: expect.stringContaining('does not exist') })
  })

  test('a refusal of the server comes with its words', async () => {
    const hook = join(server.bare, 'hooks', 'pre-receive')
    mkdirSync(join(server.bare, 'hooks'), { recursive: true })
    writeFileSync(hook, '#!/bin/sh\necho "GH006: protected branch"\nexit 1\n', { mode: 0o755 })
    await fetch()
    const answer = await push('topic', plainGit(work, ['rev-parse', 'HEAD']))
    expect(answer).toEqual({ refused: expect.stringMatching(/hook declined[\s\S]*GH006: protected branch/) })
  })

  test('a wrong credential is an error, not a refusal of the branch', async () => {
    await fetch()
    const sha = plainGit(work, ['rev-parse', 'HEAD'])
    await expect(pushFromMirror({ home, repository, git: { url: server.url }, branch: 'topic', sha, signal })).rejects.toThrow(
      /could not read|Authentication/,
    )
  })

  test('[F335] [F326] a half-made mirror with lock files of a dead git is completed', async () => {
    const mirror = mirrorFolder(home, repository)
    mkdirSync(join(mirror, 'refs', 'heads'), { recursive: true })
    writeFileSync(join(mirror, 'refs', 'heads', 'main.lock'), '')
    writeFileSync(join(mirror, 'config.lock'), '')
    await fetch()
    expect(await branchCommit(mirror, 'main', signal)).not.toBeNull()
  })
})

describe('the lock', () => {
  test('[F326] dies with its owner, whatever way that dies, and lasts while the owner lives', async () => {
    const path = join(folder, 'x.lock')
    const script = `import { withLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
      await withLock({ path: ${JSON.stringify(path)}, purpose: 'test', signal: new AbortController().signal }, async () => { console.log('held'); await new Promise(() => setInterval(() => {}, 1000)) })`
    const owner = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await new Promise((resolve) => owner.stdout.once('data', resolve))
      expect(readFileSync(path, 'utf8')).toBe(`process ${owner.pid}: test\n`)

      const impatient = AbortSignal.timeout(300)
      await expect(withLock({ path, purpose: 'second', signal: impatient }, async () => 'in')).rejects.toThrow('aborted due to timeout')
      const waiting = withLock({ path, purpose: 'third', signal }, async () => 'in')
      owner.kill('SIGKILL')
      expect(await waiting).toBe('in')
    } finally {
      owner.kill('SIGKILL')
    }
  })

  test('[F327] lets one at a time in, in one process too', async () => {
    const seen: string[] = []
    const one = (name: string) =>
      withLock({ path: join(folder, 'y.lock'), purpose: name, signal }, async () => {
        seen.push(`${name} in`)
        await new Promise((resolve) => setTimeout(resolve, 20))
        seen.push(`${name} out`)
      })
    await Promise.all([one('a'), one('b'), one('c')])
    for (let at = 0; at < seen.length; at += 2) expect(seen[at + 1]).toBe(seen[at]!.replace('in', 'out'))
    expect(seen).toHaveLength(6)
  })
})

describe('the checkout', () => {
  test("[H10] [F345] is a clean working copy on the Ticket's branch, with an author, no remote and no shared objects", async () => {
    await fetch()
    const checkout = await open()
    expect(checkout).toMatchObject({
      path: join(home, 'workspaces', 't-7', 'shop'),
      branch: 'switchyard/t-7',
      state: 'new',
      head: checkout.base,
    })
    const said = (args: string[]) => plainGit(checkout.path, args)
    expect(said(['status', '--porcelain'])).toBe('')
    expect(said(['branch', '--show-current'])).toBe('switchyard/t-7')
    expect(said(['config', 'user.email'])).toBe('agent@example.com')
    expect(said(['remote'])).toBe('')
    expect(said(['rev-parse', 'origin/main'])).toBe(checkout.base)
    expect(existsSync(join(checkout.path, '.git/objects/info/alternates'))).toBe(false)
    const files = readdirSync(join(checkout.path, '.git/objects'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    expect(files.map((entry) => statSync(join(entry.parentPath, entry.name)).nlink)).toEqual(files.map(() => 1))
    expect(readFileSync(join(checkout.path, '.git/config'), 'utf8')).not.toMatch(/remote|http|insteadOf/)
  })

  test('[F191] a second call keeps the branch, the commits and the uncommitted files', async () => {
    await fetch()
    const first = await open()
    await inside(first, 'git commit --quiet --allow-empty -m "step one" && echo half > half.txt')
    const head = plainGit(first.path, ['rev-parse', 'HEAD'])
    commit('later.txt', 'x', 'base moved on')
    publish('main')
    await fetch()
    expect(await open()).toEqual({ ...first, state: 'kept', head })
    expect(readFileSync(join(first.path, 'half.txt'), 'utf8')).toBe('half\n')
  })

  test('made anew on another host it begins at what was pushed, and at its base where that is not to be had', async () => {
    const base = plainGit(work, ['rev-parse', 'HEAD'])
    const pushed = commit('done.txt', 'x', 'done elsewhere')
    publish('switchyard/t-8')
    await fetch()
    const made = (ticket: number, headSha: string) =>
      openCheckout({ home, ticket, repository, baseBranch: 'main', baseSha: base, headSha, author, signal })
    expect(await made(8, pushed)).toMatchObject({ state: 'new', base, head: pushed, branch: 'switchyard/t-8' })
    expect(await made(9, 'a'.repeat(40))).toMatchObject({ state: 'new', base, head: base })
  })

  test('[F335] what a dead build left is removed, and the name is free again', async () => {
    await fetch()
    const root = join(home, 'workspaces', 't-7')
    mkdirSync(join(root, '@building-abc'), { recursive: true })
    mkdirSync(join(root, 'shop', '.git'), { recursive: true })
    const checkout = await open()
    expect(checkout.state).toBe('new')
    expect(plainGit(checkout.path, ['status', '--porcelain'])).toBe('')
    expect(existsSync(join(root, '@building-abc'))).toBe(false)
  })

  test('[F335] a working copy whose git files are gone is built again, and its files are kept aside', async () => {
    await fetch()
    const first = await open()
    await inside(first, 'echo precious > work.txt; rm -rf .git')
    const second = await open()
    expect(second).toMatchObject({ state: 'rebuilt', path: first.path, base: first.base })
    expect(readFileSync(join(second.aside!, 'work.txt'), 'utf8')).toBe('precious\n')
  })

  test('[F329] two Tickets have a folder each; removing one leaves the other', async () => {
    await fetch()
    const [seven, eight] = await Promise.all([open(7), open(8)])
    expect(seven.path).not.toBe(eight.path)
    await removeCheckout({ home, ticket: 7 })
    expect(existsSync(seven.path)).toBe(false)
    expect(await open(8)).toMatchObject({ state: 'kept' })
  })

  test('[F327] two calls at once make one checkout', async () => {
    await fetch()
    const states = (await Promise.all([open(), open(), open()])).map(({ state }) => state)
    expect(states.sort()).toEqual(['kept', 'kept', 'new'])
  })

  test('[F298] names that git or the file system would misread are refused; an unknown base says what to do', async () => {
    await fetch()
    const odd = openCheckout({ home, ticket: 7, repository: { id: 1, fullName: 'acme/..' }, baseBranch: 'main', author, signal })
    await expect(odd).rejects.toThrow('no repository name')
    await expect(open(7, 'gone')).rejects.toThrow('has no branch gone in the mirror: fetch it first')
  })

  test('the head is read from plain files: a branch, packed references, a detached head, and nothing but a commit id', async () => {
    await fetch()
    const { path, base } = await open()
    expect(await readHead(path)).toBe(base)
    plainGit(path, ['pack-refs', '--all'])
    expect(await readHead(path)).toBe(base)
    plainGit(path, ['checkout', '--quiet', '--detach'])
    expect(await readHead(path)).toBe(base)
    rmSync(join(path, '.git/HEAD'))
    symlinkSync('/etc/hostname', join(path, '.git/HEAD'))
    expect(await readHead(path)).toBeNull()
  })
})

describe('commits that leave the workspace', () => {
  test('[F353] [H10] go as a bundle into the mirror and from there to the remote, uncommitted files are named', async () => {
    await fetch()
    const checkout = await open()
    await inside(checkout, 'echo 1 > one.txt && git add . && git commit -qm "one: $(whoami) 修复" && echo 2 > "two two.txt"')
    const collected = await collect(checkout)
    if ('refused' in collected) throw new Error(collected.refused)
    expect(collected.commits).toEqual([{ sha: collected.head, subject: expect.stringContaining('修复') }])
    expect(collected.dirty).toEqual(['?? "two two.txt"'])
    expect(await push('switchyard/t-7', collected.head)).toEqual({ pushed: true, before: null })
    expect(plainGit(server.bare, ['log', '--format=%an', '-1', 'switchyard/t-7'])).toBe('Switchyard')
    expect(readdirSync(foldersAround(checkout.path).bundles)).toEqual([])
  })

  test('a workspace without commits of its own has none, and a detached head is as good as a branch', async () => {
    await fetch()
    const checkout = await open()
    expect(await collect(checkout)).toEqual({ head: checkout.base, commits: [], dirty: [] })
    await inside(checkout, 'git checkout -q --detach && git commit -q --allow-empty -m "empty one"')
    expect(await collect(checkout)).toMatchObject({ commits: [{ subject: 'empty one' }] })
  })

  test("[H10] the workspace's hooks, filters, fsmonitor and configuration never run on the host", async () => {
    await fetch()
    const checkout = await open()
    const proof = join(folder, 'ran-on-the-host')
    const script = `printf '#!/bin/sh\\ntouch "${proof}"\\n' > .git/evil; chmod +x .git/evil; mkdir -p .git/hooks; cp .git/evil .git/hooks/post-index-change
      git config core.fsmonitor "$PWD/.git/evil"; git config core.hooksPath "$PWD/.git/hooks"; git config uploadpack.packObjectsHook "$PWD/.git/evil"
      git config core.sshCommand "$PWD/.git/evil"; git config credential.helper "$PWD/.git/evil"; git commit -q --allow-empty -m evil || git -c core.fsmonitor= commit -q --allow-empty -m evil`
    await inside(checkout, script)
    const collected = await collect(checkout)
    if ('refused' in collected) throw new Error(collected.refused)
    await push('topic', collected.head)
    await open()
    if (sandbox.mode === 'bubblewrap') expect(existsSync(proof)).toBe(false)
    expect(plainGit(server.bare, ['log', '-1', '--format=%s', 'topic'])).toBe('evil')
  })

  test("[H10] a link in the bundle's place and a bundle above the limit are refused", async () => {
    await fetch()
    const checkout = await open()
    const secret = join(folder, 'secret')
    writeFileSync(secret, 'x')
    await inside(checkout, 'head -c 200000 /dev/urandom > big && git add . && git commit -qm big')
    expect(await collect(checkout, { limit: 100_000 })).toEqual({ refused: expect.stringContaining('larger than 100000 bytes') })
    const linking: Sandbox = {
      ...sandbox,
      // a command that runs beside ours swaps the file just after git wrote it
      run: async (command) => {
        const ended = await sandbox.run(command)
        const bundle = Array.isArray(command.command) && command.command[1] === 'bundle' ? command.command[4] : null
        if (bundle) await sandbox.run({ ...command, command: ['ln', '-sf', secret, bundle] })
        return ended
      },
    }
    const answer = await collectCommits({
      home,
      repository,
      signal,
      sandbox: linking,
      folder: checkout.path,
      ticket: 7,
      base: checkout.base,
    })
    expect(answer).toEqual({ refused: expect.stringContaining('symbolic link') })
  })
})

describe('the root AGENTS.md', () => {
  test('[N12] is read from the mirror at the base commit; a link is followed, a huge one left out with a notice', async () => {
    plainGit(work, ['checkout', '-q', '-b', 'main2'])
    const none = plainGit(work, ['rev-parse', 'HEAD'])
    const plain = commit('AGENTS.md', 'Run npm test.\n', 'plain')
    const huge = commit('AGENTS.md', 'x'.repeat(65_537), 'huge')
    rmSync(join(work, 'AGENTS.md'))
    symlinkSync('CLAUDE.md', join(work, 'AGENTS.md'))
    const link = commit('CLAUDE.md', 'Linked.\n', 'link')
    publish('main2')
    const mirror = await fetch()
    expect(await rootAgentsMd(mirror, none, signal)).toBeNull()
    expect(await rootAgentsMd(mirror, plain, signal)).toEqual({ path: 'AGENTS.md', text: 'Run npm test.\n', bytes: 14 })
    expect(await rootAgentsMd(mirror, huge, signal)).toMatchObject({
      text: expect.stringContaining('AGENTS.md (65537 bytes) is left out'),
      bytes: 0,
    })
    expect(await rootAgentsMd(mirror, link, signal)).toMatchObject({ text: 'Linked.\n' })
  })
})
