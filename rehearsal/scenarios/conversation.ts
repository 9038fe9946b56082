/**
 * How scripts read the product's conversation: candidates and messages by their card's header
 * (`candidate C-3 · message 12 · explicit · acme/shop#7 …`), pull requests by their tool's answers. One place, for every scenario.
 */
import type { Answer } from '../model/protocol.ts'
import type { Line } from '../model/script.ts'
import { type Call, capture, type View } from '../model/view.ts'

/** Whether the conversation holds a card from this repository. */
export function concerns(view: View, repository: string): boolean {
  return view.heard.includes(`${repository}#`)
}

/** Candidates of a repository that no `orchestrator_route` has decided on yet. */
export function undecided(view: View, repository: string): number[] {
  const decided = decidedOn(view)
  const cards = view.heard.matchAll(/\bcandidate C-(\d+) · message \d+ · [^\n]*/g)
  const own = [...cards].filter(([header]) => header.includes(`${repository}#`)).map(([, number]) => Number(number))
  return [...new Set(own)].filter((candidate) => !decided.has(candidate))
}

/** The lines of a main Session that starts a Ticket for everything asked in one repository, and waits for nothing. */
export function routes(repository: string, start: { title: string; note?: string }, done: string): Line[] {
  return [
    {
      name: 'starts a Ticket for what is asked',
      when: (view) => undecided(view, repository).length > 0,
      answer: (view) => ({
        calls: [
          {
            name: 'orchestrator_route',
            input: { decisions: undecided(view, repository).map((candidate) => ({ decision: 'start', candidate, ...start })) },
          },
        ],
      }),
    },
    { name: 'ends its turn when nothing is left to decide', when: nothingLeft, answer: { text: done } },
  ]
}

/** Any `C-<n>` counts, also one in a header that `undecided` cannot read: a card that changed its form must not pass in silence. */
function nothingLeft(view: View): boolean {
  const decided = decidedOn(view)
  return decided.size > 0 && [...view.heard.matchAll(/\bC-(\d+)\b/g)].every(([, number]) => decided.has(Number(number)))
}

function decidedOn(view: View): Set<number> {
  const decisions = view.calls
    .filter((call) => call.name === 'orchestrator_route')
    .flatMap((call) => (call.input as { decisions: { candidate: number }[] }).decisions)
  return new Set(decisions.map((decision) => decision.candidate))
}

/** The message that the Executor was started with. */
export function messageIn(view: View): number {
  return Number(view.need(/\bmessage (\d+) · /))
}

/** The number of the issue that the first card came from. */
export function issueIn(view: View, repository: string): number {
  return Number(view.need(new RegExp(`${escaped(repository)}#(\\d+)`)))
}

/** The number of the pull request by its tool's first answer that names one. */
export function pullRequestIn(view: View, repository: string): number {
  const answers = view.calls.filter((call) => call.name === 'github_pull_request').map((call) => call.result ?? '')
  const number = capture(answers.join('\n'), new RegExp(`${escaped(repository)}#(\\d+)`))
  if (number === null) throw new Error(`github_pull_request named no pull request of ${repository}:\n${answers.join('\n')}`)
  return Number(number)
}

/** Calls that a restart cut off or a pause dropped are made again, as a model would; the host sees to it that no effect comes twice. */
export const againWhenCutOff: Line = {
  name: 'makes a call again that was cut off',
  when: (view) => cutOff(view).length > 0,
  answer: (view): Answer => ({ calls: cutOff(view).map(({ name, input }) => ({ name, input })) }),
}

function cutOff(view: View): Call[] {
  return view.calls.filter((call) => call.step === view.step - 1 && /^\W*(interrupted|dropped)\b/i.test(call.result ?? ''))
}

/** After its Report an Executor may read facts and information; a word to the agent is a request that this script does not know. */
export function takesNote(text: string): Line {
  return {
    name: 'takes note of what came after the Report',
    when: (view) => view.result('orchestrator_report') !== null && view.last.startsWith('[user]') && !view.lastUser.includes('@switchyard'),
    answer: { text },
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
