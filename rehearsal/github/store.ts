/**
 * The offline GitHub's memory: one state file, written whole and renamed into place before a change is answered, and one file
 * for each delivery's headers, payload and answer. A killed process therefore leaves the last answered change, never half a
 * file. It is written for a process that dies, not for a machine that loses its power: no fsync.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Delivery, emptyState, type State } from './state.ts'

export interface DeliveryBody {
  request: { headers: Record<string, string>; payload: Record<string, unknown> }
  response: { headers: Record<string, string>; payload: string } | null
}

export interface Store {
  readonly folder: string
  readonly state: State
  /** Writes what was changed in `state`; the bodies first, so that no line of the log lacks its file. */
  save(bodies?: { delivery: Delivery; body: DeliveryBody }[]): void
  body(deliveryId: number): DeliveryBody
  repositoryFolder(repositoryId: number): string
}

export function openStore(folder: string): Store {
  for (const name of ['git', 'deliveries']) mkdirSync(join(folder, name), { recursive: true })
  const stateFile = join(folder, 'state.json')
  const bodyFile = (id: number) => join(folder, 'deliveries', `${id}.json`)
  const state = readState(stateFile)

  return {
    folder,
    state,
    save(bodies = []) {
      for (const { delivery, body } of bodies) replaceFile(bodyFile(delivery.id), JSON.stringify(body))
      replaceFile(stateFile, JSON.stringify(state))
    },
    body: (id) => JSON.parse(readFileSync(bodyFile(id), 'utf8')) as DeliveryBody,
    repositoryFolder: (id) => join(folder, 'git', `${id}.git`),
  }
}

function readState(file: string): State {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyState()
    throw error
  }
  return { ...emptyState(), ...(JSON.parse(text) as State) }
}

function replaceFile(file: string, text: string): void {
  const fresh = `${file}.new`
  writeFileSync(fresh, text, { mode: 0o600 })
  renameSync(fresh, file)
}
