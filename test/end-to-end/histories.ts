/** What Temporal keeps of a workflow: every run of its chain, as readable text, as sizes, and as files for the replay test. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Client, WorkflowExecutionInfo } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { House } from './house.ts'

export interface HistoryEvent {
  eventId: string
  eventType: string
  [part: string]: unknown
}

/** What the visibility store finds. */
export async function listed(client: Client, query: string): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = []
  for await (const execution of client.workflow.list({ query })) found.push(execution)
  return found
}

/** The runs of one workflow, the first first; the last may still be open. */
export async function runsOf({ client }: House, workflowId: string): Promise<HistoryEvent[][]> {
  const runs: HistoryEvent[][] = []
  const executions = await listed(client, `WorkflowId = "${workflowId}"`)
  for (const { runId } of executions.toSorted((a, b) => a.startTime.getTime() - b.startTime.getTime())) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory()
    runs.push((JSON.parse(historyToJSON(history)) as { events: HistoryEvent[] }).events)
  }
  return runs
}

/** Every word of some events, payloads decoded. */
export function wordsOf(events: readonly HistoryEvent[]): string {
  const words: string[] = []
  const read = (value: unknown, key: string): void => {
    if (typeof value === 'string') words.push(key === 'data' ? Buffer.from(value, 'base64').toString() : value)
    else if (Array.isArray(value)) for (const each of value) read(each, key)
    else if (typeof value === 'object' && value !== null) for (const [name, each] of Object.entries(value)) read(each, name)
  }
  read(events, '')
  return words.join('\n')
}

/** What the Temporal UI shows beside an event. */
export function summaryOf({ userMetadata }: HistoryEvent): string {
  const { summary } = (userMetadata ?? {}) as { summary?: { data: string } }
  return summary ? (JSON.parse(Buffer.from(summary.data, 'base64').toString()) as string) : ''
}

/** Writes a workflow's runs for the replay test, when asked to (`test/record-histories.ts`); who ran it, and where, is left out. */
export async function record(house: House, workflowId: string, name: string): Promise<void> {
  if (process.env.RECORD_HISTORIES !== '1') return
  const folder = fileURLToPath(new URL('../histories/', import.meta.url))
  mkdirSync(folder, { recursive: true })
  for (const [index, events] of (await runsOf(house, workflowId)).entries()) {
    const text = JSON.stringify({ events }, (key, value) => (key === 'stackTrace' ? '' : value)).replaceAll(
      new RegExp(`\\d+@${hostname().replaceAll('.', '\\.')}`, 'g'),
      'worker',
    )
    writeFileSync(`${folder}${name}.${workflowId}.${index + 1}.json`, `${text}\n`)
  }
}
