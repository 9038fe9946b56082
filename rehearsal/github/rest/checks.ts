/** Checks and statuses of a commit. Checks are written by Apps only. */
import { createRun, createStatus, type NewRun, updateRun } from '../acts/checks.ts'
import { authorOf, READ, repositoryFor, WRITE } from '../auth.ts'
import { readCommit } from '../git.ts'
import { type Call, found, invalid, numberParam, ok, oneOf, optionalText, page, type Route, refuse, requiredText } from '../http.ts'
import { minimalRepository, repositoryApi } from '../shapes/accounts.ts'
import { checkRunShape, checkSuiteShape, simpleStatus, statusShape } from '../shapes/checks.ts'
import { latestRuns } from '../shapes/pulls.ts'
import type { CheckRun, Repository } from '../state.ts'
import { commitIn } from './git.ts'

const STATUSES = ['queued', 'in_progress', 'completed'] as const
const CONCLUSIONS = ['success', 'failure', 'neutral', 'cancelled', 'skipped', 'timed_out', 'action_required'] as const

export const checkRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/check-runs',
    async handle(call) {
      const repository = repositoryFor(call, WRITE.checks)
      const { actor, body } = call
      if (actor.kind !== 'installation') return refuse(403, 'You must authenticate via a GitHub App.')
      const headSha = requiredText(body, 'CheckRun', 'head_sha')
      const { sha } = await commitIn({ ...call, params: { ...call.params, ref: headSha } }, repository)
      const name = requiredText(body, 'CheckRun', 'name')
      const blank = {
        status: 'queued',
        conclusion: null,
        detailsUrl: null,
        externalId: '',
        output: { title: null, summary: null, text: null },
      } as const
      const run = await createRun(call.world, repository, actor.app.id, { ...blank, ...runFields(body), name, headSha: sha })
      return ok(checkRunShape(call.world, run), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/check-runs/{check_run_id}',
    handle: (call) => ok(checkRunShape(call.world, runIn(call, repositoryFor(call, READ.checks)))),
  },
  {
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/check-runs/{check_run_id}',
    async handle(call) {
      const repository = repositoryFor(call, WRITE.checks)
      if (call.actor.kind !== 'installation') return refuse(403, 'You must authenticate via a GitHub App.')
      return ok(checkRunShape(call.world, await updateRun(call.world, repository, runIn(call, repository), runFields(call.body))))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/check-runs',
    async handle(call) {
      const { world, query } = call
      const repository = repositoryFor(call, READ.checks)
      const { sha } = await commitIn(call, repository)
      const filter = oneOf(query.get('filter') ?? 'latest', ['latest', 'all'], 'CheckRun', 'filter')
      const all = world.state.checkRuns.filter((run) => run.repositoryId === repository.id && run.headSha === sha)
      const rows = (filter === 'all' ? all : latestRuns(world.state, repository.id, sha))
        .filter((run) => !query.has('check_name') || run.name === query.get('check_name'))
        .filter((run) => !query.has('status') || run.status === query.get('status'))
        .reverse()
      return page(
        call,
        rows,
        (run) => checkRunShape(world, run),
        (items) => ({ total_count: rows.length, check_runs: items }),
      )
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/check-suites',
    async handle(call) {
      const { world } = call
      const repository = repositoryFor(call, READ.checks)
      const { folder, sha } = await commitIn(call, repository)
      const head = await readCommit(folder, sha)
      const rows = world.state.checkSuites.filter((suite) => suite.repositoryId === repository.id && suite.headSha === sha)
      return page(
        call,
        rows,
        (suite) => checkSuiteShape(world, suite, head),
        (items) => ({ total_count: rows.length, check_suites: items }),
      )
    },
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/statuses/{sha}',
    async handle(call) {
      const { world, body } = call
      const repository = repositoryFor(call, WRITE.statuses)
      const { sha } = await commitIn({ ...call, params: { ...call.params, ref: call.params.sha! } }, repository)
      const status = createStatus(world, repository, {
        sha,
        state: oneOf(body.state, ['error', 'failure', 'pending', 'success'], 'Status', 'state'),
        context: optionalText(body, 'Status', 'context') ?? 'default',
        description: optionalText(body, 'Status', 'description') ?? null,
        targetUrl: optionalText(body, 'Status', 'target_url') ?? null,
        creatorId: authorOf(call.actor).id,
      })
      return ok(statusShape(world, repository, status), 201)
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/status',
    async handle(call) {
      const { world } = call
      const repository = repositoryFor(call, READ.statuses)
      const { sha } = await commitIn(call, repository)
      const all = world.state.statuses.filter((status) => status.repositoryId === repository.id && status.sha === sha)
      const latest = all.filter((status) => !all.some((other) => other.context === status.context && other.id > status.id))
      const red = latest.some((status) => status.state === 'failure' || status.state === 'error')
      const green = latest.length > 0 && latest.every((status) => status.state === 'success')
      const api = `${repositoryApi(world, repository)}/commits/${sha}`
      return ok({
        state: red ? 'failure' : green ? 'success' : 'pending',
        statuses: latest.map((status) => simpleStatus(world, repository, status)),
        sha,
        total_count: latest.length,
        repository: minimalRepository(world, repository),
        commit_url: api,
        url: `${api}/status`,
      })
    },
  },
]

/** A conclusion completes a run, whatever is said of its status. */
function runFields(body: Record<string, unknown>): Partial<Omit<NewRun, 'headSha'>> {
  const conclusion = body.conclusion === undefined ? undefined : oneOf(body.conclusion, CONCLUSIONS, 'CheckRun', 'conclusion')
  const status = conclusion ? 'completed' : body.status === undefined ? undefined : oneOf(body.status, STATUSES, 'CheckRun', 'status')
  if (status === 'completed' && !conclusion) invalid('CheckRun', 'conclusion', 'missing_field')
  const output = typeof body.output === 'object' && body.output !== null ? (body.output as Record<string, unknown>) : null
  return {
    ...(body.name === undefined ? {} : { name: requiredText(body, 'CheckRun', 'name') }),
    ...(status ? { status } : {}),
    ...(conclusion ? { conclusion } : {}),
    ...(body.details_url === undefined ? {} : { detailsUrl: optionalText(body, 'CheckRun', 'details_url') ?? null }),
    ...(body.external_id === undefined ? {} : { externalId: optionalText(body, 'CheckRun', 'external_id') ?? '' }),
    ...(output
      ? {
          output: {
            title: optionalText(output, 'CheckRun', 'title') ?? null,
            summary: optionalText(output, 'CheckRun', 'summary') ?? null,
            text: optionalText(output, 'CheckRun', 'text') ?? null,
          },
        }
      : {}),
  }
}

function runIn(call: Call, repository: Repository): CheckRun {
  const id = numberParam(call, 'check_run_id')
  return found(call.world.state.checkRuns.find((run) => run.id === id && run.repositoryId === repository.id))
}
