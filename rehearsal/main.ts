/**
 * The world outside, offline, as one process of its own: GitHub and the scripted model. It keeps its state in a folder, prints
 * one JSON line with its addresses, and ends with its parent, however that died.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type OfflineGithub, startGithub } from './github/server.ts'
import { startModel } from './model/server.ts'
import { SCENARIOS } from './scenarios/scenarios.ts'

export interface OutsideAddresses {
  github: { url: string; apiUrl: string; graphqlUrl: string; gitUrl: string }
  modelUrl: string
}

const { values } = parseArgs({ options: { folder: { type: 'string' } } })
if (!values.folder) {
  process.stderr.write('rehearsal: --folder <where the state of the offline GitHub lies> is needed\n')
  process.exit(1)
}

const folder = join(values.folder, 'github')
mkdirSync(folder, { recursive: true })
const github = await startAtKnownPort()
const model = await startModel({ scenarios: SCENARIOS })
const { url, apiUrl, graphqlUrl, gitUrl } = github
const addresses: OutsideAddresses = { github: { url, apiUrl, graphqlUrl, gitUrl }, modelUrl: model.url }
process.stdout.write(`${JSON.stringify(addresses)}\n`)

// A terminal's Ctrl-C reaches us too; the parent ends us when nobody needs us any more.
process.on('SIGINT', () => undefined)
const stop = async () => {
  await Promise.all([github.close(), model.close()])
  process.exit(0)
}
process.on('SIGTERM', stop)
process.stdin.on('end', stop).resume()

/** Links that were printed or written into comments earlier stay good as long as the port is free. */
async function startAtKnownPort(): Promise<OfflineGithub> {
  const known = join(folder, 'port')
  const before = existsSync(known) ? Number(readFileSync(known, 'utf8')) : 0
  const started = await startGithub({ folder, port: before }).catch((error: { code?: string }) => {
    if (before === 0 || error.code !== 'EADDRINUSE') throw error
    return startGithub({ folder })
  })
  writeFileSync(known, new URL(started.url).port)
  return started
}
