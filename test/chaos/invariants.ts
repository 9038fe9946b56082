/** What must be true after chaos, counted on GitHub, in the ledger, in Temporal and among the system's processes. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Client } from '@temporalio/client'
import { findMarker, markerLine } from '../../core/message/marker.ts'
import type { Database } from '../../ledger/database.ts'
import { expected, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { type End, faultsOf } from '../../rehearsal/scenarios/world.ts'
import { type Operate, readEnd } from '../../rehearsal/stage.ts'
import { witnessed } from '../witness.ts'
import { steadily } from './people.ts'

export interface Invariant {
  name: string
  found: number
  /** Null: only told. */
  wanted: number | null
  /** What a wrong one looks like. */
  detail?: string
}

export const holds = ({ found, wanted }: Invariant): boolean => wanted === null || found === wanted

export interface Observed {
  db: Database
  client: Client
  operate: Operate
  apiUrl: string
  /** By issue. */
  issues: readonly number[]
}

/** All but the processes, which are counted when everything is stopped. */
export async function invariants(given: Observed): Promise<Invariant[]> {
  const { db, operate, issues } = given
  const { deliveries }: { deliveries: { guid: string }[] } = await steadily(() => operate('state'))
  const stored = await steadily(() => db.selectFrom('delivery').select(['guid', 'state', 'transport']).execute())
  const ends = await Promise.all(issues.map((issue) => endOf(given, issue)))
  const bodies = ends.flatMap(({ all, end }) => all.filter(({ author }) => author === end.agent).map(({ body }) => body))
  const markers = bodies.map((body) => findMarker(body)).filter((marker) => marker !== null)
  const faults = ends.flatMap(({ end }) => faultsOf(expected, end).map((fault) => `#${end.issue.number}: ${fault}`))
  const unread = await steadily(() =>
    db.selectFrom('inbox').select(['address', 'kind']).where('session', 'is', null).where('dropped', 'is', null).execute(),
  )
  const unsettled = await steadily(() =>
    db.selectFrom('outbox').select(['key', 'state']).where('state', 'not in', ['confirmed', 'dropped']).execute(),
  )
  const open = await steadily(() => db.selectFrom('alarm').select(['kind', 'subject', 'body']).where('endedAt', 'is', null).execute())
  const failed = await failedWorkflows(given.client)
  return [
    { name: 'events on GitHub', found: new Set(deliveries.map(({ guid }) => guid)).size, wanted: null },
    { name: 'deliveries stored, of these events', found: stored.length, wanted: new Set(deliveries.map(({ guid }) => guid)).size },
    { name: "deliveries fetched from GitHub's log", found: stored.filter(({ transport }) => transport !== 'webhook').length, wanted: null },
    { name: 'deliveries decided', found: stored.filter(({ state }) => state !== 'pending').length, wanted: stored.length },
    { name: 'requests of people (issues)', found: issues.length, wanted: null },
    {
      name: 'Tickets started',
      found: (await steadily(() => db.selectFrom('ticket').select('id').execute())).length,
      wanted: issues.length,
    },
    { name: 'requests acknowledged once', found: ends.filter(({ acknowledged }) => acknowledged === 1).length, wanted: issues.length },
    {
      name: 'requests with one pull request',
      found: ends.filter(({ end }) => end.pullRequests.length === 1).length,
      wanted: issues.length,
    },
    { name: 'comments doubled', found: markers.length - new Set(markers).size, wanted: 0 },
    {
      name: 'ends correct',
      found: ends.filter(({ end }) => faultsOf(expected, end).length === 0).length,
      wanted: issues.length,
      detail: faults.join('\n'),
    },
    ...(await pausesHeld(db)),
    { name: 'inbox rows unread', found: unread.length, wanted: 0, detail: JSON.stringify(unread) },
    { name: 'effects not confirmed', found: unsettled.length, wanted: 0, detail: JSON.stringify(unsettled) },
    { name: 'alarms open', found: open.length, wanted: 0, detail: JSON.stringify(open) },
    { name: 'workflows failed', found: failed.length, wanted: 0, detail: failed.join(', ') },
    { name: 'workflow tasks that broke the replay', found: await brokenReplays(given.client), wanted: 0 },
    { name: 'requests left open on finished steps', found: await leftOpen(db), wanted: 0 },
    { name: 'calls cut off', found: await cutOff(db), wanted: null },
  ]
}

