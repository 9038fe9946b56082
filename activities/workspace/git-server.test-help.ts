/** For tests: real bare repositories over smart HTTP, served by git's own http-backend, open to one credential only. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

export const TOKEN = 'ghs_thisIsTheSecretOfTheHost'
export const HEADER = `Authorization: Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`

export interface GitServer {
  url: string
  bare: string
  /** Every request's target, to see that no secret is in an address. */
  requests: string[]
  close(): Promise<void>
}

export async function startGitServer(folder: string): Promise<GitServer> {
  const bare = join(folder, 'remote', 'shop.git')
  mkdirSync(bare, { recursive: true })
  plainGit(bare, ['init', '--quiet', '--bare', '--initial-branch=main'])
  plainGit(bare, ['config', 'http.receivepack', 'true'])
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url!)
    if (request.headers.authorization !== HEADER.slice('Authorization: '.length)) response.writeHead(401).end()
    else backend(join(folder, 'remote'), request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`
  return { url, bare, requests, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** git as an outsider to the product would run it, to prepare and to look. */
export function plainGit(cwd: string, args: string[]): string {
  const identity = {
    GIT_AUTHOR_NAME: 'Ann',
    GIT_AUTHOR_EMAIL: 'ann@example.com',
    GIT_COMMITTER_NAME: 'Ann',
    GIT_COMMITTER_EMAIL: 'ann@example.com',
  }
  return execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', ...identity },
  }).trim()
}

function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url!, 'http://host')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'agent',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      ...(request.headers['content-encoding'] ? { HTTP_CONTENT_ENCODING: request.headers['content-encoding'] } : {}),
      ...(request.headers['git-protocol'] ? { GIT_PROTOCOL: `${request.headers['git-protocol']}` } : {}),
    },
  })
  request.pipe(child.stdin)
  const out: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.on('close', () => {
    const all = Buffer.concat(out)
    const end = all.indexOf('\r\n\r\n')
    for (const line of all.subarray(0, end).toString().split('\r\n')) {
      const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3))
      else response.setHeader(name, value)
    }
    response.end(all.subarray(end + 4))
  })
}
