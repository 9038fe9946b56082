/** Hosts that polled Temporal a moment ago, and what becomes of a call whose host did not take it. */
import type { WorkflowService } from '@temporalio/client'
import { transaction } from '../ledger/database.ts'
import { giveUpHost } from '../ledger/hosts.ts'
import { type HostCall, hostOfQueue, QUEUES } from '../workflows/protocol.ts'
import type { Deps } from './deps.ts'

/** Temporal's number for the kind of a queue. */
const WORKFLOW_TASKS = 1

/**
 * The hosts whose workers ask for workflow tasks, which no host ever has too many of; Temporal remembers each for five minutes
 * after it asked last.
 */
export async function pollingHosts(service: WorkflowService, namespace: string): Promise<string[]> {
  const taskQueue = { name: QUEUES.workflows }
  const { pollers } = await service.describeTaskQueue({ namespace, taskQueue, taskQueueType: WORKFLOW_TASKS })
  return pollers.flatMap(({ identity }) => identity ?? [])
}

/** A host that lives has only much to do, or comes back from a restart: then the call is sent to it again. */
export async function loseHost(deps: Deps, { queue, ...at }: HostCall, polling: () => Promise<string[]>): Promise<void> {
  const host = hostOfQueue(queue)
  if ((await polling()).includes(host)) return
  deps.log.error({ host, ...at }, 'a host is gone, and with it what a Ticket had not pushed')
  await transaction(deps.db, (tx) => giveUpHost(tx, at, host))
}
