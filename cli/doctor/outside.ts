/** What stands outside: GitHub and the model. One small question to each; nothing that costs. */
import { GithubError, type GithubFailure } from '../../channels/github/failure.ts'
import type { ModelSettings } from '../../core/deployment/settings.ts'
import { openGithub } from '../../worker/github.ts'
import { counted } from '../lines.ts'
import { type Finding, type Given, off, ok, problem, reasonOf } from './finding.ts'

export async function github({ settings: { github: given } }: Given): Promise<Finding> {
  if (!given) return off('no GITHUB_APP_ID and no GITHUB_TOKEN: npm start plays the rehearsal')
  const { apiUrl, webhookSecrets, repositories } = given
  try {
    const { login } = await openGithub(given).identity()
    const serves = repositories.length === 0 ? 'every repository that it sees' : repositories.join(', ')
    return ok(`${login} at ${apiUrl}, serves ${serves}, ${counted(webhookSecrets.length, 'webhook secret')}`)
  } catch (error) {
    if (!(error instanceof GithubError)) return problem(reasonOf(error), 'correct GITHUB_API_URL')
    return problem(error.message, GITHUB_FIXES[error.failure.kind] ?? 'look whether GitHub is up, then look again')
  }
}

const GITHUB_FIXES: Partial<Readonly<Record<GithubFailure['kind'], string>>> = {
  unauthorised: 'correct GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, or GITHUB_TOKEN',
  forbidden: 'give the app or token the rights that docs list, and install the app',
  'not-found': 'correct GITHUB_API_URL (github.com: https://api.github.com, Enterprise: https://HOST/api/v3)',
  'rate-limited': 'wait: GitHub takes no more requests from this account for now',
  server: 'look at the network and at GITHUB_API_URL',
}

const PATIENCE_MS = 10_000

export async function model({ settings: { model: given } }: Given): Promise<Finding> {
  if (!given) return off('no MODEL_PROVIDER: the scripted model of the rehearsal')
  const names = given.mainName === given.name ? given.name : `${given.name} and ${given.mainName}`
  if (given.provider !== 'openai-compatible') return ok(`${given.provider}, ${names}: configured, not asked`)
  const address = `${given.baseUrl?.replace(/\/+$/, '')}/models`
  try {
    const answer = await fetch(address, {
      headers: given.apiKey === null ? {} : { authorization: `Bearer ${given.apiKey}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    return judged(given, answer.status, answer.ok ? await answer.text() : '')
  } catch (error) {
    return problem(`no model answers at ${given.baseUrl} (${reasonOf(error)})`, 'start its server, or correct MODEL_BASE_URL')
  }
}

/** By the answer to `GET /models`, which not every server has. */
export function judged({ baseUrl, name, mainName }: ModelSettings, status: number, body: string): Finding {
  if (status === 401 || status === 403) return problem(`${baseUrl} refuses the key (${status})`, 'correct MODEL_API_KEY')
  if (status >= 500) return problem(`${baseUrl} answers with ${status}`, 'look at the log of its server')
  if (status !== 200) return ok(`${baseUrl} answers; it lists no models (${status}), so ${name} is not confirmed`)
  const listed = modelsIn(body)
  const missing = [...new Set([name, mainName])].filter((each) => listed !== null && !listed.includes(each))
  if (listed === null || listed.length === 0) return ok(`${baseUrl} answers; it lists no models, so ${name} is not confirmed`)
  if (missing.length === 0) return ok(`${baseUrl} answers and knows ${name}`)
  return problem(`${baseUrl} does not know ${missing.join(' and ')}`, `set MODEL_NAME to one of: ${listed.join(', ')}`)
}

function modelsIn(body: string): string[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: { id?: unknown }[] }
    return Array.isArray(data) ? data.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])) : null
  } catch {
    return null // a page for people, or something else that lists nothing
  }
}
