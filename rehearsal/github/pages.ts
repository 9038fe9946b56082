/** What a person sees who follows an `html_url`: an issue or a pull request as one plain page, to read and not to write. */
import { changedFiles } from './git.ts'
import { issueOf, pullOf, repositoryOf, type State } from './state.ts'
import type { World } from './world.ts'

/** Null: no such page. */
export async function pageAt(world: World, pathname: string): Promise<string | null> {
  const match = /^\/([^/]+)\/([^/]+)\/(?:issues|pull)\/(\d+)$/.exec(pathname)
  if (!match) return null
  const { state } = world
  const repository = repositoryOf(state, match[1]!, match[2]!)
  const number = Number(match[3])
  const issue = repository && issueOf(state, repository, number)
  if (!issue) return null
  const pull = pullOf(state, repository, number)
  const files = pull ? await changedFiles(world.folderOf(repository), pull.diff.mergeBase, pull.headSha) : []
  const remarks = [
    ...state.comments
      .filter((comment) => comment.issueId === issue.id)
      .map((comment) => ({ ...comment, at: comment.createdAt, where: '' })),
    ...state.reviews
      .filter((review) => review.pullId === pull?.id && (review.body || review.state !== 'COMMENTED'))
      .map((review) => ({ ...review, at: review.submittedAt, where: review.state.toLowerCase().replace('_', ' ') })),
    ...state.reviewComments
      .filter((comment) => comment.pullId === pull?.id)
      .map((comment) => ({ ...comment, at: comment.createdAt, where: 'on a line' })),
  ].sort((a, b) => a.at.localeCompare(b.at))
  const checks = state.checkRuns.filter((run) => run.repositoryId === repository.id && run.headSha === pull?.headSha)

  return layout(`${issue.title} · ${match[1]}/${match[2]} #${number}`, [
    `<h1>${escapeHtml(issue.title)} <small>#${number}</small></h1>`,
    `<p><b>${pull?.merged ? 'merged' : pull?.draft ? 'draft' : issue.state}</b> · ${loginOf(state, issue.userId)}`,
    pull ? ` wants <code>${escapeHtml(pull.headRef)}</code> in <code>${escapeHtml(pull.baseRef)}</code></p>` : ' opened this</p>',
    remark(state, { userId: issue.userId, at: issue.createdAt, where: '', body: issue.body }),
    ...remarks.map((one) => remark(state, one)),
    ...checks.map((run) => `<p>check <code>${escapeHtml(run.name)}</code>: ${run.conclusion ?? run.status}</p>`),
    ...files.map(
      (file) =>
        `<h3>${escapeHtml(file.filename)} <small>+${file.additions} −${file.deletions}</small></h3><pre>${escapeHtml(file.patch)}</pre>`,
    ),
  ])
}

function remark(state: State, { userId, at, where, body }: { userId: number; at: string; where: string; body: string | null }): string {
  return `<article><header>${loginOf(state, userId)} ${escapeHtml(where)} <time>${at}</time></header><pre>${escapeHtml(body ?? '')}</pre></article>`
}

function loginOf(state: State, accountId: number): string {
  return `<b>${escapeHtml(state.accounts.find((account) => account.id === accountId)?.login ?? 'ghost')}</b>`
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
article{border:1px solid #8886;border-radius:6px;margin:1rem 0}header{padding:.4rem .8rem;border-bottom:1px solid #8886}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;padding:.8rem;font:13px/1.5 ui-monospace,monospace}small,time{color:#888}`

function layout(title: string, parts: string[]): string {
  const head = `<meta charset="utf-8"><title>${escapeHtml(title)}</title><style>${STYLE}</style>`
  return `<!doctype html><html lang="en"><head>${head}</head><body>${parts.join('\n')}</body></html>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
