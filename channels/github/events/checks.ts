/**
 * Finished check runs and suites, and pushes. They stand in a pull request if they name exactly one of this repository, else in
 * the repository; the Ticket is found by what they concern (spec P5, F053).
 *
 * Their author is the app that ran the check. GitHub names as sender who pushed the commit, often the agent itself, and a red check
 * of the agent's own commit must not be taken for its own words (spec P1).
 */
import type { Author, Normalised, Place } from '../../../core/routing/trigger.ts'
import { at, idOf, listOf, numberOf, shaOf, textOf, timeOf } from '../payload.ts'
import { type Delivered, eventName, fact, ignored, known, repositoryPlace } from './delivered.ts'

export const checkRun = (given: Delivered): Normalised => check(given, 'check_run')
export const checkSuite = (given: Delivered): Normalised => check(given, 'check_suite')

function check(given: Delivered, kind: 'check_run' | 'check_suite'): Normalised {
  if (given.action !== 'completed') return ignored(`${eventName(given)} is not read; only finished checks are`)
  const ran = at(given.payload, kind)
  const suite = kind === 'check_run' ? at(ran, 'check_suite') : ran
  const sha = shaOf(at(ran, 'head_sha'))
  const conclusion = textOf(at(ran, 'conclusion'))
  const pulls = pullRequestsOf(given, ran)
  const branch = textOf(at(suite, 'head_branch'))
  const time = timeOf(at(ran, 'completed_at')) ?? timeOf(at(ran, 'updated_at')) ?? timeOf(at(suite, 'updated_at'))
  const [only] = pulls
  return fact(
    given,
    {
      object: `${kind}:${idOf(at(ran, 'id')) ?? ''}`,
      what: [given.action, sha ?? 'unknown', conclusion].join('/'),
      version: time,
      place: only !== undefined && pulls.length === 1 ? pullRequestPlace(given, only) : repositoryPlace(given),
      happenedAt: time,
      url: textOf(at(ran, 'html_url')),
      concerns: {
        pullRequests: pulls,
        // Without a pull request of this repository the branch may be a fork's.
        branches: branch !== '' && pulls.length > 0 ? [branch] : [],
        commits: sha === null ? [] : [sha],
        reviewThread: null,
      },
      facts: known({ name: textOf(at(ran, 'name')), conclusion, app: textOf(at(ran, 'app', 'slug')), branch, sha }),
    },
    appOf(at(ran, 'app')),
  )
}

function appOf(app: unknown): Author {
  const slug = textOf(at(app, 'slug'))
  return {
    source: 'github',
    id: null,
    login: slug === '' ? 'ghost' : `${slug}[bot]`,
    kind: slug === '' ? 'unknown' : 'bot',
    viaApp: idOf(at(app, 'id')),
  }
}

/** GitHub also lists pull requests in forks whose head is this commit; their numbers mean something else here. */
function pullRequestsOf({ repository }: Delivered, ran: unknown): number[] {
  return listOf(at(ran, 'pull_requests'))
    .filter((pull) => idOf(at(pull, 'base', 'repo', 'id')) === repository.id)
    .flatMap((pull) => numberOf(at(pull, 'number')) ?? [])
}

function pullRequestPlace({ repository, repositoryUrl }: Delivered, number: number): Place {
  const url = repositoryUrl === '' ? '' : `${repositoryUrl}/pull/${number}`
  return { source: 'github', key: `github:${repository.id}#${number}`, kind: 'pull_request', repository, number, title: '', url }
}

export function push(given: Delivered): Normalised {
  const { payload, repository } = given
  const ref = textOf(at(payload, 'ref'))
  const [before, after] = [shaOf(at(payload, 'before')), shaOf(at(payload, 'after'))]
  const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : ''
  const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : ''
  if (branch === '' && tag === '') return ignored('push names neither a branch nor a tag')
  if (before === null && after === null) return ignored('push names no commit')
  const pushed = at(payload, 'repository', 'pushed_at')
  return fact(given, {
    object: `push:${repository.id}/${ref}`,
    what: 'push',
    version: `${before ?? 'none'}..${after ?? 'none'}`,
    place: repositoryPlace(given),
    happenedAt: timeOf(pushed) ?? timeOf(at(payload, 'head_commit', 'timestamp')) ?? timeOf(at(payload, 'repository', 'updated_at')),
    url: textOf(at(payload, 'compare')),
    concerns: { pullRequests: [], branches: branch === '' ? [] : [branch], commits: after === null ? [] : [after], reviewThread: null },
    facts: known({
      branch,
      tag,
      before,
      after,
      forced: at(payload, 'forced') === true ? 'true' : null,
      deleted: after === null ? 'true' : null,
    }),
  })
}
