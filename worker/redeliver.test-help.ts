/** A person presses "Redeliver" in the settings of the App. */
import { sign } from 'node:crypto'
import type { OfflineGithub } from '../rehearsal/github/server.ts'

export async function redeliver(github: OfflineGithub, id: number): Promise<number> {
  const app = github.operator.state().apps[0]!
  const at = Math.floor(Date.now() / 1000)
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: at - 30, exp: at + 300, iss: app.id })}`
  const signature = sign('RSA-SHA256', Buffer.from(head), app.privateKey).toString('base64url')
  const headers = { authorization: `Bearer ${head}.${signature}` }
  return (await fetch(`${github.apiUrl}/app/hook/deliveries/${id}/attempts`, { method: 'POST', headers })).status
}
