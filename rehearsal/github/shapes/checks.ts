/** How GitHub shows check suites, check runs and commit statuses. */
import type { Commit } from '../git.ts'
import { byId, type CheckRun, type CheckSuite, nodeId, type Pull, type Repository, type State, type Status } from '../state.ts'
import { appOrNull, minimalRepository, repositoryApi, repositoryPage, userOrNull, type View } from './accounts.ts'
import { simpleCommit } from './git.ts'
import { minimalPull } from './pulls.ts'

type Shape = Record<string, unknown>

/** Open pull requests whose head is this commit. */
function pullsAt(state: State, repositoryId: number, sha: string): Pull[] {
  return state.pulls.filter(
    (pull) => pull.repositoryId === repositoryId && pull.headSha === sha && byId(state.issues, pull.issueId, 'issue').state === 'open',
  )
}

export function checkRunShape(view: View, run: CheckRun): Shape {
  const repository = byId(view.state.repositories, run.repositoryId, 'repository')
  const suite = byId(view.state.checkSuites, run.suiteId, 'check suite')
  const api = `${repositoryApi(view, repository)}/check-runs/${run.id}`
  const page = `${repositoryPage(view, repository)}/runs/${run.id}`
  return {
    id: run.id,
    name: run.name,
    node_id: nodeId('checkRun', run.id),
    head_sha: run.headSha,
    external_id: run.externalId,
    url: api,
    html_url: page,
    details_url: run.detailsUrl ?? page,
    status: run.status,
    conclusion: run.conclusion,
    started_at: run.startedAt,
    completed_at: run.completedAt,
    output: { ...run.output, annotations_count: 0, annotations_url: `${api}/annotations` },
    check_suite: { id: run.suiteId },
    app: appOrNull(view, suite.appId),
    pull_requests: pullsAt(view.state, run.repositoryId, run.headSha).map((pull) => minimalPull(view, pull)),
  }
}

/** A delivery shows the run's suite, too. */
export function webhookCheckRun(view: View, run: CheckRun): Shape {
  const suite = byId(view.state.checkSuites, run.suiteId, 'check suite')
  return { ...checkRunShape(view, run), check_suite: suiteCore(view, suite) }
}

function suiteCore(view: View, suite: CheckSuite): Shape {
  const repository = byId(view.state.repositories, suite.repositoryId, 'repository')
  return {
    id: suite.id,
    node_id: nodeId('checkSuite', suite.id),
    head_branch: suite.headBranch,
    head_sha: suite.headSha,
    status: suite.status,
    conclusion: suite.conclusion,
    url: `${repositoryApi(view, repository)}/check-suites/${suite.id}`,
    before: suite.before,
    after: suite.headSha,
    pull_requests: pullsAt(view.state, suite.repositoryId, suite.headSha).map((pull) => minimalPull(view, pull)),
    app: appOrNull(view, suite.appId),
    created_at: suite.createdAt,
    updated_at: suite.updatedAt,
  }
}

/** A delivery's suite, which knows its head commit but not its repository. */
export function webhookCheckSuite(view: View, suite: CheckSuite, head: Commit): Shape {
  const repository = byId(view.state.repositories, suite.repositoryId, 'repository')
  return {
    ...suiteCore(view, suite),
    latest_check_runs_count: view.state.checkRuns.filter((run) => run.suiteId === suite.id).length,
    check_runs_url: `${repositoryApi(view, repository)}/check-suites/${suite.id}/check-runs`,
    head_commit: simpleCommit(head),
    rerequestable: true,
    runs_rerequestable: true,
  }
}

export function checkSuiteShape(view: View, suite: CheckSuite, head: Commit): Shape {
  const repository = byId(view.state.repositories, suite.repositoryId, 'repository')
  return { ...webhookCheckSuite(view, suite, head), repository: minimalRepository(view, repository) }
}

export function statusShape(view: View, repository: Repository, status: Status): Shape {
  return { ...simpleStatus(view, repository, status), creator: userOrNull(view, status.creatorId) }
}

export function simpleStatus(view: View, repository: Repository, status: Status): Shape {
  return {
    url: `${repositoryApi(view, repository)}/statuses/${status.sha}`,
    avatar_url: `${view.url()}/avatars/u/${status.creatorId}?v=4`,
    id: status.id,
    node_id: nodeId('status', status.id),
    state: status.state,
    description: status.description,
    target_url: status.targetUrl,
    context: status.context,
    created_at: status.createdAt,
    updated_at: status.createdAt,
  }
}
