/** What git holds, over REST: refs, branches, commits, comparisons, files. */
import { settleRefs } from '../acts/pushes.ts'
import { READ, repositoryFor, WRITE } from '../auth.ts'
import {
  changedFiles,
  count,
  isAncestor,
  isBranchName,
  listCommits,
  mergeBase,
  moveRef,
  readCommit,
  readPath,
  resolve,
  ZERO,
} from '../git.ts'
import { type Answer, type Call, found, notFound, ok, page, type Route, refuse, requiredText } from '../http.ts'
import { repositoryApi, repositoryPage } from '../shapes/accounts.ts'
import { branchShape, commitShape, commitWithFiles, contentEntry, fileShape, gitCommitShape, refShape, shortBranch } from '../shapes/git.ts'
import type { Repository } from '../state.ts'
import { by } from './issues.ts'

export const gitRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/git/ref/{ref}',
    handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const ref = `refs/${call.params.ref}`
      return ok(refShape(call.world, repository, ref, found(repository.refs[ref])))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/git/matching-refs/{ref}',
    handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const rows = Object.entries(repository.refs).filter(([ref]) => ref.startsWith(`refs/${call.params.ref}`))
      return page(call, rows, ([ref, sha]) => refShape(call.world, repository, ref, sha))
    },
  },
  { method: 'POST', path: '/repos/{owner}/{repo}/git/refs', handle: createRef },
  { method: 'PATCH', path: '/repos/{owner}/{repo}/git/refs/{ref}', handle: updateRef },
  { method: 'DELETE', path: '/repos/{owner}/{repo}/git/refs/{ref}', handle: deleteRef },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/git/commits/{commit_sha}',
    async handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const folder = call.world.folderOf(repository)
      return ok(gitCommitShape(call.world, repository, await readCommit(folder, found(await resolve(folder, call.params.commit_sha!)))))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/branches',
    handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const branches = Object.entries(repository.refs).filter(([ref]) => ref.startsWith('refs/heads/'))
      return page(call, branches, ([ref, sha]) => shortBranch(call.world, repository, ref.slice('refs/heads/'.length), sha))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/branches/{branch}',
    async handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const name = call.params.branch!
      const sha = repository.refs[`refs/heads/${name}`]
      if (!sha) return refuse(404, 'Branch not found')
      return ok(branchShape(call.world, repository, name, await readCommit(call.world.folderOf(repository), sha)))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits',
    async handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const folder = call.world.folderOf(repository)
      const from = found(await resolve(folder, call.query.get('sha') ?? repository.defaultBranch))
      return page(call, await listCommits(folder, from), (commit) => commitShape(call.world, repository, commit))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}',
    async handle(call) {
      const repository = repositoryFor(call, READ.contents)
      const { folder, sha } = await commitIn(call, repository)
      const commit = await readCommit(folder, sha)
      return ok(commitWithFiles(call.world, repository, commit, await changedFiles(folder, commit.parents[0] ?? null, sha)))
    },
  },
  { method: 'GET', path: '/repos/{owner}/{repo}/compare/{basehead}', handle: compare },
  { method: 'GET', path: '/repos/{owner}/{repo}/contents/{path}', handle: contents },
]

