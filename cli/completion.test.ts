import { execFileSync } from 'node:child_process'
import { Argument, Command } from 'commander'
import { expect, test } from 'vitest'
import { completionFor, shapeOf } from './completion.ts'

const program = new Command('switchyard')
program.command('status').description("a Ticket's story").argument('[ticket]').option('--json')
program.command('pause').description('hold').argument('<scope>').option('--reason <text>')
program
  .command('completion')
  .description('for a shell')
  .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
const shape = shapeOf(program)

/** What bash offers after these words. */
function offered(...words: string[]): string[] {
  const given = `COMP_WORDS=(switchyard ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _switchyard`
  const script = `${completionFor('bash', shape)}\n${given}; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
}

test('bash completes commands, what they take, and their options', () => {
  expect(offered('pa')).toEqual(['pause'])
  expect(offered('')).toEqual(['status', 'pause', 'completion', 'help', '--help', '--version'])
  expect(offered('pause', '')).toEqual(['main', 'all', '--reason', '--help'])
  expect(offered('status', '--j')).toEqual(['--json'])
  expect(offered('completion', 'z')).toEqual(['zsh'])
})

test('zsh and fish get the same, with the descriptions quoted', () => {
  expect(completionFor('zsh', shape)).toContain(`'status:a Ticket'\\''s story'`)
  expect(completionFor('zsh', shape)).toContain('pause) compadd -- main all --reason --help ;;')
  expect(completionFor('fish', shape)).toContain(`-a status -d 'a Ticket'\\''s story'`)
  expect(completionFor('fish', shape)).toContain(`complete -c switchyard -n "__fish_seen_subcommand_from pause" -a 'main all'`)
})
