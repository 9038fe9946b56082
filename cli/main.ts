#!/usr/bin/env node
/** `switchyard …`: the commands and their options. Each loads what it needs when it runs, so that help is there at once. */
import { readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { Argument, Command, CommanderError } from 'commander'
import type { CommandKind } from '../ledger/pauses.ts'
import type { Part } from '../worker/program.ts'
import { addConfig, addPolicy } from './config/commands.ts'
import { complain, type ExitCode } from './terminal.ts'

const COMMANDS: readonly [kind: CommandKind, description: string, argument: '<scope>' | '<ticket>'][] = [
  ['pause', 'hold a Ticket, the main Session or everything until somebody resumes it', '<scope>'],
  ['resume', 'lift a pause', '<scope>'],
  ['close', 'close a Ticket', '<ticket>'],
  ['retry', 'let what stands still try again', '<scope>'],
]
const SCOPES: Readonly<Record<CommandKind, string>> = {
  pause: 'T-7, main or all',
  resume: 'T-7, main or all',
  close: 'T-7',
  retry: 'T-7 or main',
}

const PROCESSES: readonly [part: Part, description: string][] = [
  ['server', 'take in webhooks'],
  ['worker', 'run workflows, models and commands'],
  ['dispatcher', 'decide what came in and wake workflows'],
]

/** What a command loads is kept compiled, in the system's folder for such: a command answers in a third of the time. */
enableCompileCache()

/** `switchyard log T-7 | head` ends before everything is written. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
process.exitCode = await main(process.argv)

async function main(argv: string[]): Promise<number> {
  let code: number = 0
  const program = build((ended) => {
    code = ended
  })
  try {
    await program.parseAsync(argv)
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    const told = /^(debug|trace)$/.test(process.env.LOG_LEVEL ?? '')
    complain(told ? `${stack}` : `${message} (LOG_LEVEL=debug shows where)`)
    return 1
  }
}

function build(ended: (code: number) => void): Command {
  const run =
    <Given extends unknown[]>(work: (...given: Given) => Promise<number>) =>
    async (...given: Given) =>
      ended(await work(...given))

  const program = new Command('switchyard')
    .description('An autonomous engineering agent for a team. What people can see and decide from a terminal.')
    .version(versionOf())
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'switchyard: ')) })
    .showHelpAfterError('(switchyard --help shows every command)')
    .addHelpText('after', '\nExit code: 0 fine, 1 refused, not found or a problem, 2 wrong usage.')

  program
    .command('start')
    .description('start everything that is configured, or the rehearsal where nothing is')
    .option('--once', 'end when the rehearsal has ended; exit code 0 only if all of it came true')
    .option('--scenario <name>', 'which rehearsal to play')
    .action(run(async (options: { once?: boolean; scenario?: string }) => (await import('./start.ts')).start(options)))

  program
    .command('status')
    .description("one screen over everything, or one Ticket's story")
    .argument('[ticket]', 'T-7, ticket-7 or 7')
    .option('--json', 'as one JSON document')
    .action(
      run(async (ticket: string | undefined, options: { json?: boolean }) => (await import('./status/status.ts')).status(ticket, options)),
    )

  for (const [kind, description, argument] of COMMANDS) {
    program
      .command(kind)
      .description(description)
      .argument(argument, argument === '<ticket>' ? 'T-7, ticket-7 or 7' : SCOPES[kind])
      .option('--reason <text>', 'why, for everybody who looks', 'asked by CLI')
      .option('--as <name>', 'who asks (default: your user name)')
      .action(
        run(async (scope: string, options: { reason: string; as?: string }) =>
          (await import('./command.ts')).command(kind, scope, options),
        ),
      )
  }

  program
    .command('log')
    .description('every word that a Session read and said')
    .argument('<session>', 't7-1 or main-1; T-7 or main for the newest one')
    .option('--json', 'as one JSON document')
    .action(run(async (session: string, options: { json?: boolean }) => (await import('./log.ts')).log(session, options)))

  program
    .command('requests')
    .description('the requests of a Session to its model: what each cost and what of the one before it kept')
    .argument('<session>', 't7-1 or main-1; T-7 or main for the newest one')
    .option('--json', 'as one JSON document')
    .action(run(async (session: string, options: { json?: boolean }) => (await import('./requests.ts')).requests(session, options)))

  program
    .command('request')
    .description('what one request sent to the model, rebuilt from the ledger')
    .argument('<id>', 'its number, as switchyard requests lists it')
    .option('--json', 'as one JSON document')
    .option('--wire', 'nothing but the HTTP body that went to the provider')
    .action(run(async (id: string, options: { json?: boolean; wire?: boolean }) => (await import('./request.ts')).request(id, options)))

  program
    .command('record')
    .description('whether the answers of the model are recorded, so that Sessions can be replayed')
    .addArgument(new Argument('<what>').choices(['on', 'off', 'status']))
    .option('--reason <text>', 'why, for everybody who looks', 'asked by CLI')
    .option('--as <name>', 'who asks (default: your user name)')
    .action(
      run(async (what: 'on' | 'off' | 'status', options: { reason: string; as?: string }) =>
        (await import('./record.ts')).record(what, options),
      ),
    )

  program
    .command('replay')
    .description('play a recorded Session against the program and the prompts of today, without a key')
    .argument('<session>', 't7-1 or main-1; T-7 or main for the newest one')
    .option('--turn <number>', 'show only this turn')
    .option('--step <number>', 'show only this step')
    .option('--json', 'as one JSON document')
    .action(
      run(async (session: string, options: { turn?: string; step?: string; json?: boolean }) =>
        (await import('./replay.ts')).replay(session, options),
      ),
    )

  program
    .command('alarms')
    .description('what cannot go on by itself')
    .option('--all', 'also what is over')
    .option('--json', 'as one JSON document')
    .action(run(async (options: { all?: boolean; json?: boolean }) => (await import('./alarms.ts')).alarms(options)))

  addConfig(program, run)
  addPolicy(program, run)

  program
    .command('migrate')
    .description("bring a database of your own to this version's shape")
    .action(run(async () => (await import('./migrate.ts')).migrate()))

  program
    .command('recover')
    .description("start every workflow again from the ledger, when Temporal's data is lost")
    .action(run(async () => (await import('./recover.ts')).recover()))

  for (const [part, description] of PROCESSES) {
    program
      .command(part)
      .description(`${description}, as a process of its own; needs DATABASE_URL and TEMPORAL_ADDRESS`)
      .action(run(async () => (await import('./process.ts')).runPart(part)))
  }

  program
    .command('doctor')
    .description('look at each configured service and say what is wrong and what to do')
    .option('--config', 'the settings that are in effect, and where each comes from')
    .action(run(async (options: { config?: boolean }) => (await import('./doctor/doctor.ts')).doctor(options)))

  program
    .command('completion')
    .description('completion for your shell, to be sourced')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(
      run(async (shell: 'bash' | 'zsh' | 'fish'): Promise<ExitCode> => {
        const { completionFor, shapeOf } = await import('./completion.ts')
        process.stdout.write(completionFor(shell, shapeOf(program)))
        return 0
      }),
    )
  return program
}

function versionOf(): string {
  return (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version
}
