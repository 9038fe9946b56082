/** `switchyard doctor`: looks at one thing after another and says of each whether it is well, and if not, what to do. Changes nothing. */
import { homeFolder, readSettings } from '../../worker/environment.ts'
import { aligned } from '../lines.ts'
import type { Style, Tone } from '../live/style.ts'
import { complain, type ExitCode, faultsText, outputStyle, say } from '../terminal.ts'
import { type Finding, type Given, ok } from './finding.ts'

export interface Check {
  name: string
  look(given: Given): Finding | Promise<Finding> | Promise<Finding[]>
}

/** What the others stand on comes first. Each is loaded when its turn comes: the first lines are there at once. */
const CHECKS: readonly Check[] = [
  { name: 'Node', look: async () => (await import('./machine.ts')).node() },
  { name: 'git', look: async () => (await import('./machine.ts')).git() },
  { name: 'settings', look: () => ok('complete; switchyard doctor --config shows them') },
  { name: 'Postgres', look: async (given) => (await import('./services.ts')).postgres(given) },
  { name: 'Temporal', look: async (given) => (await import('./services.ts')).temporal(given) },
  { name: 'sandbox', look: async (given) => (await import('./machine.ts')).sandbox(given) },
  { name: 'GitHub', look: async (given) => (await import('./outside.ts')).github(given) },
  { name: 'model', look: async (given) => (await import('./outside.ts')).model(given) },
  { name: 'ports', look: async (given) => (await import('./machine.ts')).ports(given) },
]

export async function doctor({ config = false }: { config?: boolean }): Promise<ExitCode> {
  const parsed = readSettings()
  if ('faults' in parsed) {
    complain(faultsText(parsed.faults))
    return 1
  }
  const { settings } = parsed
  if (config) {
    const { effective, readSources, renderEffective } = await import('./effective.ts')
    say(renderEffective(effective(settings, readSources()), outputStyle()))
    return 0
  }
  let problems = 0
  for (const { name, look } of CHECKS) {
    for (const finding of [await look({ settings, home: homeFolder(settings.home) })].flat()) {
      if (finding.state === 'problem') problems += 1
      say(renderFinding(name, finding, outputStyle()))
    }
  }
  say(problems === 0 ? '\nNothing is wrong.' : `\n${problems === 1 ? 'One thing is' : `${problems} things are`} wrong.`)
  return problems === 0 ? 0 : 1
}

const TONES: Readonly<Record<Finding['state'], Tone>> = { ok: 'good', problem: 'bad', off: 'faint' }
const WIDTHS = { name: Math.max(...CHECKS.map(({ name }) => name.length)), state: 'problem'.length }

export function renderFinding(name: string, finding: Finding, style: Style): string {
  const head = [{ text: name.padEnd(WIDTHS.name) }, { text: finding.state.padEnd(WIDTHS.state), tone: TONES[finding.state] }]
  const rows = [[...head, { text: finding.says }]]
  if (finding.state === 'problem') rows.push([{ text: '' }, { text: '', tone: 'plain' }, { text: `→ ${finding.fix}` }])
  return aligned(rows, style, 0).join('\n')
}
