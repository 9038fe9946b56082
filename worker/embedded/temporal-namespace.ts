/**
 * What a namespace must hold before a worker polls it. The dev server takes its search attributes only when it creates a namespace,
 * so a file database of an older release lacks the newer ones: they are registered through the server's own API, which works for
 * a server that we did not start too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, isGrpcServiceError } from '@temporalio/client'

export type AttributeType = 'Keyword' | 'Bool' | 'Datetime' | 'KeywordList'
export type SearchAttributes = Readonly<Record<string, AttributeType>>

/** Numbers of Temporal's protocol (temporal.api.enums.v1.IndexedValueType). */
export const INDEXED = { Keyword: 2, Bool: 5, Datetime: 6, KeywordList: 7 } as const satisfies Record<AttributeType, number>
/** Numbers of gRPC's status codes. */
export const NOT_FOUND = 5
const ALREADY_EXISTS = 6
/** What a part of the server answers that has not heard yet: not found, or an attribute that makes the query invalid. */
const NOT_YET: readonly number[] = [3, NOT_FOUND]
const SERVING = 1
const PATIENCE = 30_000

/** What a worker's connection and a client's have in common. */
type Frontend = Pick<Connection, 'healthService'>

/** Rejects while the frontend does not answer, or answers that it does not serve. */
export async function mustServe(connection: Frontend): Promise<void> {
  if (!(await isServing(connection))) throw new Error('Temporal answers that it does not serve')
}

/** Whether the frontend serves: its port answers before that. */
export async function isServing(connection: Frontend): Promise<boolean> {
  const { status } = await connection.healthService.check({ service: 'temporal.api.workflowservice.v1.WorkflowService' })
  return status === SERVING
}

/** Registers the namespace if it is new, with its search attributes, and waits until the server knows both. */
export async function ensureNamespace(connection: Connection, namespace: string, attributes: SearchAttributes): Promise<void> {
  if (!(await known(connection, namespace))) await unlessThere(register(connection, namespace))
  for (const until = Date.now() + PATIENCE; ; await sleep(100)) {
    const lacking = await whatLacks(connection, namespace, attributes)
    if (lacking === null) return
    if (Date.now() > until) throw new Error(`Temporal's namespace ${namespace} is not ready: ${lacking}`)
  }
}

async function known(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.workflowService.describeNamespace({ namespace })
    return true
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return false
    throw error
  }
}

/** One day of history after the end of a workflow, the dev server's own default; the ledger is the lasting record. */
const register = (connection: Connection, namespace: string) =>
  connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } })

async function missingAttributes(connection: Connection, namespace: string, wanted: SearchAttributes): Promise<Record<string, number>> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  const wrong = Object.keys(wanted).filter((name) => name in customAttributes && customAttributes[name] !== INDEXED[wanted[name]!])
  if (wrong.length > 0) {
    const expected = wrong.map((name) => `${name} must be ${wanted[name]}`).join(', ')
    throw new Error(
      `Temporal's namespace ${namespace} has search attributes of another type (${expected}): remove them there, or use another namespace`,
    )
  }
  const missing = Object.entries(wanted).filter(([name]) => !(name in customAttributes))
  return Object.fromEntries(missing.map(([name, type]) => [name, INDEXED[type]]))
}

/**
 * Null once every part of the server has heard of the namespace and its attributes, which takes a second or two after they are
 * made. Workflow lists are asked too: they hear of both last.
 */
async function whatLacks(connection: Connection, namespace: string, attributes: SearchAttributes): Promise<string | null> {
  try {
    const missing = await missingAttributes(connection, namespace, attributes)
    if (Object.keys(missing).length > 0) {
      await unlessThere(connection.operatorService.addSearchAttributes({ namespace, searchAttributes: missing }))
      return `it was just given ${Object.keys(missing).join(', ')}`
    }
    const query = Object.keys(attributes)
      .map((name) => `${name} IS NULL`)
      .join(' AND ')
    await connection.workflowService.listWorkflowExecutions({ namespace, pageSize: 1, query })
    return null
  } catch (error) {
    if (isGrpcServiceError(error) && NOT_YET.includes(error.code)) return error.message
    throw error
  }
}

/** Two starts may register at once. */
async function unlessThere(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== ALREADY_EXISTS) throw error
  }
}
