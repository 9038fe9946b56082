/**
 * The operator's side: what tests and scenarios do that no program does over GitHub's API. It sets the stage and acts as the
 * people in it. Each deed is a function on the handle and the same deed under `POST /_rehearsal/{deed}`; `as` is the login of
 * who does it, `repository` is `owner/name`.
 */
import { createRun, updateRun } from './acts/checks.ts'
import { addComment, type By, deleteComment, editComment, editIssue, type IssueEdit, lockIssue, openIssue } from './acts/issues.ts'
import { editPull, mergePull, openPull, setDraft } from './acts/pulls.ts'
import { settleRefs } from './acts/pushes.ts'
import { commentOnLine, type NewReview, type NewThread, replyInThread, resolveThread, submitReview } from './acts/reviews.ts'
import {
  accountNamed,
  appNamed,
  createAccount,
  createApp,
  createHook,
  createRepository,
  createToken,
  deleteAccount,
  installApp,
  Mistake,
  type NewApp,
  type NewHook,
  type NewRepository,
  repositoryNamed,
  setAppHook,
  setMember,
} from './acts/setup.ts'
import type { Faults, Rule } from './faults.ts'
import { commitFiles, type FileEdits, moveRef, ZERO } from './git.ts'
import { type AccountType, byId, type Conclusion, issueOf, pullOf, type Repository, type ReviewThread, type Role } from './state.ts'
import type { World } from './world.ts'

interface At {
  repository: string
  as: string
}
interface Numbered extends At {
  number: number
}

