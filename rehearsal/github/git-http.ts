/**
 * Git over smart HTTP, by git's own `http-backend` as a CGI program. What is read streams through in both directions; the answer
 * to a push waits until the push is told (deliveries, pull requests' heads), because an answered push is a durable one.
 */
import { spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { settleRefs } from './acts/pushes.ts'
import { type Actor, actorOf, authorOf, canSee, may, READ, WRITE } from './auth.ts'
import { GIT_ENVIRONMENT } from './git.ts'
import { refusalOf } from './http.ts'
import { type Repository, repositoryOf } from './state.ts'
import type { World } from './world.ts'

export interface GitRequest {
  owner: string
  name: string
  service: string
  query: URLSearchParams
}

/** Null: no address of git's. */
export function gitRequest(url: URL): GitRequest | null {
  const match = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(url.pathname)
  if (!match) return null
  const [, owner, name, service] = match as unknown as [string, string, string, string]
  return { owner: decodeURIComponent(owner), name: decodeURIComponent(name), service, query: url.searchParams }
}

/** `isLost` is asked when git has done its work, before anybody hears of it; then the request has had another end. */
export async function serveGit(
  world: World,
  git: GitRequest,
  request: IncomingMessage,
  response: ServerResponse,
  isLost: (() => Promise<boolean>) | null,
): Promise<void> {
  const pushing = git.service === 'git-receive-pack' || git.query.get('service') === 'git-receive-pack'
  const admitted = admit(world, git, request.headers.authorization, pushing)
  if ('status' in admitted) return deny(response, admitted.status)
  const { repository, actor } = admitted
  const run = { git, request, response, isLost, folder: world.folderOf(repository) }
  if (git.service !== 'git-receive-pack') return runBackend(run, async () => undefined)

  const pusherId = authorOf(actor).id
  await world.alone(repository, async () => {
    // who it was must be known after a crash between git and the telling
    world.change(() => {
      repository.lastPusherId = pusherId
    })
    await runBackend(run, () => settleRefs(world, repository, pusherId))
  })
}

function admit(
  world: World,
  git: GitRequest,
  authorization: string | undefined,
  pushing: boolean,
): { status: 401 | 403 | 404 } | { repository: Repository; actor: Actor } {
  let actor: Actor
  try {
    actor = actorOf(world.state, authorization)
  } catch (error) {
    if (refusalOf(error)) return { status: 401 }
    throw error
  }
  const repository = repositoryOf(world.state, git.owner, git.name)
  // A stranger is asked who he is before he learns whether it exists.
  if (!repository || !canSee(actor, repository)) return { status: actor.kind === 'nobody' ? 401 : 404 }
  if (!may(actor, repository, pushing ? WRITE.contents : READ.contents)) return { status: actor.kind === 'nobody' ? 401 : 403 }
  return { repository, actor }
}

const WORDS = { 401: 'Invalid username or token.', 403: 'Permission to this repository denied.', 404: 'Repository not found.' }

function deny(response: ServerResponse, status: 401 | 403 | 404): void {
  const ask = status === 401 ? { 'www-authenticate': 'Basic realm="GitHub"' } : {}
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...ask }).end(`${WORDS[status]}\n`)
}

interface Run {
  folder: string
  git: GitRequest
  request: IncomingMessage
  response: ServerResponse
  isLost: (() => Promise<boolean>) | null
}

async function runBackend({ folder, git, request, response, isLost }: Run, settle: () => Promise<void>): Promise<void> {
  const { headers } = request
  const header = (name: string) => (typeof headers[name] === 'string' ? headers[name] : '')
  const env = {
    ...GIT_ENVIRONMENT,
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_PROTOCOL: header('git-protocol'),
    PATH_INFO: `/${git.service}`,
    QUERY_STRING: git.query.toString(),
    REQUEST_METHOD: request.method ?? 'GET',
    CONTENT_TYPE: header('content-type'),
    // a chunked body has none, and git then reads to the end
    ...(headers['content-length'] ? { CONTENT_LENGTH: headers['content-length'] } : {}),
    // git inflates what it is told is deflated
    HTTP_CONTENT_ENCODING: header('content-encoding'),
    REMOTE_USER: 'rehearsal',
    REMOTE_ADDR: request.socket.remoteAddress ?? '',
  }
  const child = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = new Promise<void>((resolve, reject) => child.on('error', reject).on('close', () => resolve()))
  response.on('close', () => {
    // a reader that went away; a push is let through to its end
    if (!response.writableFinished && git.service !== 'git-receive-pack') child.kill()
  })
  const sent = pipeline(request, child.stdin).catch((error: NodeJS.ErrnoException) => {
    // git ends without reading on when it refuses; a caller that hangs up leaves git with a cut pack, which it refuses itself
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && error.code !== 'ECONNRESET') throw error
  })
  const { status, headers: answered, body } = await cgiAnswer(child.stdout)
  if (git.service !== 'git-receive-pack' && !isLost) {
    response.writeHead(status, answered)
    await pipeline(body, response).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    })
    await Promise.all([sent, closed])
    return
  }
  const whole: Buffer[] = []
  for await (const chunk of body) whole.push(chunk)
  await Promise.all([sent, closed])
  await settle()
  if (await isLost?.()) return
  response.writeHead(status, answered).end(Buffer.concat(whole))
}

interface CgiAnswer {
  status: number
  headers: Record<string, string>
  body: AsyncIterable<Buffer>
}

/** A CGI answer: header lines, an empty line, and the body, of which the first piece may have come with the lines. */
async function cgiAnswer(stdout: AsyncIterable<Buffer>): Promise<CgiAnswer> {
  // read by one iterator from the first byte to the last: a stream that was left by one reader stalls for the next
  const iterator = stdout[Symbol.asyncIterator]()
  let seen = Buffer.alloc(0)
  for (;;) {
    const end = seen.indexOf('\r\n\r\n')
    if (end >= 0) {
      const lines = seen.subarray(0, end).toString('latin1').split('\r\n')
      const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
      const { status = '200', ...headers } = Object.fromEntries(pairs) as Record<string, string>
      return { status: Number.parseInt(status, 10), headers, body: remaining(seen.subarray(end + 4), iterator) }
    }
    const { value, done } = await iterator.next()
    if (done)
      throw new Error(
        `git http-backend ended before its headers were complete; it said ${JSON.stringify(seen.toString('latin1').slice(0, 200))}`,
      )
    seen = Buffer.concat([seen, value])
  }
}

async function* remaining(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
}
