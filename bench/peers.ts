/**
 * What others built, each in a folder of its own below `peers/` with exact versions: two versions of the Temporal SDK cannot share a
 * folder. Installed at the first use.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Helper, helper, note } from './house.ts'

/** `<peer>/<file>` as a process of its own. */
export async function peer(file: `${string}/${string}`): Promise<Helper> {
  await install(file.slice(0, file.indexOf('/')))
  return helper(`peers/${file}`)
}

async function install(name: string): Promise<void> {
  const folder = fileURLToPath(new URL(`peers/${name}/`, import.meta.url))
  // npm writes its own list last
  const installed = statSync(`${folder}node_modules/.package-lock.json`, { throwIfNoEntry: false })
  if (installed && installed.mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs) return
  note(`installing bench/peers/${name} (npm ci) …`)
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, stdio: ['ignore', 2, 2] })
  const [code] = await once(npm, 'exit')
  if (code !== 0) throw new Error(`npm ci in bench/peers/${name} ended with ${code}`)
  note(`installed bench/peers/${name}`)
}
