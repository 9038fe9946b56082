/** Completion for three shells, made from the commands themselves: what `--help` shows is what is offered. */
import type { Command } from 'commander'

export interface Shape {
  name: string
  commands: { name: string; description: string; options: string[]; words: string[] }[]
}

/** What can be completed. Tickets are not: asking the ledger at every key would be slow. */
export function shapeOf(program: Command): Shape {
  return {
    name: program.name(),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      options: command.options.flatMap(({ long }) => long ?? []),
      words: [
        ...command.commands.map((below) => below.name()),
        ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? WORDS[argument.name()]?.[command.name()] ?? []),
      ],
    })),
  }
}

const WORDS_OF_SCOPE: Readonly<Record<string, string[]>> = { pause: ['main', 'all'], resume: ['main', 'all'], retry: ['main'] }
const WORDS: Readonly<Record<string, Readonly<Record<string, string[]>>>> = {
  scope: WORDS_OF_SCOPE,
  session: { log: ['main'], requests: ['main'], replay: ['main'] },
}

export function completionFor(shell: 'bash' | 'zsh' | 'fish', shape: Shape): string {
  switch (shell) {
    case 'bash':
      return bash(shape)
    case 'zsh':
      return zsh(shape)
    case 'fish':
      return fish(shape)
    default:
      return shell satisfies never
  }
}

function bash({ name, commands }: Shape): string {
  const cases = commands.map((command) => `    ${command.name}) words="${[...command.words, ...command.options, '--help'].join(' ')}" ;;`)
  return `# source <(${name} completion bash)
_${name}() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${[...commands.map((command) => command.name), 'help', '--help', '--version'].join(' ')}"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _${name} ${name}
`
}

function zsh({ name, commands }: Shape): string {
  const described = commands.map((command) => `    ${quoted(`${command.name}:${command.description}`)}`)
  const cases = commands.map(
    (command) => `    ${command.name}) compadd -- ${[...command.words, ...command.options, '--help'].join(' ')} ;;`,
  )
  return `#compdef ${name}
# source <(${name} completion zsh)
_${name}() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
}
compdef _${name} ${name}
`
}

function fish({ name, commands }: Shape): string {
  const lines = commands.flatMap((command) => [
    `complete -c ${name} -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.description)}`,
    ...command.options.map((option) => `complete -c ${name} -n "__fish_seen_subcommand_from ${command.name}" -l ${option.slice(2)}`),
    ...(command.words.length === 0
      ? []
      : [`complete -c ${name} -n "__fish_seen_subcommand_from ${command.name}" -a ${quoted(command.words.join(' '))}`]),
  ])
  return `# ${name} completion fish | source
complete -c ${name} -f
${lines.join('\n')}
`
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
