/** One process at a time works in a state folder, and a dead one does not hold it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { testFolder } from '../../test/services.ts'
import { takeHome } from './home.ts'

const folder = testFolder()
afterAll(() => rmSync(folder, { recursive: true }))

test('a folder that is in use is refused with one sentence that names the process; released it is free', async () => {
  const home = join(folder, 'new', 'deep')
  const { release } = await takeHome(home)
  await expect(takeHome(home)).rejects.toThrow(`${home} is in use by process ${process.pid}, since ${new Date().getFullYear()}`)
  release()
  const again = await takeHome(home)
  again.release()
})

test('the folder of a process that was killed is free at once, also for a start that waited for it', async () => {
  const home = join(folder, 'killed')
  const holder = await holding(home)
  await expect(takeHome(home)).rejects.toThrow(`kill ${holder.pid}`)
  const waiting = takeHome(home, { patience: 30_000 })
  holder.kill('SIGKILL')
  const { release } = await waiting
  release()
})

test('of several that take over the folder of a dead process exactly one gets it', async () => {
  const home = join(folder, 'race')
  const holder = await holding(home)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => takeHome(home)))
  const won = results.filter((result) => result.status === 'fulfilled')
  expect(won).toHaveLength(1)
  for (const { value } of won) value.release()
})

async function holding(home: string) {
  const code = `import { takeHome } from ${JSON.stringify(new URL('home.ts', import.meta.url).href)}
    await takeHome(${JSON.stringify(home)}); console.log('taken'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  await once(child.stdout, 'data')
  return child
}
