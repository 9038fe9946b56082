/**
 * Recorded histories, replayed against the workflows as they are today: a change that a running workflow could not survive fails
 * here. Such a change needs a new version of the workflows, not a new recording. No server takes part.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { workflowBundle } from '../worker/worker.ts'

Runtime.install({
  logger: new DefaultLogger('ERROR', () => undefined),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }), forward: {} } },
})

const FOLDER = fileURLToPath(new URL('histories/', import.meta.url))
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
const BUNDLE = await workflowBundle(pino({ level: 'silent' }))

interface Recorded {
  events: { eventType: string; activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[]
}

const recorded = (file: string): Recorded => JSON.parse(readFileSync(`${FOLDER}${file}`, 'utf8'))
const replay = (file: string, history: Recorded) =>
  Worker.runReplayHistory({ workflowBundle: BUNDLE }, history, /\.(main|ticket-\d+)\./.exec(file)![1])

test('the main job, a pause and a chain of runs are recorded', () => {
  for (const name of ['main-job.main', 'main-job.ticket-1', 'pause.ticket-1', 'continue-as-new.ticket-1'])
    expect(FILES.filter((file) => file.startsWith(`${name}.`))).not.toEqual([])
})

test.each(FILES)('%s replays against the workflows of today', async (file) => {
  await replay(file, recorded(file))
})

test('a history that the workflows would not write fails to replay', async () => {
  const file = FILES.find((name) => name.startsWith('main-job.ticket-1.'))!
  const history = recorded(file)
  const step = history.events.find((event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'modelStep')
  step!.activityTaskScheduledEventAttributes!.activityType.name = 'anotherStep'
  await expect(replay(file, history)).rejects.toThrow(DeterminismViolationError)
})
