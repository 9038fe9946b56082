/** Where GitHub's REST root, GraphQL and git are (design §8): known for github.com and GitHub Enterprise, else said explicitly. */

export interface AddressSettings {
  /** REST root, e.g. `https://api.github.com` or `https://git.acme.example/api/v3`. */
  apiUrl: string
  graphqlUrl?: string
  gitUrl?: string
}

export interface Endpoints {
  api: string
  graphql: string
  git: string
  /** Domain of the accounts' no-reply addresses. */
  noReplyHost: string
}

export function endpointsOf({ apiUrl, graphqlUrl, gitUrl }: AddressSettings): Endpoints | { problem: string } {
  const stray = [apiUrl, graphqlUrl, gitUrl].find((url) => url !== undefined && !/^https?:\/\//.test(url))
  if (stray !== undefined) return { problem: `"${stray}" is no http address` }
  const api = apiUrl.replace(/\/+$/, '')
  const derived = derive(new URL(api), api)
  const graphql = graphqlUrl ?? derived?.graphql
  const git = (gitUrl ?? derived?.git)?.replace(/\/+$/, '')
  if (!graphql) return { problem: `the GraphQL address does not follow from ${api}: set GITHUB_GRAPHQL_URL` }
  if (!git) return { problem: `the git address does not follow from ${api}: set GITHUB_GIT_URL` }
  return { api, graphql, git, noReplyHost: `users.noreply.${new URL(git).hostname}` }
}

function derive(url: URL, api: string): { graphql: string; git: string } | null {
  if (url.pathname.endsWith('/api/v3')) {
    const root = api.slice(0, -'/api/v3'.length)
    return { graphql: `${root}/api/graphql`, git: root }
  }
  const isHosted = url.hostname === 'api.github.com' || /^api\.[\w-]+\.ghe\.com$/.test(url.hostname)
  return isHosted && url.pathname === '/' ? { graphql: `${api}/graphql`, git: `${url.protocol}//${url.host.slice('api.'.length)}` } : null
}
