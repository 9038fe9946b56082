/**
 * How long `npm start` takes until it is ready: on an empty state folder and on a used one. Beside it the two services alone, since
 * nothing can be ready before them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startPostgres } from '../worker/embedded/postgres.ts'
import { startTemporal } from '../worker/embedded/temporal.ts'
import { ROOT } from '../worker/environment.ts'
import { median, note, printTable, RUNS, scratch } from './house.ts'

/** Seconds from the start of the process to its word that it is ready; then it is stopped as by Ctrl-C. */
async function started(home: string): Promise<number> {
  const began = performance.now()
  const child = spawn(process.execPath, [join(ROOT, 'setup', 'start.mjs')], {
    cwd: ROOT,
    env: { ...process.env, SWITCHYARD_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const said: string[] = []
  child.stderr.on('data', (data) => said.push(String(data)))
  const ready = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      said.push(line)
      if (/^switchyard: ready\b/.test(line)) return (performance.now() - began) / 1000
    }
    throw new Error(`npm start ended before it was ready:\n${said.join('\n')}`)
  })()
  const seconds = await ready
  child.stdout.resume()
  child.kill('SIGINT')
  await exited
  return seconds
}

/** Both at once, as the program starts them. */
async function servicesAlone(home: string): Promise<number> {
  const began = performance.now()
  const say = () => {}
  const [postgres, temporal] = await Promise.all([startPostgres({ home, say }), startTemporal({ home, say })])
  const seconds = (performance.now() - began) / 1000
  await Promise.all([postgres.stop(), temporal.stop()])
  return seconds
}

const found: Record<'cold' | 'warm', { mine: number[]; services: number[] }> = {
  cold: { mine: [], services: [] },
  warm: { mine: [], services: [] },
}
for (let run = 1; run <= RUNS; run++) {
  const folder = scratch()
  const [ours, theirs] = [join(folder, 'ours'), join(folder, 'services')]
  for (const home of [ours, theirs]) mkdirSync(home, { mode: 0o711 })
  for (const kind of ['cold', 'warm'] as const) {
    found[kind].services.push(await servicesAlone(theirs))
    found[kind].mine.push(await started(ours))
    note(`${kind}, run ${run}: ${found[kind].mine.at(-1)!.toFixed(1)} s, services ${found[kind].services.at(-1)!.toFixed(1)} s`)
  }
}

printTable(
  'From `npm start` to its word that it is ready, packages installed and the Temporal server cached; an empty state folder is cold',
  ['', 'Switchyard s', 'services alone s', 'ratio'],
  (['cold', 'warm'] as const).map((kind) => {
    const [mine, services] = [median(found[kind].mine), median(found[kind].services)]
    return [kind, mine.toFixed(1), services.toFixed(1), `${(mine / services).toFixed(1)}×`]
  }),
)
