/**
 * The dispatcher: takes in deliveries, wakes the workflows that have unread inbox rows, tells them people's commands, sends the
 * host's own words. Rows are
 * leased, so any number of dispatchers may run, and one that dies leaves its work to the next.
 */
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Mark } from '../core/ticket/scope.ts'
import { confirmCommand, failCommand, leaseCommands, scopesToTell, type UndeliveredCommand } from '../ledger/commands.ts'
import type { Database } from '../ledger/database.ts'
import { confirmWake, leaseWakes } from '../ledger/inbox.ts'
import type { Command } from '../workflows/protocol.ts'
import { type Loop, startLoop } from './loop.ts'
import { wakeWorkflow } from './wake.ts'

export interface DispatcherGiven {
  db: Database
  databaseUrl: string
  client: Client
  /** One round of taking in deliveries; null: no channel is on. */
  takeIn: ((signal: AbortSignal) => Promise<number>) | null
  /** One round of the host's own words. */
  sendNotices: (signal: AbortSignal) => Promise<number>
  /** Workflows continue as new above this many history events. */
  rollAfter: number
  log: Logger
}

/** How often each loop looks without a hint. */
const IDLE_MS = 1_000

export async function startDispatcher(given: DispatcherGiven): Promise<{ stop(): Promise<void> }> {
  const { log } = given
  const loops: Record<string, Loop> = {
    inbox: startLoop({ name: 'waking', idleMs: IDLE_MS, log, work: () => wakeAll(given) }),
    command: startLoop({ name: 'telling commands', idleMs: IDLE_MS, log, work: () => tellAll(given) }),
  }
  loops.outbox = startLoop({ name: 'sending notices', idleMs: IDLE_MS, log, work: given.sendNotices })
  if (given.takeIn) loops.delivery = startLoop({ name: 'taking in deliveries', idleMs: IDLE_MS, log, work: given.takeIn })
  const hints = listen(given, (table) => loops[table]?.hint())
  return {
    async stop() {
      hints.stop()
      await Promise.all(Object.values(loops).map((loop) => loop.stop()))
    },
  }
}

async function wakeAll({ db, client, rollAfter }: DispatcherGiven): Promise<number> {
  const wakes = await leaseWakes(db, 200)
  await Promise.all(
    wakes.map(async (each) => {
      await wakeWorkflow(client, each.address, rollAfter)
      await confirmWake(db, each)
    }),
  )
  return wakes.length
}

async function tellAll({ db, client, log }: DispatcherGiven): Promise<number> {
  const commands = await leaseCommands(db, 50)
  for (const command of commands) {
    try {
      await tell(db, client, command)
      await confirmCommand(db, command.id)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      log.warn({ err: error, command: command.id, scope: command.scope }, 'a command has not reached its workflow yet; its row holds')
      await failCommand(db, command.id, message)
    }
  }
  return commands.length
}

/** After so many tries a workflow that is not found is not there; a new one reads the rows when it starts. */
const TRIES_UNTIL_ABSENT = 3
const UPDATE_DEADLINE_MS = 10_000

async function tell(db: Database, client: Client, command: UndeliveredCommand): Promise<void> {
  if (command.kind === 'retry') return // its inbox row wakes
  const mark: Mark = { scope: command.scope, generation: command.generation }
  const args: [Command] = [{ by: command.actor, reason: command.reason, mark }]
  const missed: unknown[] = []
  // one workflow that cannot hear does not keep the others from hearing
  for (const scope of await scopesToTell(db, command.scope)) {
    try {
      await client.withDeadline(Date.now() + UPDATE_DEADLINE_MS, () =>
        client.workflow.getHandle(scope).executeUpdate(command.kind, { args, updateId: `command-${command.id}` }),
      )
    } catch (error) {
      // also what an update answers that met a continue-as-new: not arrived, so it is sent again
      if (!(error instanceof WorkflowNotFoundError) || command.tries < TRIES_UNTIL_ABSENT) missed.push(error)
    }
  }
  if (missed.length > 0) throw missed[0]
}

/** Hints from Postgres make the loops quick; nothing rests on them. */
function listen({ databaseUrl, log }: DispatcherGiven, onHint: (table: string) => void): { stop(): void } {
  let stopped = false
  let current: pg.Client | null = null
  const connect = async () => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'switchyard hints',
      connectionTimeoutMillis: 8_000,
      keepAlive: true,
    })
    client.on('notification', ({ payload }) => onHint(payload ?? ''))
    client.on('error', (error) => log.debug({ err: error }, 'hints were lost; they come back'))
    client.on('end', () => {
      if (!stopped) setTimeout(attempt, 1_000)
    })
    current = client
    await client.connect()
    await client.query('listen switchyard')
  }
  const attempt = () => {
    if (!stopped) connect().catch((error) => log.debug({ err: error }, 'no hints for now; the loops look every second'))
  }
  attempt()
  return {
    stop() {
      stopped = true
      void current?.end().catch((error) => log.debug({ err: error }, 'the connection for hints had ended'))
    },
  }
}
