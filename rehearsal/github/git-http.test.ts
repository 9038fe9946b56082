/** Real git against the offline GitHub: clone, fetch, push, and who may. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GIT_ENVIRONMENT } from './git.ts'
import { listen, type Receiver } from './receiver.ts'
import { type Stage, setStage } from './stage.ts'

let stage: Stage
let receiver: Receiver
let scratch: string

beforeAll(async () => {
  receiver = await listen()
  stage = await setStage({ url: receiver.url, secret: 's' })
  scratch = mkdtempSync(join(tmpdir(), 'offline-github-clone-'))
})
afterAll(async () => {
  await stage.end()
  await receiver.close()
  rmSync(scratch, { recursive: true, force: true })
  expect(stage.github.contractFaults).toEqual([])
})

const PEOPLE = {
  GIT_AUTHOR_NAME: 'mona',
  GIT_AUTHOR_EMAIL: 'mona@acme.test',
  GIT_COMMITTER_NAME: 'mona',
  GIT_COMMITTER_EMAIL: 'mona@acme.test',
}

async function git(folder: string, ...args: string[]): Promise<string> {
  const env = { ...GIT_ENVIRONMENT, ...PEOPLE, GIT_ASKPASS: '/bin/false' }
  return (await promisify(execFile)('git', args, { cwd: folder, env })).stdout.trim()
}

function address(token: string | null, name = 'acme/shop'): string {
  const { host } = new URL(stage.github.gitUrl)
  return `http://${token ? `x-access-token:${token}@` : ''}${host}/${name}.git`
}

async function clone(token: string | null, name = 'acme/shop'): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'work-'))
  await git(folder, 'clone', '--quiet', address(token, name), '.')
  return folder
}

test('a public repository is cloned by anybody, with its files and modes', async () => {
  const folder = await clone(null)
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('# shop\n')
  expect(await git(folder, 'ls-files', '--stage', 'run.sh')).toMatch(/^100755/)
})

test('a private one asks for a token, refuses a bad one, and does not exist for a stranger', async () => {
  await expect(clone(null, 'acme/vault')).rejects.toThrow(/Authentication failed|could not read Username/)
  await expect(clone('ghs_wrong', 'acme/vault')).rejects.toThrow(/Authentication failed/)
  await expect(clone(stage.token('stranger'), 'acme/vault')).rejects.toThrow(/not found/)
  expect(readFileSync(join(await clone(await stage.installationToken(), 'acme/vault'), 'README.md'), 'utf8')).toBe('# vault\n')
})

test('[M8] a push without a token, or with a bad one, is answered 401; without the right to it, 403', async () => {
  const folder = await clone(null)
  writeFileSync(join(folder, 'new.txt'), 'new\n')
  await git(folder, 'add', '.')
  await git(folder, 'commit', '--quiet', '-m', 'New')
  await expect(git(folder, 'push', address(null), 'HEAD:refs/heads/x')).rejects.toThrow(/Authentication failed|could not read Username/)
  await expect(git(folder, 'push', address('ghs_wrong'), 'HEAD:refs/heads/x')).rejects.toThrow(/Authentication failed/)
  await expect(git(folder, 'push', address(stage.token('stranger')), 'HEAD:refs/heads/x')).rejects.toThrow(/403/)
  const narrow = await stage.installationToken({ permissions: { contents: 'read' } })
  await expect(git(folder, 'push', address(narrow), 'HEAD:refs/heads/x')).rejects.toThrow(/403/)
  await expect(git(folder, 'push', address(stage.token('mona')), 'HEAD:refs/pull/9/head')).rejects.toThrow(/hidden ref|remote rejected/)
  expect((await stage.as(null)('GET', '/repos/acme/shop/branches')).body).toHaveLength(1)
})

test('[P5] a push moves the open pull request’s head before it is answered, and is told as push and synchronize', async () => {
  const token = await stage.installationToken()
  const bot = stage.as(token)
  const folder = await clone(token)
  const commit = async (text: string) => {
    writeFileSync(join(folder, 'src/cart.js'), text)
    await git(folder, 'commit', '--quiet', '-am', `Say ${text.trim()}`)
    await git(folder, 'push', '--quiet', 'origin', 'HEAD:refs/heads/agent/t-7')
    return git(folder, 'rev-parse', 'HEAD')
  }
  const first = await commit('one\n')
  const { body: pull } = await bot('POST', '/repos/acme/shop/pulls', { title: 'Seven', head: 'agent/t-7', base: 'main' })
  expect(pull.head.sha).toBe(first)
  const second = await commit('two\n')
  expect((await bot('GET', `/repos/acme/shop/pulls/${pull.number}`)).body).toMatchObject({ head: { sha: second }, commits: 2 })
  expect(await git(folder, 'ls-remote', 'origin', `refs/pull/${pull.number}/head`)).toContain(second)

  await stage.github.operator.delivered()
  expect(receiver.heard()).toEqual(['push', 'pull_request.opened', 'push', 'pull_request.synchronize'])
  expect(receiver.received[2]!.payload).toMatchObject({
    ref: 'refs/heads/agent/t-7',
    before: first,
    after: second,
    forced: false,
    commits: [{ id: second, modified: ['src/cart.js'] }],
    sender: { login: 'switchyard[bot]' },
  })
  expect(receiver.received[3]!.payload).toMatchObject({ before: first, after: second, pull_request: { head: { sha: second } } })
})

test('a rewritten branch is told as forced, and a conflict with the base shows as dirty', async () => {
  const token = stage.token('mona')
  const folder = await clone(token)
  writeFileSync(join(folder, 'src/cart.js'), 'three\n')
  await git(folder, 'commit', '--quiet', '-am', 'Three')
  await git(folder, 'push', '--quiet', '--force', 'origin', 'HEAD:refs/heads/agent/t-7')
  await stage.github.operator.push({ repository: 'acme/shop', as: 'mona', message: 'Meanwhile', files: { 'src/cart.js': 'four\n' } })
  await stage.github.operator.delivered()
  const push = receiver.received.findLast(({ payload }) => payload.ref === 'refs/heads/agent/t-7')
  expect(push!.payload.forced).toBe(true)
  const { body: pulls } = await stage.as(token)('GET', '/repos/acme/shop/pulls?state=open')
  expect((await stage.as(token)('GET', `/repos/acme/shop/pulls/${pulls[0].number}`)).body).toMatchObject({
    mergeable: false,
    mergeable_state: 'dirty',
  })
})

test('a body in chunks and a deflated request go through', async () => {
  const token = stage.token('mona')
  const folder = await clone(token)
  // more than git sends in one piece, and branches enough that the next fetch's wants are deflated
  writeFileSync(join(folder, 'big.bin'), Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919 + (at >> 3)) & 255)))
  await git(folder, 'add', '.')
  await git(folder, 'commit', '--quiet', '-m', 'Big')
  const branches = Array.from({ length: 40 }, (_, at) => `HEAD:refs/heads/many/${at}`)
  await git(folder, '-c', 'http.postBuffer=65536', '-c', 'core.compression=0', 'push', '--quiet', 'origin', ...branches)
  const other = await clone(token)
  expect(readFileSync(join(other, 'README.md'), 'utf8')).toBe('# shop\n')
  expect(await git(other, 'rev-parse', 'origin/many/39')).toBe(await git(folder, 'rev-parse', 'HEAD'))
  expect((await stage.as(token)('GET', '/repos/acme/shop/branches?per_page=100')).body.length).toBeGreaterThan(40)
})
