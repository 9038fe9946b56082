/** Changes to a scenario's script that a test needs: commands that last, a model that thinks for a while, other lines first. */
import type { Line, Scenario } from '../../rehearsal/model/script.ts'
import { againWhenCutOff } from '../../rehearsal/scenarios/conversation.ts'

/** The Executor's lines with some changed by name, and some in front. A name that is not there is a mistake. */
export function rescript(
  scenario: Scenario,
  { first = [], lines = {} }: { first?: readonly Line[]; lines?: Readonly<Record<string, Partial<Line>>> },
): Scenario {
  const executor = scenario.roles.executor ?? []
  const unknown = Object.keys(lines).filter((name) => !executor.some((line) => line.name === name))
  if (unknown.length > 0) throw new Error(`${scenario.name} has no line ${unknown.join(', ')}`)
  return { ...scenario, roles: { ...scenario.roles, executor: [...first, ...executor.map((line) => ({ ...line, ...lines[line.name] }))] } }
}

/** Before it begins, the Executor writes its list so many times over, one call after the other: whatever comes, it comes between two of them. */
export function busily(scenario: Scenario, { answers, calls }: { answers: number; calls: number }): Scenario {
  const items = [{ content: 'Find the cause', status: 'in_progress' }]
  const busy: Line = {
    name: 'writes its list',
    when: (view) =>
      view.result('orchestrator_acknowledge') !== null && view.calls.filter(({ name }) => name === 'todo_write').length < answers * calls,
    answer: { calls: Array.from({ length: calls }, () => ({ name: 'todo_write', input: { items } })) },
  }
  return rescript(scenario, { first: [againWhenCutOff, busy] })
}

/** Every answer of the Executor's takes some time, so that what people do falls into the middle of it. */
export function slowly(scenario: Scenario, delayMs: number): Scenario {
  const executor = scenario.roles.executor ?? []
  return { ...scenario, roles: { ...scenario.roles, executor: executor.map((line) => ({ ...line, delayMs })) } }
}

/**
 * `node --test` that lasts for long when it first runs and counts its runs beside the checkout: whoever runs it again after a cut
 * gets its answer at once, and the count tells how often it began.
 */
export const LONG_TEST = 'echo run >> "$HOME/runs"; if [ ! -e "$HOME/waited" ]; then touch "$HOME/waited"; sleep 300; fi; node --test'

export const longFirstTest: Partial<Line> = {
  answer: { text: 'The failure as it is now.', calls: [{ name: 'shell', input: { command: LONG_TEST, timeoutSeconds: 600 } }] },
}

/** `node --test` whose n-th run counts itself beside the checkout and waits there for a file `go-<n>`. */
export const testThatWaits: Partial<Line> = {
  answer: {
    text: 'The failure as it is now.',
    calls: [
      {
        name: 'shell',
        input: {
          command: 'echo run >> "$HOME/runs"; n=$(wc -l < "$HOME/runs"); while [ ! -e "$HOME/go-$n" ]; do sleep 0.1; done; node --test',
          timeoutSeconds: 600,
        },
      },
    ],
  },
}

/** The Executor acknowledges and ends its turn; its Ticket waits from then on. */
export function onlyAcknowledges(scenario: Scenario): Scenario {
  const receipt = scenario.roles.executor?.find(({ name }) => name === 'acknowledges')
  if (!receipt) throw new Error(`${scenario.name} has no line that acknowledges`)
  const ends: Line = {
    name: 'ends its turn',
    when: (view) => view.result('orchestrator_acknowledge') !== null,
    answer: { text: 'Nothing is to be done now.' },
  }
  return { ...scenario, roles: { ...scenario.roles, executor: [receipt, ends] } }
}
