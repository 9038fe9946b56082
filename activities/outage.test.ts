import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { GithubError, type GithubFailure } from '../channels/github/failure.ts'
import { closedWords } from './alive.ts'
import { isOutage, retryAtOf } from './outage.ts'
import { GitFailure, gitOk, isNetworkTrouble } from './workspace/git.ts'

const retryAt = new Date('2026-11-30T12:01:00Z')
const github = (kind: Exclude<GithubFailure['kind'], 'rate-limited'>) => new GithubError({ kind, status: null, message: 'GET /x' })
const limited = new GithubError({ kind: 'rate-limited', retryAt, status: 429, message: 'GET /x: 429' })
const coded = (code: string) => Object.assign(new Error('no'), { code })
const UNABLE = "fatal: unable to access 'https://github.com/acme/shop.git/': "

test.each<[string, unknown, boolean]>([
  ['GitHub, 5xx or no answer', github('server'), true],
  ['a write to GitHub of which nobody knows', github('unknown-outcome'), true],
  ['GitHub, its limit', limited, true],
  ['GitHub, inside another error', new Error('the step', { cause: github('server') }), true],
  ['GitHub, 401', github('unauthorised'), false],
  ['GitHub, 403', github('forbidden'), false],
  ['GitHub, 404', github('not-found'), false],
  ['GitHub, 410', github('gone'), false],
  ['GitHub, 422', github('invalid'), false],
  ['GitHub, locked', github('locked'), false],
  ['git without a network', new GitFailure('git fetch failed', `${UNABLE}Could not resolve host: github.com`), true],
  ['git refused', new GitFailure('git fetch failed', `${UNABLE}The requested URL returned error: 403`), false],
  ['Postgres goes down', coded('57P01'), true],
  ['Postgres has no room', coded('53100'), true],
  ['Postgres gives up a statement that takes too long', coded('57014'), true],
  ['a duplicate key', coded('23505'), false],
  ['a refused connection', coded('ECONNREFUSED'), true],
  ['a lost connection of the pool', new Error('Connection terminated unexpectedly'), true],
  ['a bug', new TypeError('x is not a function'), false],
  ['no error at all', 'ECONNREFUSED', false],
])('[O2] an outage is waited out, anything else is not: %s', (_, error, outage) => {
  expect(isOutage(error)).toBe(outage)
})

test('[F318] the time that GitHub names is the time of the next try', () => {
  expect(retryAtOf(new Error('the step', { cause: limited }))).toEqual(retryAt)
  expect(retryAtOf(github('server'))).toBeNull()
})

test.each<[string, boolean]>([
  [`${UNABLE}Could not resolve host: github.com`, true],
  [`${UNABLE}Could not resolve proxy: proxy.example`, true],
  [`${UNABLE}Failed to connect to github.com port 443 after 3 ms: Couldn't connect to server`, true],
  [`${UNABLE}Recv failure: Connection reset by peer`, true],
  [`${UNABLE}Failed to connect to github.com port 443: Connection timed out`, true],
  [`${UNABLE}Operation too slow. Less than 1 bytes/sec transferred the last 60 seconds`, true],
  [`${UNABLE}Empty reply from server`, true],
  [`${UNABLE}gnutls_handshake() failed: The TLS connection was non-properly terminated.`, true],
  [`${UNABLE}OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to github.com:443`, true],
  [`${UNABLE}The requested URL returned error: 502`, true],
  [`${UNABLE}The requested URL returned error: 429`, true],
  ['error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)\nfatal: early EOF', true],
  ['error: RPC failed; HTTP 504 curl 22 The requested URL returned error: 504', true],
  ['fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output', true],
  ['send-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly', true],
  [
    'error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\nfatal: the remote end hung up unexpectedly\nEverything up-to-date',
    false,
  ],
  ['error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413', false],
  [`${UNABLE}The requested URL returned error: 403`, false],
  ["remote: Repository not found.\nfatal: repository 'https://github.com/acme/shop.git/' not found", false],
  ["fatal: Authentication failed for 'https://github.com/acme/shop.git/'", false],
  ["fatal: could not read Username for 'https://github.com': terminal prompts disabled", false],
  [
    'error: object 5f2b: zeroPaddedFilemode: contains zero-padded file modes\nfatal: fsck error in packed object\nfatal: the remote end hung up unexpectedly',
    false,
  ],
  [`${UNABLE}SSL certificate problem: unable to get local issuer certificate`, false],
  ['remote: my hook says: Connection refused\nfatal: bad object HEAD', false],
  ["fatal: couldn't find remote ref refs/heads/none", false],
  ['', false],
])('[O2] git says whether its network failed: %j', (stderr, network) => {
  expect(isNetworkTrouble(stderr)).toBe(network)
})

test.each([
  [503, true],
  [404, false],
  [403, false],
])('[O2] git against a server that answers %i', async (status, network) => {
  const server = createServer((_, answer) => answer.writeHead(status).end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const error = await lsRemote(port).catch((failure: unknown) => failure)
  await new Promise((resolve) => server.close(resolve))
  expect(error).toBeInstanceOf(GitFailure)
  expect(error).toMatchObject({ network })
  await expect(lsRemote(port), 'the server is gone').rejects.toMatchObject({ network: true })
})

const lsRemote = (port: number) =>
  gitOk({ args: ['ls-remote', `http://127.0.0.1:${port}/acme/shop.git`], cwd: tmpdir(), signal: AbortSignal.timeout(30_000) })

test.each<[unknown, string]>([
  [new GithubError({ kind: 'invalid', status: 422, message: 'what people wrote' }), 'GithubError'],
  [Object.assign(new Error('what people wrote'), { code: '23505' }), 'Error 23505'],
  [Object.assign(new Error('x'), { name: 'what people wrote', code: 'what they wrote' }), 'Error'],
  ['what people wrote', 'string'],
])('[M7, M8] a failure in the history has a name and a code and no words of anybody: case %#', (error, words) => {
  expect(closedWords(error)).toBe(`an activity failed: ${words}; see the log`)
})
