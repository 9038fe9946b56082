/** What a tool call is about, in a few words: the one field of its input that a reader looks for. */

const FIELD: Readonly<Record<string, string>> = {
  read: 'path',
  write: 'path',
  edit: 'path',
  glob: 'pattern',
  grep: 'pattern',
  shell: 'command',
  github_push: 'branch',
  reply: 'purpose',
  orchestrator_report: 'status',
  orchestrator_read: 'what',
}

const CHARACTERS = 60

export function targetOf(tool: string, input: unknown): string {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const list = (name: string) => (Array.isArray(given[name]) ? (given[name] as Record<string, unknown>[]) : [])
  switch (tool) {
    case 'orchestrator_acknowledge':
      return `message ${given.message}`
    case 'github_pull_request':
      return given.number === undefined ? `${given.action}` : `${given.action} #${given.number}`
    case 'todo_write':
      return counted(list('items').length, 'item')
    case 'orchestrator_route':
      return list('decisions')
        .map(({ decision, candidate }) => `${decision} C-${candidate}`)
        .join(', ')
    default:
      return short(String(given[FIELD[tool] ?? ''] ?? ''))
  }
}

/** The first line, marked where something was left out: the whole stands in the log. */
function short(text: string): string {
  const [line = '', ...more] = text.trim().split('\n')
  const points = [...line]
  if (points.length > CHARACTERS) return `${points.slice(0, CHARACTERS).join('')}…`
  return more.length > 0 ? `${line} …` : line
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}