/** Of all that the witness in this database saw. */
export async function pausesHeld(db: Database): Promise<Invariant[]> {
  const seen = await steadily(() => witnessed(db))
  const counted = (name: string, fault: (typeof seen)[number]['fault']): Invariant => {
    const found = seen.filter((each) => each.fault === fault)
    return { name, found: found.length, wanted: 0, detail: found.map(({ at, detail }) => `${at.toISOString()} ${detail}`).join('\n') }
  }
  return [
    counted('pauses lifted without a command', 'lifted'),
    counted('generations that did not grow by one', 'generation'),
    counted('started while paused', 'started'),
  ]
}

/** The end of one issue: its own pull requests and Reports, and what its Ticket said; the host's own words stand beside. */
async function endOf({ db, operate, apiUrl }: Observed, issue: number) {
  const reports = await steadily(() =>
    db
      .selectFrom('report')
      .innerJoin('ticket', 'ticket.id', 'report.ticket')
      .innerJoin('thread', 'thread.id', 'ticket.origin')
      .leftJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
      .select(['report.status', 'pullRequest.number'])
      .where('thread.number', '=', issue)
      .orderBy('report.id')
      .execute(),
  )
  const hosts = await steadily(() => db.selectFrom('outbox').select('key').where('session', 'is', null).execute())
  const hostMarkers = hosts.map(({ key }) => markerLine(key))
  const told = reports.map(({ status, number }) => ({ status, pullRequest: number }))
  const isItsOwn = ({ body }: { body: string }) => new RegExp(`Fixes #${issue}\\b`).test(body)
  const read = await steadily(() => readEnd(operate, world, apiUrl, issue, told, isItsOwn))
  const all = read.issue.comments
  const end: End = {
    ...read,
    issue: { number: issue, comments: all.filter(({ body }) => !hostMarkers.some((marker) => body.includes(marker))) },
  }
  const acknowledged = all.filter(({ author, body }) => author === end.agent && body.includes('I will find out why')).length
  return { end, all, acknowledged }
}

async function failedWorkflows(client: Client): Promise<string[]> {
  return steadily(async () => {
    const found: string[] = []
    const query = 'ExecutionStatus IN ("Failed", "Terminated", "TimedOut", "Canceled")'
    for await (const { workflowId, status } of client.workflow.list({ query })) found.push(`${workflowId} ${status.name}`)
    return found
  })
}

/** Temporal's number for a workflow task that failed because its history could not be replayed. */
const NON_DETERMINISTIC = 24

async function brokenReplays(client: Client): Promise<number> {
  return steadily(async () => {
    let broken = 0
    for await (const { workflowId, runId } of client.workflow.list()) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory()
      broken += (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes?.cause === NON_DETERMINISTIC).length
    }
    return broken
  })
}

async function leftOpen(db: Database): Promise<number> {
  const rows = await steadily(() =>
    db
      .selectFrom('request')
      .innerJoin('step', (join) => join.onRef('step.session', '=', 'request.session').onRef('step.step', '=', 'request.step'))
      .select('request.id')
      .where('request.endedAt', 'is', null)
      .execute(),
  )
  return rows.length
}

const cutOff = async (db: Database): Promise<number> =>
  (await steadily(() => db.selectFrom('toolCall').select('call').where('outcome', '=', 'interrupted').execute())).length

/** Processes that work in a folder, were told of it, or run in it; not this one. */
export function processesAbout(folder: string): string[] {
  if (!existsSync('/proc/self/cmdline')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const about = [() => readlinkSync(`/proc/${pid}/cwd`), () => readFileSync(`/proc/${pid}/cmdline`, 'utf8')].map((read) => readOr(read))
      return about.some((text) => text.includes(folder)) ? [`${pid} ${about[1]!.replaceAll('\0', ' ').trim()}`] : []
    })
}

/** A process may end while it is looked at, and another user's is closed to us. */
function readOr(read: () => string): string {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

export function table(rows: readonly Invariant[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length))
  return [
    `| ${'what'.padEnd(width)} | found | wanted |    |`,
    `|${'-'.repeat(width + 2)}|------:|-------:|----|`,
    ...rows.map((row) => {
      const [found, wanted] = [String(row.found).padStart(5), (row.wanted === null ? '' : String(row.wanted)).padStart(6)]
      return `| ${row.name.padEnd(width)} | ${found} | ${wanted} | ${row.wanted === null ? '  ' : holds(row) ? 'ok' : 'NO'} |`
    }),
  ].join('\n')
}
