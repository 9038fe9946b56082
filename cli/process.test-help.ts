/** The real command line in a process of its own, with an environment that holds nothing but what a test says. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

/** Empty: not set, whatever a developer's `.env` says. */
const UNSET = Object.fromEntries(
  [
    'DATABASE_URL DATABASE_ADMIN_URL TEMPORAL_ADDRESS TEMPORAL_NAMESPACE SWITCHYARD_HOST SWITCHYARD_PORT',
    'SWITCHYARD_WEBHOOK_PORT GITHUB_API_URL GITHUB_APP_ID GITHUB_APP_PRIVATE_KEY GITHUB_TOKEN GITHUB_WEBHOOK_SECRET',
    'GITHUB_REPOSITORIES MODEL_PROVIDER MODEL_NAME MODEL_MAIN_NAME MODEL_BASE_URL MODEL_API_KEY SANDBOX LOG_LEVEL',
  ].flatMap((names) => names.split(' ').map((name) => [name, ''])),
)

export interface Ended {
  code: number | null
  out: string
  err: string
}

/** `closeOutput`: as `switchyard … | head -0`. */
export function switchyard(args: string[], env: Record<string, string> = {}, { closeOutput = false } = {}): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...UNSET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk
  })
  if (closeOutput) child.stdout.destroy()
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}
