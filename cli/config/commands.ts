/** The options of `switchyard config …` and `switchyard policy …`. Like every command, each loads what it needs when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PolicyOptions } from '../policy/policy.ts'
import type { SaveOptions } from './save.ts'
import type { DriftOptions } from './show.ts'

type Run = <Given extends unknown[]>(work: (...given: Given) => Promise<number>) => (...given: Given) => Promise<void>

const json = () => new Option('--json', 'as one JSON document')
const onto = () => new Option('--onto <n>', 'do what it changed since its base to this newer revision')
const takeMine = () =>
  new Option('--take-mine <file>', 'with --onto: a file that both changed, in which you brought both together (again for each)').argParser(
    (file: string, before: string[] = []) => [...before, file],
  )
/** A history has no end, and nobody reads more at once. */
const MOST = 10_000
const most = () =>
  new Option('--most <count>', 'how many').default(50).argParser((written: string) => {
    const count = /^\d{1,5}$/.test(written) ? Number(written) : 0
    if (count < 1 || count > MOST) throw new InvalidArgumentError(`Legal is a whole number from 1 to ${MOST.toLocaleString('en-US')}.`)
    return count
  })

/** What every save takes. */
const saving = (command: Command): Command =>
  command
    .option('--note <text>', 'why, for everybody who reads the history')
    .option('--as <name>', 'who saves (default: your user name)')
    .addOption(json())

export function addConfig(program: Command, run: Run): void {
  const config = program.command('config').description('the prompt configuration: sections, skills and overrides, with their versions')
  config
    .command('show')
    .description('what the team set, or one piece of it in full')
    .argument('[piece]', 'communication, scope, delivery, a part such as runtime/work, or a skill')
    .option('--revision <n>', 'an older one')
    .addOption(json())
    .action(
      run(async (piece: string | undefined, options: { revision?: string; json?: boolean }) =>
        (await import('./show.ts')).show(piece, options),
      ),
    )
  saving(config.command('edit').description('open it in $EDITOR, check it, show the difference, save it')).action(
    run(async (options: SaveOptions) => (await import('./edit.ts')).edit(options)),
  )
  config
    .command('diff')
    .description('what differs between two revisions')
    .argument('<a>', 'a revision')
    .argument('[b]', 'another one (default: the newest)')
    .addOption(json())
    .action(run(async (a: string, b: string | undefined, options: { json?: boolean }) => (await import('./diff.ts')).diff(a, b, options)))
  saving(
    config
      .command('save')
      .description('save a JSON document as the next revision')
      .argument('<file>', 'as `config show --json` has it under "document"')
      .requiredOption('--base <n>', 'the revision that it was made from')
      .addOption(onto())
      .addOption(takeMine()),
  ).action(run(async (file: string, options: SaveOptions) => (await import('./save.ts')).save(file, options)))
  saving(
    config
      .command('restore')
      .description('make an older revision, or the built-in texts, the newest one again')
      .argument('[n]', 'the revision')
      .option('--defaults', 'the built-in texts everywhere')
      .option('--base <n>', 'the newest revision that you have seen'),
  ).action(
    run(async (which: string | undefined, options: SaveOptions & { defaults?: boolean }) =>
      (await import('./save.ts')).restore(which, options),
    ),
  )
  saving(
    config
      .command('drift')
      .description('overrides whose built-in text changed, or that need a hand; one of them with both changes')
      .argument('[part]')
      .option('--keep', "keep the team's text, and say that the new built-in text was seen")
      .option('--adopt', 'follow the built-in text again'),
  ).action(run(async (part: string | undefined, options: DriftOptions) => (await import('./show.ts')).drift(part, options)))
  config
    .command('history')
    .description('who saved what and when, newest first')
    .addOption(most())
    .addOption(json())
    .action(run(async (options: { json?: boolean; most: number }) => (await import('./show.ts')).history(options)))
  config
    .command('preview')
    .description('the prompt that a role would read with its next request')
    .requiredOption('--role <role>', 'main, executor or subagent')
    .option('--ticket <ticket>', 'with the values of this Ticket')
    .addOption(json())
    .action(run(async (options: { role: string; ticket?: string; json?: boolean }) => (await import('./preview.ts')).preview(options)))
  config
    .command('export')
    .description('write it as a folder of files')
    .argument('<folder>', 'a new or empty one')
    .option('--revision <n>', 'an older one')
    .addOption(json())
    .action(
      run(async (folder: string, options: { revision?: string; json?: boolean }) =>
        (await import('./edit.ts')).exportFolder(folder, options),
      ),
    )
  saving(
    config
      .command('import')
      .description('save such a folder as the next revision')
      .argument('<folder>')
      .option('--base <n>', 'the revision that it was made from (default: the one that it was exported from)')
      .addOption(onto())
      .addOption(takeMine()),
  ).action(run(async (folder: string, options: SaveOptions) => (await import('./save.ts')).importFolder(folder, options)))
}

export function addPolicy(program: Command, run: Run): void {
  const policy = program.command('policy').description('the Policy for work that nobody asked for: accept mode and rules')
  const changing = (command: Command) => saving(command.option('--base <n>', 'the version that you read (default: the newest)'))
  policy
    .command('show')
    .description('accept mode and rules as they are')
    .addOption(json())
    .action(run(async (options: PolicyOptions) => (await import('../policy/policy.ts')).show(options)))
  changing(policy.command('set-mode').description('explicit, confirm or automatic').argument('<mode>')).action(
    run(async (name: string, options: PolicyOptions) => (await import('../policy/policy.ts')).mode(name, options)),
  )
  const rule = policy.command('rule').description('add, change, switch and remove rules')
  const worded = (command: Command, required: boolean) => {
    const name = new Option('--name <text>', 'one line').makeOptionMandatory(required)
    const instruction = new Option('--instruction <text>', 'what is covered, and how it is to be done').makeOptionMandatory(required)
    return changing(command.addOption(name).addOption(instruction))
  }
  worded(rule.command('add').description('add an enabled rule'), true).action(
    run(async ({ name, instruction, ...options }: PolicyOptions & { name: string; instruction: string }) =>
      (await import('../policy/policy.ts')).add({ name, instruction }, options),
    ),
  )
  worded(rule.command('edit').description('change its words').argument('<id>', 'r3'), false).action(
    run(async (id: string, { name, instruction, ...options }: PolicyOptions & { name?: string; instruction?: string }) =>
      (await import('../policy/policy.ts')).edit(
        id,
        { ...(name === undefined ? {} : { name }), ...(instruction === undefined ? {} : { instruction }) },
        options,
      ),
    ),
  )
  for (const [word, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    changing(rule.command(word).description(`${word} it`).argument('<id>', 'r3')).action(
      run(async (id: string, options: PolicyOptions) => (await import('../policy/policy.ts')).enable(id, enabled, options)),
    )
  }
  changing(rule.command('remove').description('remove it; its id is never given again').argument('<id>', 'r3')).action(
    run(async (id: string, options: PolicyOptions) => (await import('../policy/policy.ts')).remove(id, options)),
  )
  policy
    .command('history')
    .description('who changed what and when, newest first')
    .addOption(most())
    .addOption(json())
    .action(run(async (options: { json?: boolean; most: number }) => (await import('../policy/policy.ts')).history(options)))
  changing(policy.command('restore').description('make an older version the newest one again').argument('<n>')).action(
    run(async (which: string, options: PolicyOptions) => (await import('../policy/policy.ts')).restore(which, options)),
  )
}
