/**
 * Tokens for GitHub: an app's installation token per repository, or one personal token (spec M8: they stay in the host). A token is
 * asked for at every call; one that would not outlive its use is replaced.
 *
 * The authentication library signs and caches, but its request hook is not used: it repeats a request by itself after a 401, and the
 * callers of this client own all retries (F132).
 */
import { createAppAuth } from '@octokit/auth-app'
import type { Octokit } from '@octokit/core'
import { classify, GithubError } from './failure.ts'
import { at, idOf } from './payload.ts'

export type GithubAccount = { kind: 'app'; appId: string; privateKey: string } | { kind: 'token'; token: string }

export interface Token {
  token: string
  /** Null: it does not end by itself. */
  expiresAt: Date | null
}

export interface Credentials {
  /** An app's own token, for what it may ask about itself. */
  app(): Promise<Token>
  /** For one repository, `owner/name`. */
  repository(fullName: string, minimumLifeMs: number): Promise<Token>
  installation(id: string, minimumLifeMs: number): Promise<Token>
  /** GitHub refused the token of this repository: the next call asks for a new one. */
  refused(fullName: string): void
}

export type Look = (route: string, parameters: Record<string, unknown>, token: Token | null) => Promise<{ data: unknown }>

/** `look` sends one reading request and throws `GithubError`. */
export function createCredentials(account: GithubAccount, octokit: Octokit, look: Look, now: () => Date): Credentials {
  if (account.kind === 'token') {
    const token = async () => ({ token: account.token, expiresAt: null })
    return { app: token, repository: token, installation: token, refused: () => undefined }
  }
  const auth = createAppAuth({ appId: account.appId, privateKey: account.privateKey, request: octokit.request })
  const installations = new Map<string, string>()
  const stale = new Set<string>()

  const app = async (): Promise<Token> => {
    try {
      const { token, expiresAt } = await auth({ type: 'app' })
      return { token, expiresAt: new Date(expiresAt) }
    } catch {
      // The library's message may quote the key.
      const message = 'the private key of the GitHub App cannot sign: give the PEM text as GitHub issued it'
      throw new GithubError({ kind: 'unauthorised', status: null, message })
    }
  }

  const installation = async (id: string, minimumLifeMs: number): Promise<Token> => {
    await app() // a key that cannot sign is told as such
    const ask = async (refresh: boolean) => {
      try {
        const { token, expiresAt } = await auth({ type: 'installation', installationId: Number(id), refresh })
        return { token, expiresAt: new Date(expiresAt) }
      } catch (error) {
        for (const [name, installed] of installations) if (installed === id) installations.delete(name)
        // Whatever the token was for has not been sent, so its outcome is no question.
        throw new GithubError(classify(error, { request: `token of installation ${id}`, write: false, now: now() }))
      }
    }
    const cached = await ask(stale.delete(id))
    return cached.expiresAt.getTime() - now().getTime() >= minimumLifeMs ? cached : ask(true)
  }

  const installationOf = async (fullName: string): Promise<string> => {
    const name = fullName.toLowerCase()
    const found = installations.get(name)
    if (found !== undefined) return found
    const [owner, repo] = fullName.split('/')
    const { data } = await look('GET /repos/{owner}/{repo}/installation', { owner, repo }, await app())
    const id = idOf(at(data, 'id'))
    if (id === null) throw new GithubError({ kind: 'server', status: 200, message: `GitHub names no installation for ${fullName}` })
    installations.set(name, id)
    return id
  }

  return {
    app,
    installation,
    repository: async (fullName, minimumLifeMs) => installation(await installationOf(fullName), minimumLifeMs),
    refused: (fullName) => {
      const id = installations.get(fullName.toLowerCase())
      if (id !== undefined) stale.add(id)
      installations.delete(fullName.toLowerCase())
    },
  }
}
