import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, SCRIPTED_MODEL_KEY: 'right' } })
}

test('the process prints its address, asks for its key, and goes when its parent does', async () => {
  const child = start('--until-stdin-ends', '--scenario', 'second-server')
  const [line] = await once(child.stdout!, 'data')
  const { url, scenarios } = JSON.parse(String(line))
  expect(scenarios).toEqual(['second-server'])
  expect((await fetch(`${url}/models`)).status).toBe(401)
  expect((await fetch(`${url}/models`, { headers: { authorization: 'Bearer right' } })).status).toBe(200)
  child.stdin!.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test.each([
  [['--scenario', 'nothing'], 'no scenario is named nothing; there are fix-failing-test, second-server'],
  [['--port', '80a'], '--port "80a" is no port'],
])('%j is refused in one sentence', async (args, sentence) => {
  const child = start(...args)
  const said: Buffer[] = []
  child.stderr!.on('data', (part) => said.push(part))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  expect(Buffer.concat(said).toString()).toContain(sentence)
})
