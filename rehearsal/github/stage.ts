/** What the tests of this folder begin with: a started offline GitHub with people, a repository, an App, and callers for each of them. */
import { sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type GithubOptions, type OfflineGithub, startGithub } from './server.ts'
import type { App } from './state.ts'

export interface Reply {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever GitHub's shapes hold
  body: any
}

export type Caller = (method: string, path: string, body?: unknown) => Promise<Reply>

export interface Stage {
  github: OfflineGithub
  folder: string
  app: App
  installationId: number
  /** Every call that was made, as `METHOD path`. */
  calls: string[]
  as(authorization: string | null): Caller
  token(login: string): string
  appToken(claims?: Record<string, unknown>): string
  installationToken(body?: unknown): Promise<string>
  restart(options?: Partial<GithubOptions>): Promise<void>
  end(): Promise<void>
}

const FILES = {
  'README.md': '# shop\n',
  'src/cart.js': 'export const total = (items) => items.length\n',
  'run.sh': '#!/bin/sh\necho ok\n',
}

export async function setStage(hook?: { url: string; secret: string }): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'offline-github-stage-'))
  const stage = { calls: [] as string[], folder }
  let github = await startGithub({ folder, contract: true, loud: () => undefined })
  const { operator } = github
  operator.createAccount({ login: 'acme', type: 'Organization' })
  for (const login of ['mona', 'hubot-human', 'stranger']) operator.createAccount({ login, name: `${login} of the tests` })
  await operator.createRepository({ owner: 'acme', name: 'shop', members: { mona: 'admin', 'hubot-human': 'write' }, files: FILES })
  await operator.createRepository({ owner: 'acme', name: 'vault', private: true, members: { mona: 'admin' } })
  const app = operator.createApp({ slug: 'switchyard', owner: 'acme', ...(hook ? { hook } : {}) })
  const installationId = operator.installApp({ app: 'switchyard', account: 'acme' }).id
  const tokens = new Map(['mona', 'hubot-human', 'stranger'].map((login) => [login, operator.createToken({ login })]))

  function as(authorization: string | null): Caller {
    return async (method, path, body) => {
      stage.calls.push(`${method} ${path.split('?')[0]}`)
      const response = await fetch(`${github.apiUrl}${path}`, {
        method,
        headers: { ...(authorization ? { authorization: `Bearer ${authorization}` } : {}), 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
    }
  }

  function appToken(claims: Record<string, unknown> = {}): string {
    const at = Math.floor(Date.now() / 1000)
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: at - 30, exp: at + 300, iss: app.id, ...claims })}`
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), app.privateKey).toString('base64url')}`
  }

  return {
    ...stage,
    get github() {
      return github
    },
    app,
    installationId,
    as,
    token: (login) => tokens.get(login) ?? login,
    appToken,
    async installationToken(body) {
      const { body: minted } = await as(appToken())('POST', `/app/installations/${installationId}/access_tokens`, body)
      return minted.token as string
    },
    async restart(options) {
      await github.close()
      github = await startGithub({ folder, contract: true, loud: () => undefined, ...options })
    },
    async end() {
      await github.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
