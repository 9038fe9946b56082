/** GitHub as the program uses it: the client, and who the agent is there, asked until it is known and then kept. */
import { createGithubClient, type GithubClient } from '../channels/github/client.ts'
import type { GithubSettings } from '../core/deployment/settings.ts'
import type { AgentIdentity } from '../core/routing/trigger.ts'

export interface GithubAccess {
  client: GithubClient
  /** Rejects while GitHub does not say; then nothing may be taken for a person's message. */
  identity(): Promise<AgentIdentity>
}

export function openGithub({ apiUrl, graphqlUrl, gitUrl, auth }: GithubSettings): GithubAccess {
  const addresses = { apiUrl, ...(graphqlUrl === null ? {} : { graphqlUrl }), ...(gitUrl === null ? {} : { gitUrl }) }
  const client = createGithubClient({ ...addresses, account: auth }, { now: () => new Date() })
  let known: Promise<AgentIdentity> | null = null
  return {
    client,
    identity() {
      known ??= client.whoAmI().catch((error) => {
        known = null
        throw error
      })
      return known
    },
  }
}
