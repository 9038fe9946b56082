/** The services that hold everything: Postgres and Temporal, one's own or the embedded ones. Looks only; changes nothing. */
import { readdirSync } from 'node:fs'
import { join, parse } from 'node:path'
import { Connection, isGrpcServiceError } from '@temporalio/client'
import pg from 'pg'
import { SEARCH_ATTRIBUTES } from '../../core/ticket/search-attributes.ts'
import { runningPostgres } from '../../worker/embedded/postgres.ts'
import { runningTemporal } from '../../worker/embedded/temporal.ts'
import { INDEXED, NOT_FOUND } from '../../worker/embedded/temporal-namespace.ts'
import { ROOT, readEnvironment } from '../../worker/environment.ts'
import { configuredTemporal, type TemporalAt } from '../../worker/temporal.ts'
import { databaseAnswers, databaseProblem, namesOf } from '../ledger.ts'
import { counted } from '../lines.ts'
import { type Finding, type Given, off, ok, problem, reasonOf } from './finding.ts'

const OLDEST = 150_000

export async function postgres({ settings, home }: Given): Promise<Finding> {
  const url = settings.database?.url ?? (await runningPostgres(home))?.appUrl
  if (url === undefined) return off('the embedded one, which npm start starts')
  const whose = settings.database ? namesOf(url).name : 'the embedded one'
  const answers = await databaseAnswers(url)
  if ('problem' in answers) return problem(answers.problem, 'until then nothing can be stored, and no delivery is acknowledged')
  const version = `${Math.floor(answers.version / 10_000)}.${answers.version % 10_000}`
  if (answers.version < OLDEST) return problem(`${whose} is version ${version}`, 'use Postgres 15 or newer')

  const shape = await shapeOf(url)
  if ('problem' in shape) return problem(shape.problem, 'then look again: switchyard doctor')
  const { pending, owner } = shape
  if (pending.length > 0)
    return problem(
      `${whose} lacks ${counted(pending.length, 'migration')} (${pending.join(', ')})`,
      'run switchyard migrate (a start does so as well)',
    )
  const note = owner ? '; note: it is used as the tables’ owner, so the program could change what was said: see switchyard migrate' : ''
  return ok(`${whose}, version ${version}, migrated${note}`)
}

/** Which migrations have not run, and whether the user of the address may do what only an owner may. */
async function shapeOf(url: string): Promise<{ pending: string[]; owner: boolean } | { problem: string }> {
  const wanted = readdirSync(join(ROOT, 'ledger', 'migrations')).map((file) => parse(file).name)
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    const { rows: tables } = await client.query<{ owner: boolean }>(
      `select pg_has_role(relowner, 'USAGE') as owner from pg_class where oid = to_regclass('migration')`,
    )
    if (!tables[0]) return { pending: wanted, owner: false }
    const { rows } = await client.query<{ name: string }>('select name from migration')
    const ran = new Set(rows.map(({ name }) => name))
    return { pending: wanted.filter((name) => !ran.has(name)), owner: tables[0].owner }
  } catch (error) {
    return { problem: databaseProblem(error, url) ?? reasonOf(error) }
  } finally {
    await client.end()
  }
}

/** gRPC's codes of a server that does not offer this, or not to us, as Temporal Cloud. */
const NOT_OFFERED: readonly number[] = [7, 12]

export async function temporal({ home }: Given): Promise<Finding> {
  let configured: TemporalAt | null
  try {
    configured = configuredTemporal(readEnvironment())
  } catch (error) {
    return problem(reasonOf(error), 'correct TEMPORAL_PROFILE or the profile')
  }
  const at: TemporalAt | null = configured ?? (await runningTemporal(home))
  if (!at) return off('the embedded one, which npm start starts')
  const { address, namespace, security } = at
  let connection: Connection
  try {
    connection = await Connection.connect({ address, ...security, connectTimeout: 5_000 })
  } catch (error) {
    return problem(`nothing that speaks Temporal answers at ${address} (${reasonOf(error)})`, 'start it, or correct TEMPORAL_ADDRESS')
  }
  try {
    await connection.workflowService.describeNamespace({ namespace })
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    const wrong = Object.entries(SEARCH_ATTRIBUTES).filter(([name, type]) => customAttributes?.[name] !== INDEXED[type])
    const whole = `${address}, namespace ${namespace}`
    if (wrong.length === 0) return ok(`${whole}, search attributes registered`)
    return problem(
      `${whole}: ${wrong.map(([name]) => name).join(', ')} ${wrong.length === 1 ? 'is' : 'are'} missing or of another type`,
      `a start registers what is missing where it may; by hand: ${wrong.map(([name, type]) => `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type ${type}`).join('; ')}`,
    )
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === NOT_FOUND)
      return problem(
        `${address} has no namespace ${namespace}`,
        `a start makes it where it may; by hand: temporal operator namespace create ${namespace}; or correct TEMPORAL_NAMESPACE`,
      )
    if (isGrpcServiceError(error) && NOT_OFFERED.includes(error.code)) {
      const names = Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => `${name} (${type})`)
      return ok(`${address}, namespace ${namespace}; its search attributes cannot be read here: see that it has ${names.join(', ')}`)
    }
    return problem(`${address} cannot be asked (${reasonOf(error)})`, 'look at its log, or correct TEMPORAL_ADDRESS and TEMPORAL_API_KEY')
  } finally {
    await connection.close()
  }
}