export function createOperator(world: World, faults: Faults) {
  const { state } = world
  const by = (login: string): By => ({ accountId: accountNamed(state, login).id, appId: null })
  const issueAt = ({ repository, number }: { repository: string; number: number }) =>
    issueOf(state, repositoryNamed(state, repository), number) ?? mistaken(`${repository} has no issue or pull request ${number}`)
  const pullAt = ({ repository, number }: { repository: string; number: number }) =>
    pullOf(state, repositoryNamed(state, repository), number) ?? mistaken(`${repository} has no pull request ${number}`)
  const commentAt = (id: number) => state.comments.find((row) => row.id === id) ?? mistaken(`there is no comment ${id}`)
  const threadAt = (id: number): ReviewThread =>
    state.reviewThreads.find((row) => row.id === id) ?? mistaken(`there is no review thread ${id}`)

  return {
    createAccount: (given: { login: string; type?: AccountType; name?: string; email?: string }) => createAccount(world, given),
    deleteAccount: (given: { login: string }) => deleteAccount(world, given.login),
    createApp: (given: NewApp) => createApp(world, given),
    installApp: (given: { app: string; account: string; repositories?: string[] }) => installApp(world, given),
    setAppHook: (given: { app: string } & NewHook) => setAppHook(world, given.app, given),
    createToken: (given: { login: string }) => createToken(world, given.login),
    createRepository: (given: NewRepository) => createRepository(world, given),
    setMember: (given: { repository: string; login: string; role: Role | null }) =>
      setMember(world, given.repository, given.login, given.role),
    createHook: (given: { repository: string } & NewHook) => createHook(world, given.repository, given),

    openIssue(given: At & { title: string; body?: string | null; labels?: string[]; assignees?: string[] }) {
      const assigneeIds = (given.assignees ?? []).map((login) => accountNamed(state, login).id)
      const issue = { title: given.title, body: given.body ?? null, labels: given.labels ?? [], assigneeIds }
      return openIssue(world, repositoryNamed(state, given.repository), by(given.as), issue)
    },
    editIssue(
      given: Numbered & { title?: string; body?: string | null; labels?: string[]; assignees?: string[]; state?: 'open' | 'closed' },
    ) {
      const { title, body, labels, state: wanted } = given
      const edit: IssueEdit = {
        ...(title === undefined ? {} : { title }),
        ...(body === undefined ? {} : { body }),
        ...(labels === undefined ? {} : { labels }),
        ...(wanted === undefined ? {} : { state: wanted }),
        ...(given.assignees ? { assigneeIds: given.assignees.map((login) => accountNamed(state, login).id) } : {}),
      }
      const issue = issueAt(given)
      editIssue(world, repositoryNamed(state, given.repository), issue, by(given.as), edit)
      return issue
    },
    async close(given: Numbered) {
      const issue = issueAt(given)
      const repository = repositoryNamed(state, given.repository)
      if (issue.pullId !== null) await editPull(world, repository, pullAt(given), by(given.as), { state: 'closed' })
      else editIssue(world, repository, issue, by(given.as), { state: 'closed' })
      return issue
    },
    lock: (given: Numbered & { locked: boolean }) => lockIssue(world, issueAt(given), by(given.as), given.locked),
    comment: (given: Numbered & { body: string }) => addComment(world, issueAt(given), by(given.as), given.body),
    editComment: (given: { as: string; comment: number; body: string }) =>
      editComment(world, commentAt(given.comment), by(given.as), given.body),
    deleteComment: (given: { as: string; comment: number }) => deleteComment(world, commentAt(given.comment), by(given.as)),

    /** One commit on a branch, which is made from the default branch where it does not exist. */
    push(given: At & { branch?: string; message: string; files: FileEdits }) {
      const repository = repositoryNamed(state, given.repository)
      return world.alone(repository, () => pushCommit(repository, given))
    },
    deleteBranch(given: At & { branch: string }) {
      const repository = repositoryNamed(state, given.repository)
      return world.alone(repository, async () => {
        const ref = `refs/heads/${given.branch}`
        await moveRef(
          world.folderOf(repository),
          ref,
          null,
          repository.refs[ref] ?? mistaken(`${given.repository} has no branch ${given.branch}`),
        )
        await settleRefs(world, repository, by(given.as).accountId)
      })
    },
    openPull(given: At & { title: string; body?: string | null; head: string; base?: string; draft?: boolean }) {
      const repository = repositoryNamed(state, given.repository)
      const { title, body = null, head, base = repository.defaultBranch, draft = false } = given
      return openPull(world, repository, by(given.as), { title, body, head, base, draft })
    },
    setDraft: (given: Numbered & { draft: boolean }) => setDraft(world, pullAt(given), by(given.as), given.draft),
    merge(given: Numbered & { method?: 'merge' | 'squash' }) {
      const merge = { method: given.method ?? 'merge', sha: null, title: null, message: null } as const
      return mergePull(world, repositoryNamed(state, given.repository), pullAt(given), by(given.as), merge)
    },
    review(
      given: Numbered & {
        state: NewReview['state']
        body?: string | null
        comments?: (Omit<NewThread, 'side'> & { side?: NewThread['side'] })[]
      },
    ) {
      const comments = (given.comments ?? []).map((comment) => ({ side: 'RIGHT' as const, ...comment }))
      const review = { state: given.state, body: given.body ?? null, commitId: null, comments }
      return submitReview(world, repositoryNamed(state, given.repository), pullAt(given), by(given.as), review)
    },
    commentOnLine: (given: Numbered & NewThread) =>
      commentOnLine(world, repositoryNamed(state, given.repository), pullAt(given), by(given.as), given),
    replyInThread: (given: { as: string; thread: number; body: string }) =>
      replyInThread(world, threadAt(given.thread), by(given.as), given.body),
    resolveThread: (given: { as: string; thread: number; resolved: boolean }) =>
      resolveThread(world, threadAt(given.thread), by(given.as), given.resolved),

    /** A check's result on a branch's head or a commit. The App that gives it is made where it does not exist. */
    async setCheck(given: {
      repository: string
      at: string
      name: string
      app?: string
      conclusion?: Conclusion | null
      summary?: string
      text?: string
    }) {
      const repository = repositoryNamed(state, given.repository)
      const slug = given.app ?? 'rehearsal-ci'
      const owner = byId(state.accounts, repository.ownerId, 'account').login
      if (!state.apps.some((app) => app.slug === slug)) createApp(world, { slug, owner })
      const headSha = repository.refs[`refs/heads/${given.at}`] ?? given.at
      const conclusion = given.conclusion ?? null
      const status = conclusion ? ('completed' as const) : ('in_progress' as const)
      const output = { title: given.name, summary: given.summary ?? null, text: given.text ?? null }
      const open = state.checkRuns.findLast(
        (run) => run.repositoryId === repository.id && run.headSha === headSha && run.name === given.name && run.status !== 'completed',
      )
      if (open) return updateRun(world, repository, open, { status, conclusion, output })
      return createRun(world, repository, appNamed(state, slug).id, {
        name: given.name,
        headSha,
        status,
        conclusion,
        detailsUrl: null,
        externalId: '',
        output,
      })
    },

    /** From now on these rules and no others (`faults.ts`); an empty list clears them. */
    async setFaults(rules: readonly Rule[] | { rules: readonly Rule[] }) {
      await faults.set(rules)
      // deliveries that a rule kept back, which is gone
      world.change(() => undefined)
    },

    /** Ends when everything that was raised so far has been posted, but for what a rule keeps back. */
    delivered: () => world.delivered(),
    state: () => state,
  }

  async function pushCommit(
    repository: Repository,
    given: At & { branch?: string; message: string; files: FileEdits },
  ): Promise<{ sha: string; branch: string }> {
    const folder = world.folderOf(repository)
    const branch = given.branch ?? repository.defaultBranch
    const ref = `refs/heads/${branch}`
    const before = repository.refs[ref]
    const account = accountNamed(state, given.as)
    const parent = before ?? repository.refs[`refs/heads/${repository.defaultBranch}`] ?? null
    const sha = await commitFiles(folder, parent, given.files, {
      message: given.message,
      by: { name: account.name ?? account.login, email: account.email },
    })
    if (!(await moveRef(folder, ref, sha, before ?? ZERO))) throw new Mistake(`${ref} of ${given.repository} cannot be moved to ${sha}`)
    await settleRefs(world, repository, account.id)
    return { sha, branch }
  }
}

export type Operator = ReturnType<typeof createOperator>

function mistaken(message: string): never {
  throw new Mistake(message)
}

/** The operator over HTTP: the deed is the last part of the path, its facts are the JSON body. */
export async function operate(
  operator: Operator,
  deed: string,
  given: Record<string, unknown>,
): Promise<{ status: number; body: unknown }> {
  if (!Object.hasOwn(operator, deed)) {
    return { status: 404, body: { message: `the operator knows no "${deed}"; it knows ${Object.keys(operator).join(', ')}` } }
  }
  const act = operator[deed as keyof Operator] as (given: Record<string, unknown>) => unknown
  try {
    return { status: 200, body: (await act(given)) ?? {} }
  } catch (error) {
    if (error instanceof Mistake) return { status: 422, body: { message: error.message } }
    throw error
  }
}
