/** This machine: Node, git, the sandbox, the ports. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSandbox } from '../../activities/workspace/sandbox.ts'
import { Holder } from '../../worker/embedded/home.ts'
import { isAlive } from '../../worker/embedded/process.ts'
import { readState } from '../../worker/embedded/state.ts'
import { type Finding, type Given, off, ok, problem, reasonOf } from './finding.ts'

const NODE = 24

export function node(version = process.versions.node): Finding {
  const major = Number(version.split('.')[0])
  return major >= NODE ? ok(version) : problem(`${version} is too old`, `run it with Node ${NODE}: npm start and npx switchyard do`)
}

export async function git(command = 'git'): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)(command, ['--version'])
    return ok(stdout.trim().replace(/^git version /, ''))
  } catch (error) {
    return problem(`git does not run: ${reasonOf(error)}`, 'install git, e.g. apt-get install git')
  }
}

export async function sandbox({ settings }: Given): Promise<Finding> {
  if (settings.sandbox === 'off') return off('SANDBOX=off: nothing confines the commands of the model')
  const confined = createSandbox({ mode: 'bubblewrap', allowedHosts: [] })
  try {
    const available = await confined.available()
    if (available.ok) return ok('bubblewrap confines a command')
    if (settings.model === null && settings.sandbox === null) return off(`the rehearsal runs without: ${available.reason}`)
    return problem(available.reason, 'mend that, or say SANDBOX=off to let the model run commands as your user')
  } finally {
    await confined.close()
  }
}

export async function ports({ settings, home }: Given): Promise<Finding[]> {
  const holder = readState(join(home, 'holder.json'), Holder)
  const runsHere = holder !== null && isAlive(holder.pid)
  const wanted = [
    ['SWITCHYARD_PORT', settings.panelPort],
    ['SWITCHYARD_WEBHOOK_PORT', settings.webhookPort],
  ] as const
  return Promise.all(
    wanted.map(async ([name, { port, chosen }]): Promise<Finding> => {
      const taken = await whyTaken(settings.host, port)
      const place = `${settings.host}:${port}`
      if (taken === null) return ok(`${place} is free`)
      if (taken === 'EADDRINUSE' && runsHere) return ok(`${place} is in use, and Switchyard runs here (process ${holder.pid})`)
      if (taken === 'EADDRINUSE' && !chosen) return ok(`${place} is in use: the next free one will be taken`)
      if (taken === 'EADDRINUSE') return problem(`${place} is in use by another program`, `end that, or set ${name} to another port`)
      if (taken === 'EACCES') return problem(`${place} may not be used by your user`, `set ${name} to a port above 1023`)
      return problem(`${place} cannot be listened on (${taken})`, 'set SWITCHYARD_HOST to an address of this machine, such as 127.0.0.1')
    }),
  )
}

function whyTaken(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}