/** The commit that a route's `{ref}` names: a branch, a tag or a sha. */
export async function commitIn(call: Call, repository: Repository): Promise<{ folder: string; sha: string }> {
  const folder = call.world.folderOf(repository)
  const ref = call.params.ref!
  const sha = await resolve(folder, ref.replace(/^(heads|tags)\//, ''))
  return { folder, sha: sha ?? refuse(422, `No commit found for SHA: ${ref}`) }
}

function createRef(call: Call): Promise<Answer> {
  const repository = repositoryFor(call, WRITE.contents)
  const ref = requiredText(call.body, 'Reference', 'ref')
  const sha = requiredText(call.body, 'Reference', 'sha')
  return call.world.alone(repository, async () => {
    const branch = /^refs\/(?:heads|tags)\/(.+)$/.exec(ref)?.[1]
    if (!branch || !(await isBranchName(branch))) refuse(422, `Reference name ${ref} is not valid`)
    if (repository.refs[ref]) refuse(422, 'Reference already exists')
    const folder = call.world.folderOf(repository)
    if ((await resolve(folder, sha)) !== sha) refuse(422, 'Object does not exist')
    if (!(await moveRef(folder, ref, sha, ZERO))) refuse(422, 'Reference already exists')
    await settleRefs(call.world, repository, by(call).accountId)
    return ok(refShape(call.world, repository, ref, sha), 201)
  })
}

function updateRef(call: Call): Promise<Answer> {
  const repository = repositoryFor(call, WRITE.contents)
  const sha = requiredText(call.body, 'Reference', 'sha')
  return call.world.alone(repository, async () => {
    const ref = `refs/${call.params.ref}`
    const from = repository.refs[ref]
    if (!from) return refuse(422, 'Reference does not exist')
    const folder = call.world.folderOf(repository)
    if ((await resolve(folder, sha)) !== sha) refuse(422, 'Object does not exist')
    if (call.body.force !== true && !(await isAncestor(folder, from, sha))) refuse(422, 'Update is not a fast forward')
    if (!(await moveRef(folder, ref, sha, from))) refuse(409, 'Reference cannot be updated')
    await settleRefs(call.world, repository, by(call).accountId)
    return ok(refShape(call.world, repository, ref, sha))
  })
}

function deleteRef(call: Call): Promise<Answer> {
  const repository = repositoryFor(call, WRITE.contents)
  return call.world.alone(repository, async () => {
    const ref = `refs/${call.params.ref}`
    const from = repository.refs[ref]
    if (!from) return refuse(422, 'Reference does not exist')
    await moveRef(call.world.folderOf(repository), ref, null, from)
    await settleRefs(call.world, repository, by(call).accountId)
    return { status: 204 }
  })
}

async function compare(call: Call): Promise<Answer> {
  const { world } = call
  const repository = repositoryFor(call, READ.contents)
  const folder = world.folderOf(repository)
  const [baseName = '', headName = ''] = call.params.basehead!.split('...')
  const base = found(await resolve(folder, baseName))
  const head = found(await resolve(folder, headName))
  const common = found(await mergeBase(folder, base, head))
  const [ahead, behind] = [await count(folder, `${base}..${head}`), await count(folder, `${head}..${base}`)]
  const commits = (await listCommits(folder, `${base}..${head}`)).reverse()
  const files = await changedFiles(folder, common, head)
  const pageUrl = `${repositoryPage(world, repository)}/compare/${baseName}...${headName}`
  return ok({
    url: `${repositoryApi(world, repository)}/compare/${baseName}...${headName}`,
    html_url: pageUrl,
    permalink_url: `${repositoryPage(world, repository)}/compare/${base}...${head}`,
    diff_url: `${pageUrl}.diff`,
    patch_url: `${pageUrl}.patch`,
    base_commit: commitShape(world, repository, await readCommit(folder, base)),
    merge_base_commit: commitShape(world, repository, await readCommit(folder, common)),
    status: ahead && behind ? 'diverged' : ahead ? 'ahead' : behind ? 'behind' : 'identical',
    ahead_by: ahead,
    behind_by: behind,
    total_commits: ahead,
    commits: commits.map((commit) => commitShape(world, repository, commit)),
    files: files.map((file) => fileShape(world, repository, head, file)),
  })
}

async function contents(call: Call): Promise<Answer> {
  const { world } = call
  const repository = repositoryFor(call, READ.contents)
  const folder = world.folderOf(repository)
  const ref = call.query.get('ref') ?? repository.defaultBranch
  const sha = await resolve(folder, ref.replace(/^refs\/(heads|tags)\//, ''))
  if (!sha) return refuse(404, `No commit found for the ref ${ref}`)
  const path = call.params.path!.replace(/\/+$/, '')
  const there = await readPath(folder, sha, path)
  if (!there) return notFound()
  if ('entries' in there) return ok(there.entries.map((entry) => contentEntry(world, repository, ref, entry)))
  // GitHub breaks the base64 after every 60 characters
  const content = there.base64.replace(/.{60}/g, '$&\n')
  return ok({ ...contentEntry(world, repository, ref, there.file), content, encoding: 'base64' })
}
