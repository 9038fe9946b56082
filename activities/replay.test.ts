import { expect, test } from 'vitest'
import type { LogEntry } from '../core/prompt/conversation.ts'
import { builtInTexts } from '../core/prompt/fixture.ts'
import type { PastRequest } from '../ledger/past-requests.ts'
import type { RecordedSession, RecordedStep } from '../ledger/recorded-session.ts'
import type { StepView } from '../ledger/step-view.ts'
import { buildRequest } from './build-request.ts'
import { call, chunk, finish } from './model/model-server.test-help.ts'
import { createDriftReader } from './read-drift.ts'
import { type Replayed, replaySession } from './replay.ts'

const stream = (...values: object[]): string =>
  [...values.map((value) => JSON.stringify(value)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
const recording = (body: string) => ({ status: 200, contentType: 'text/event-stream', body })

const facts = { github: true, cwd: null, environment: [{ name: 'GitHub', value: 'on' }] }
const view = {
  role: 'main',
  ticket: null,
  configuration: {
    revision: 1,
    document: { sections: {}, skills: [], overrides: {} },
    policy: { version: 1, mode: 'explicit', rules: [] },
  },
} as unknown as StepView

/** Step 1 reads records, step 2 ends the turn, step 3 ends another one. */
const LOG: LogEntry[] = [
  { seq: 1, kind: 'input', step: 1, body: { text: 'C-1 waits.' } },
  {
    seq: 2,
    kind: 'answer',
    step: 1,
    body: { text: 'I look.', calls: [{ id: 'call_1_1', name: 'orchestrator_read', input: { what: 'candidates' } }] },
  },
  { seq: 3, kind: 'result', step: 1, call: 'call_1_1', body: { text: 'C-1: a job' } },
  { seq: 4, kind: 'answer', step: 2, body: { text: 'Nothing to do.', calls: [] } },
  { seq: 5, kind: 'input', step: 3, body: { text: 'And now?' } },
  { seq: 6, kind: 'answer', step: 3, body: { text: 'Still nothing.', calls: [] } },
]
const SEEN = [0, 3, 4]
const STREAMS = [
  stream(chunk({ content: 'I look.' }), ...call(0, 'orchestrator_read', ['{"what":', '"candidates"}']), finish('tool_calls')),
  stream(chunk({ content: 'Nothing to do.' }), finish('stop')),
  stream(chunk({ content: 'Still nothing.' }), finish('stop')),
]

interface Changed {
  log?: LogEntry[]
  recordings?: Record<number, RecordedStep['recording']>
  overrides?: Record<string, { text: string; base: string }>
  faults?: Record<number, [string, string][]>
}

const readDrift = createDriftReader(builtInTexts, { warn: () => undefined })

/** As it was sent with the texts of now, unless something changed since. */
function session({ log = LOG, recordings = {}, overrides = {}, faults = {} }: Changed = {}): RecordedSession {
  const steps = SEEN.map((logSeq, index): RecordedStep => {
    const step = index + 1
    const seen = LOG.filter((entry) => entry.seq <= logSeq || (entry.kind === 'input' && entry.step === step))
    const built = buildRequest({
      view,
      facts,
      builtIn: builtInTexts,
      readDrift,
      provider: 'openai-compatible',
      model: 'm',
      agentsMd: null,
      log: seen,
    })
    if ('fault' in built) throw new Error(built.fault.message)
    const { sections, system, tools, messages } = built
    const request = {
      request: 10 + step,
      step,
      provider: 'openai-compatible',
      model: 'm',
      facts,
      sections,
      system,
      tools,
      messages,
      logSeq,
    }
    return {
      step,
      turn: step < 3 ? 1 : 2,
      request: request as unknown as PastRequest,
      recording: step in recordings ? recordings[step]! : recording(STREAMS[index]!),
      faults: new Map(faults[step] ?? []),
    }
  })
  const configuration = { ...view.configuration, document: { ...view.configuration.document, overrides } }
  return { view: { ...view, configuration, log }, agentsMd: null, steps }
}

async function played(changed: Changed = {}, builtIn = builtInTexts): Promise<Replayed[]> {
  const steps: Replayed[] = []
  for await (const step of replaySession(session(changed), builtIn)) steps.push(step)
  return steps
}

test('[D9] with nothing changed every request has the bytes of then, and every answer comes out as it did', async () => {
  const steps = await played()
  expect(
    steps.map(({ turn, step, request, stopped, answer, refused }) => [turn, step, request, stopped, answer?.differences, refused]),
  ).toEqual([
    [1, 1, 11, null, [], []],
    [1, 2, 12, null, [], []],
    [2, 3, 13, null, [], []],
  ])
  for (const { prompt } of steps)
    expect(prompt).toEqual({ kept: { bytes: prompt!.kept.of, of: prompt!.kept.of, differs: null }, changes: [] })
  expect(steps[0]!.answer!.said.calls).toEqual([{ id: 'call_1_1', name: 'orchestrator_read', input: { what: 'candidates' } }])
})

test('[D9] another prompt changes what would be sent, not what was answered', async () => {
  const text = 'Route everything at once.'
  const steps = await played({ overrides: { 'runtime/dispatch': { text, base: '' } } })
  const was = Buffer.byteLength(builtInTexts['runtime/dispatch']!.trim())
  expect(steps.map(({ prompt }) => [prompt!.kept.differs, prompt!.changes])).toEqual(
    Array.from({ length: 3 }, () => ['runtime/dispatch', [{ name: 'runtime/dispatch', was, is: text.length }]]),
  )
  expect(steps.map(({ stopped, answer }) => [stopped, answer!.differences])).toEqual(Array.from({ length: 3 }, () => [null, []]))
})

test("[D9] calls that today's tools refuse are named with the reason, and whether they were refused then", async () => {
  const wrong = stream(...call(0, 'fly', ['{}']), ...call(1, 'orchestrator_read', ['{"what":"weather"}']), finish('tool_calls'))
  const log = LOG.map((entry) => (entry.seq === 3 ? { ...entry, call: 'call_1_1' } : entry)) as LogEntry[]
  const [first, second] = await played({ log, recordings: { 1: recording(wrong) } })
  expect(first!.refused).toEqual([
    { call: 'call_1_1', tool: 'fly', why: expect.stringContaining('There is no tool "fly"'), asThen: false },
    { call: 'call_1_2', tool: 'orchestrator_read', why: expect.stringContaining('the input does not fit'), asThen: false },
  ])
  const again = await played({
    log,
    recordings: { 1: recording(wrong) },
    faults: { 1: first!.refused.map(({ call, why }) => [call, why]) },
  })
  expect(again[0]!.refused.map(({ asThen }) => asThen)).toEqual([true, true])
  expect(first!.answer!.differences).toEqual([
    'the text: then "I look.", now ""',
    'call 1: then orchestrator_read {"what":"candidates"}, now fly {}',
    'call 2: then no call, now orchestrator_read {"what":"weather"}',
  ])
  // the next step reads what came out now, with the results that the log has for it
  expect(second!.prompt!.changes.map(({ name }) => name)).toEqual(['messages'])
})

test('[D9] a step that was not recorded stops alone: the others are played, with its logged answer before them', async () => {
  const steps = await played({ recordings: { 1: null, 2: 'removed' } })
  expect(steps.map(({ stopped }) => stopped)).toEqual(['it was not recorded', 'its recording was removed from the record', null])
  expect(steps[2]!.prompt!.changes).toEqual([])
})

test('[D9] a stream that broke off, and a prompt that cannot be built, say so', async () => {
  const cut = recording(`data: ${JSON.stringify(chunk({ content: 'I lo' }))}\n\n`)
  expect((await played({ recordings: { 1: cut } }))[0]!.stopped).toMatch(
    /^the recorded stream cannot be read: Response stream ended without a finish reason/,
  )
  const broken = await played({}, { ...builtInTexts, 'persona/main': '{{nobody}}' })
  expect(broken[0]!.stopped).toMatch(/^today's prompt cannot be built: .*nobody/)
})
