/**
 * What moved in git, told: a push delivery for each ref that differs from what was told last, and the open pull requests whose
 * head or base it was. It compares instead of being told, so a push whose process died between git and the state file is told
 * after the next start.
 */
import { type Commit, changedFiles, diffOf, isAncestor, listCommits, readCommit, readRefs, setRef, ZERO } from '../git.ts'
import { pushRepository, repositoryPage } from '../shapes/accounts.ts'
import { accountByEmail, pushCommit } from '../shapes/git.ts'
import { byId, type Diff, now, type Pull, type Repository } from '../state.ts'
import type { Raise, World } from '../world.ts'
import { plainEvent, pullEvent } from './events.ts'
import { touch } from './issues.ts'

interface Move {
  ref: string
  before: string
  after: string
  forced: boolean
  commits: { commit: Commit; payload: Record<string, unknown> }[]
  head: Record<string, unknown> | null
}

interface Follow {
  pull: Pull
  headSha: string
  baseSha: string
  diff: Diff
}

/** GitHub lists no more commits than this in one delivery. */
const COMMITS_TOLD = 2048

/** Call it inside the repository's turn (`alone`). */
export async function settleRefs(world: World, repository: Repository, pusherId: number): Promise<void> {
  const folder = world.folderOf(repository)
  const refs = await readRefs(folder)
  const names = [...new Set([...Object.keys(repository.refs), ...Object.keys(refs)])].filter((ref) => refs[ref] !== repository.refs[ref])
  if (names.length === 0) return
  const moves: Move[] = []
  for (const ref of names.sort()) moves.push(await moveOf(world, repository, folder, ref, repository.refs[ref] ?? ZERO, refs[ref] ?? ZERO))
  const follows: Follow[] = []
  for (const pull of openPulls(world, repository)) {
    const headSha = refs[`refs/heads/${pull.headRef}`] ?? pull.headSha
    const baseSha = refs[`refs/heads/${pull.baseRef}`] ?? pull.baseSha
    if (headSha === pull.headSha && baseSha === pull.baseSha) continue
    if (headSha !== pull.headSha) await setRef(folder, `refs/pull/${pull.number}/head`, headSha)
    follows.push({ pull, headSha, baseSha, diff: await diffOf(folder, baseSha, headSha) })
  }

  world.change((raise) => {
    repository.refs = refs
    repository.lastPusherId = pusherId
    repository.pushedAt = now()
    for (const move of moves) raise(pushEvent(world, repository, move, pusherId))
    for (const follow of follows) followPull(world, raise, follow, pusherId)
  })
}

function openPulls(world: World, repository: Repository): Pull[] {
  return world.state.pulls.filter(
    (pull) => pull.repositoryId === repository.id && byId(world.state.issues, pull.issueId, 'issue').state === 'open',
  )
}

function followPull(world: World, raise: Raise, { pull, headSha, baseSha, diff }: Follow, pusherId: number): void {
  const before = pull.headSha
  Object.assign(pull, { headSha, baseSha, diff })
  if (headSha === before) return
  touch(byId(world.state.issues, pull.issueId, 'issue'))
  raise(pullEvent(world, pull, 'synchronize', pusherId, { before, after: headSha }))
}

async function moveOf(world: World, repository: Repository, folder: string, ref: string, before: string, after: string): Promise<Move> {
  const created = before === ZERO
  if (after === ZERO) return { ref, before, after, forced: false, commits: [], head: null }
  const forced = !created && !(await isAncestor(folder, before, after))
  // A new branch brings what the default branch lacks.
  const told = repository.refs[`refs/heads/${repository.defaultBranch}`]
  const range = created ? (told && told !== after ? `${told}..${after}` : null) : `${before}..${after}`
  const listed = range && ref.startsWith('refs/heads/') ? (await listCommits(folder, range, COMMITS_TOLD)).reverse() : []
  const commits: Move['commits'] = []
  for (const commit of listed) commits.push({ commit, payload: await described(world, repository, folder, commit) })
  const last = commits.at(-1)
  const head = last?.commit.sha === after ? last.payload : await described(world, repository, folder, await readCommit(folder, after))
  return { ref, before, after, forced, commits, head }
}

async function described(world: World, repository: Repository, folder: string, commit: Commit): Promise<Record<string, unknown>> {
  return pushCommit(world, repository, commit, await changedFiles(folder, commit.parents[0] ?? null, commit.sha))
}

function pushEvent(world: World, repository: Repository, move: Move, pusherId: number) {
  const pusher = byId(world.state.accounts, pusherId, 'account')
  const known = accountByEmail(world.state, pusher.email) ?? pusher
  const span = `${move.before.slice(0, 12)}...${move.after.slice(0, 12)}`
  const told = plainEvent(world, 'push', null, repository, pusherId, {
    ref: move.ref,
    before: move.before,
    after: move.after,
    pusher: { name: known.login, email: known.email },
    created: move.before === ZERO,
    deleted: move.after === ZERO,
    forced: move.forced,
    base_ref: null,
    compare: `${repositoryPage(world, repository)}/compare/${span}`,
    commits: move.commits.map(({ payload }) => payload),
    head_commit: move.head,
  })
  return { ...told, payload: { ...told.payload, repository: pushRepository(world, repository) } }
}
