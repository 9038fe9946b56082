/** Expectations that every scenario shares in which an issue becomes one ready pull request (spec H2, H3, H7). */
import type { Comment, End, Expectation, PullRequest } from './world.ts'

/** `changed` names every path that the pull request may touch, and must. */
export function onePullRequest(given: {
  title: RegExp
  base: string
  changed: readonly string[]
  evidence: readonly RegExp[]
}): Expectation[] {
  return [
    { name: 'one pull request', fault: ({ pullRequests }) => (pullRequests.length === 1 ? null : `there are ${pullRequests.length}`) },
    about('written by the agent', (pull, { agent }) => (pull.author === agent ? null : `${pull.author} wrote it, not ${agent}`)),
    about('open and ready', (pull) => (pull.state === 'open' && !pull.draft ? null : `it is ${pull.draft ? 'a draft' : pull.state}`)),
    about('into the default branch', (pull) => (pull.base === given.base ? null : `its base is ${pull.base}, not ${given.base}`)),
    about('title', (pull) => (given.title.test(pull.title) ? null : `"${pull.title}" is not like ${given.title}`)),
    about('body names the issue', (pull, { issue }) => (mentions(pull.body, issue.number) ? null : `#${issue.number} is not in it`)),
    ...given.evidence.map((evidence) =>
      about(`body has evidence ${evidence}`, (pull) => (evidence.test(pull.body) ? null : `it is not in:\n${pull.body}`)),
    ),
    about('changes what it should', (pull) => {
      const wrong = [
        ...given.changed.filter((path) => !pull.changed.includes(path)).map((path) => `${path} is unchanged`),
        ...pull.changed.filter((path) => !given.changed.includes(path)).map((path) => `${path} is changed`),
      ]
      return wrong.length === 0 ? null : wrong.join('; ')
    }),
  ]
}

/** A file at the pull request's head. */
export function fileLike(path: string, pattern: RegExp): Expectation {
  return about(`${path} is like ${pattern}`, ({ files }) => {
    const text = files[path]
    if (text === undefined) return 'the file is missing'
    return pattern.test(text) ? null : `it reads:\n${text}`
  })
}

/** One concrete acknowledgement and one result that leads to the pull request, in this order, and no other word (H2, H3). */
export function acknowledgedThenResult(acknowledgement: RegExp): Expectation {
  return {
    name: 'the agent acknowledges, then tells the result, and says nothing else under the issue',
    fault: ({ agent, issue, pullRequests }) => {
      const comments = issue.comments.filter((comment) => comment.author === agent)
      const [first, second] = comments
      if (comments.length !== 2 || !first || !second) return `it wrote ${comments.length} comments${quoted(comments)}`
      if (!acknowledgement.test(first.body)) return `the acknowledgement is not like ${acknowledgement}:${quoted([first])}`
      const number = pullRequests[0]?.number
      return number !== undefined && mentions(second.body, number) ? null : `the result does not lead to #${number}:${quoted([second])}`
    },
  }
}

export const reportedDone: Expectation = {
  name: 'reported as done with the pull request',
  fault: ({ reports, pullRequests }) => {
    const last = reports.at(-1)
    if (!last) return 'there is no Report'
    if (last.status !== 'done') return `the last Report says ${last.status}`
    return last.pullRequest === pullRequests[0]?.number
      ? null
      : `the last Report names #${last.pullRequest}, not #${pullRequests[0]?.number}`
  },
}

/** Says nothing when there is no pull request: that is one fault, not one for each expectation. */
function about(name: string, fault: (pull: PullRequest, end: End) => string | null): Expectation {
  return { name: `pull request: ${name}`, fault: (end) => (end.pullRequests[0] ? fault(end.pullRequests[0], end) : null) }
}

function mentions(text: string, number: number): boolean {
  return new RegExp(`(?:#|/(?:pull|issues)/)${number}\\b`).test(text)
}

function quoted(comments: readonly Comment[]): string {
  return comments.map(({ body }) => `\n> ${body.replaceAll('\n', '\n> ')}`).join('')
}
