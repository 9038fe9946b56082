/** `switchyard migrate`: brings a database of one's own to this version's shape. The embedded one is migrated by every start. */
import { migrate as migrateDatabase } from '../ledger/migrate.ts'
import { configuredDatabase, databaseAnswers, databaseProblem, namesOf } from './ledger.ts'
import { counted } from './lines.ts'
import { complain, type ExitCode, say } from './terminal.ts'

export async function migrate(): Promise<ExitCode> {
  const urls = await configuredDatabase()
  if ('problem' in urls) return refuse(urls.problem)
  const { ownerUrl, appUrl } = urls
  const answers = await databaseAnswers(ownerUrl)
  if ('problem' in answers) return refuse(answers.problem)

  const [owner, app] = [namesOf(ownerUrl), namesOf(appUrl)]
  try {
    const { ran } = await migrateDatabase({ adminUrl: ownerUrl, ...(app.user === owner.user ? {} : { appRole: app.user }) })
    say(
      ran.length === 0
        ? `The database ${owner.name} is up to date.`
        : `${counted(ran.length, 'migration')} ran in the database ${owner.name}: ${ran.join(', ')}.`,
    )
    say(app.user === owner.user ? NO_ROLE : `The role ${app.user} may read and add, never delete or alter.`)
    return 0
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === '42704') return refuse(`${message}: create it first (CREATE ROLE ${app.user} LOGIN), then run switchyard migrate again`)
    const problem = databaseProblem(error, ownerUrl)
    if (problem === null) throw error
    return refuse(problem)
  }
}

const NO_ROLE = `Switchyard runs as the tables' owner: give DATABASE_URL a role of its own and DATABASE_ADMIN_URL the owner's, so that
what was said cannot be changed by the program.`

function refuse(problem: string): ExitCode {
  complain(problem)
  return 1
}
