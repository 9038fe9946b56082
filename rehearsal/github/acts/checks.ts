/** Checks and statuses on a commit. A suite gathers one App's runs on one commit, and is completed when all of them are. */
import { readCommit, ZERO } from '../git.ts'
import { webhookCheckSuite } from '../shapes/checks.ts'
import { byId, type CheckRun, type CheckSuite, type Conclusion, nextId, now, type Repository, type Status } from '../state.ts'
import type { World } from '../world.ts'
import { checkRunEvent, plainEvent } from './events.ts'

export interface NewRun {
  name: string
  headSha: string
  status: CheckRun['status']
  conclusion: Conclusion | null
  detailsUrl: string | null
  externalId: string
  output: CheckRun['output']
}

export function createRun(world: World, repository: Repository, appId: number, given: NewRun): Promise<CheckRun> {
  return changeRun(world, repository, appId, given.headSha, (suite) => {
    const at = now()
    const completed = given.status === 'completed'
    const run: CheckRun = {
      id: nextId(world.state, 'checkRun'),
      repositoryId: repository.id,
      suiteId: suite.id,
      startedAt: at,
      completedAt: completed ? at : null,
      ...given,
    }
    world.state.checkRuns.push(run)
    return { run, actions: completed ? ['created', 'completed'] : ['created'] }
  })
}

export type RunEdit = Partial<Omit<NewRun, 'headSha'>>

export function updateRun(world: World, repository: Repository, run: CheckRun, edit: RunEdit): Promise<CheckRun> {
  const { appId } = byId(world.state.checkSuites, run.suiteId, 'check suite')
  return changeRun(world, repository, appId, run.headSha, () => {
    const finished = edit.status === 'completed' && run.status !== 'completed'
    Object.assign(run, edit, { completedAt: finished ? now() : run.completedAt })
    return { run, actions: finished ? ['completed'] : [] }
  })
}

type RunChange = (suite: CheckSuite) => { run: CheckRun; actions: ('created' | 'completed')[] }

async function changeRun(world: World, repository: Repository, appId: number, headSha: string, work: RunChange): Promise<CheckRun> {
  const head = await readCommit(world.folderOf(repository), headSha)
  const { botId } = byId(world.state.apps, appId, 'app')
  return world.change((raise) => {
    const suite = suiteFor(world, repository, appId, headSha, head.parents[0] ?? ZERO)
    const { run, actions } = work(suite)
    const completed = settleSuite(world, suite)
    for (const action of actions) raise(checkRunEvent(world, run, action, botId))
    if (completed)
      raise(plainEvent(world, 'check_suite', 'completed', repository, botId, { check_suite: webhookCheckSuite(world, suite, head) }))
    return run
  })
}

function suiteFor(world: World, repository: Repository, appId: number, headSha: string, before: string): CheckSuite {
  const known = world.state.checkSuites.find(
    (suite) => suite.repositoryId === repository.id && suite.appId === appId && suite.headSha === headSha,
  )
  if (known) return known
  const branch = Object.entries(repository.refs).find(([ref, sha]) => sha === headSha && ref.startsWith('refs/heads/'))?.[0]
  const at = now()
  const suite: CheckSuite = {
    id: nextId(world.state, 'checkSuite'),
    repositoryId: repository.id,
    appId,
    headSha,
    headBranch: branch?.slice('refs/heads/'.length) ?? null,
    before,
    status: 'queued',
    conclusion: null,
    createdAt: at,
    updatedAt: at,
  }
  world.state.checkSuites.push(suite)
  return suite
}

/** Worst first: a suite is as good as its worst run. */
const WORST: Conclusion[] = ['action_required', 'timed_out', 'failure', 'cancelled', 'success', 'neutral', 'skipped']

/** Says whether the suite has just been completed. */
function settleSuite(world: World, suite: CheckSuite): boolean {
  const runs = world.state.checkRuns.filter((run) => run.suiteId === suite.id)
  const latest = runs.filter((run) => !runs.some((other) => other.name === run.name && other.id > run.id))
  const completed = latest.length > 0 && latest.every((run) => run.status === 'completed')
  const conclusion = completed ? (WORST.find((candidate) => latest.some((run) => run.conclusion === candidate)) ?? null) : null
  const news = completed && (suite.status !== 'completed' || suite.conclusion !== conclusion)
  Object.assign(suite, { status: completed ? 'completed' : 'in_progress', conclusion, updatedAt: now() })
  return news
}

export function createStatus(world: World, repository: Repository, given: Omit<Status, 'id' | 'repositoryId' | 'createdAt'>): Status {
  return world.change(() => {
    const status: Status = { id: nextId(world.state, 'status'), repositoryId: repository.id, ...given, createdAt: now() }
    world.state.statuses.push(status)
    return status
  })
}
