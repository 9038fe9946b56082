import { expect, test } from 'vitest'
import { GithubError } from './failure.ts'
import { findChanges, type Read } from './lists.ts'

const refused = (kind: 'forbidden' | 'not-found') => new GithubError({ kind, status: kind === 'forbidden' ? 403 : 404, message: 'no' })
const window = { since: new Date('2026-11-01T00:00:00Z'), until: null }
const comment = (number: number) => ({
  id: number,
  body: 'x',
  created_at: '2026-11-02T00:00:00Z',
  updated_at: '2026-11-02T00:00:00Z',
  issue_url: `https://api.github.example/repos/acme/widgets/issues/${number}`,
  user: { id: 1, login: 'lin' },
})
const read = (refuse: Record<string, GithubError>): Read => ({
  async one(_, route, { number }) {
    const error = refuse[`${route} ${number ?? ''}`.trim()]
    if (error) throw error
    return { id: number ?? 1, number, full_name: 'acme/widgets' }
  },
  async all(_, route) {
    const error = refuse[route]
    if (error) throw error
    return route.endsWith('/issues/comments') ? [comment(1), comment(2)] : []
  },
})
const REPOSITORY = 'GET /repos/{owner}/{repo}'

test('[M3] [F117] a repository that the agent does not see has nothing to tell, and says so', async () => {
  for (const kind of ['forbidden', 'not-found'] as const)
    expect(await findChanges(read({ [REPOSITORY]: refused(kind) }))('acme/widgets', window)).toBeNull()
})

test('[M3] [F117] an issue that was deleted between the list and its look takes its own comments away and nobody else’s', async () => {
  const gone = read({ [`${REPOSITORY}/issues/{number} 1`]: refused('not-found') })
  expect((await findChanges(gone)('acme/widgets', window))!.map(({ object }) => object)).toEqual(['issue_comment:2'])
})

test('[M3] a list that is refused fails the look, so that nothing is passed over in silence', async () => {
  const forbidden = read({ [`${REPOSITORY}/pulls/comments`]: refused('forbidden') })
  await expect(findChanges(forbidden)('acme/widgets', window)).rejects.toThrow(GithubError)
})
