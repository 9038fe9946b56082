/**
 * `switchyard recover` (spec O5): Temporal's data is lost, and every workflow is started again from the ledger alone. A workflow that
 * Temporal still has is left as it is. A started one asks the ledger where it stands, so nothing travels here but its name: what is
 * paused stays paused, and nothing is done twice.
 */
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client'
import type { DeploymentFile } from '../core/deployment/settings.ts'
import type { Database } from '../ledger/database.ts'
import { type Live, liveWorkflows } from '../ledger/recover.ts'
import { homeFolder, readEnvironment, readSettings } from '../worker/environment.ts'
import { prepareTemporal } from '../worker/services.ts'
import { configuredTemporal, type TemporalAt } from '../worker/temporal.ts'
import { wakeWorkflow } from '../worker/wake.ts'
import { withLedger } from './ledger.ts'
import { counted } from './lines.ts'
import { scopeName } from './scope.ts'
import { complain, type ExitCode, faultsText, say } from './terminal.ts'

export async function recover(): Promise<ExitCode> {
  const parsed = readSettings()
  if ('faults' in parsed) return refuse(faultsText(parsed.faults))
  const { settings } = parsed
  return withLedger(async (db) => {
    const temporal = await whichTemporal(homeFolder(settings.home))
    if ('problem' in temporal) return refuse(temporal.problem)
    const recovered = await recoverOn(db, temporal, settings.file.worker)
    for (const each of recovered) say(lineOf(each))
    const started = recovered.filter(({ was }) => was !== 'RUNNING').length
    say(started === 0 ? 'Temporal has every workflow; nothing was changed.' : `${counted(started, 'workflow')} started from the ledger.`)
    return 0
  })
}

/** The configured one, reached and with its namespace in order, or the one that runs here. */
async function whichTemporal(home: string): Promise<TemporalAt | { problem: string }> {
  const configured = configuredTemporal(readEnvironment())
  if (configured) {
    await prepareTemporal(configured)
    return configured
  }
  const { runningTemporal } = await import('../worker/embedded/temporal.ts')
  return (
    (await runningTemporal(home)) ?? {
      problem: `no Temporal answers for ${home}: start it with npm start, or set TEMPORAL_ADDRESS, then run switchyard recover again`,
    }
  )
}

interface Recovered extends Live {
  /** What Temporal said of it; null: it knew nothing. */
  was: string | null
}

async function recoverOn(db: Database, temporal: TemporalAt, { rollAfter }: DeploymentFile['worker']): Promise<Recovered[]> {
  const connection = await Connection.connect({ address: temporal.address, ...temporal.security })
  try {
    const client = new Client({ connection, namespace: temporal.namespace })
    const recovered: Recovered[] = []
    for (const live of await liveWorkflows(db)) {
      const was = await statusOf(client, live.scope)
      // one that the dispatcher starts between the look and the start is woken once more, which does nothing
      if (was !== 'RUNNING') await wakeWorkflow(client, live.scope, rollAfter)
      recovered.push({ ...live, was })
    }
    return recovered
  } finally {
    await connection.close()
  }
}

async function statusOf(client: Client, workflow: string): Promise<string | null> {
  try {
    return (await client.workflow.getHandle(workflow).describe()).status.name
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

function lineOf({ scope, heldBy, was }: Recovered): string {
  const held = heldBy.length === 0 ? '' : `; paused by ${heldBy.join(' and ')}, and stays so`
  if (was === 'RUNNING') return `${scopeName(scope)}: running, untouched${held}`
  return `${scopeName(scope)}: started${was === null ? '' : ` (the last run is ${was.toLowerCase()})`}${held}`
}

function refuse(problem: string): ExitCode {
  complain(problem)
  return 1
}
