/**
 * The scripted model as a process of its own: `node rehearsal/model/main.ts [--port <n>] [--scenario <name>]…`. It prints one
 * JSON line with its address; `SCRIPTED_MODEL_KEY` is the bearer key that it asks for. With `--until-stdin-ends` it goes when
 * its parent does, however that died.
 */
import { parseArgs } from 'node:util'
import { SCENARIOS } from '../scenarios/scenarios.ts'
import { startModel } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    scenario: { type: 'string', multiple: true, default: SCENARIOS.map((scenario) => scenario.name) },
    'until-stdin-ends': { type: 'boolean', default: false },
  },
})

const unknown = values.scenario.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name))
const port = Number(values.port)
if (unknown.length > 0) fail(`no scenario is named ${unknown.join(', ')}; there are ${SCENARIOS.map(({ name }) => name).join(', ')}`)
if (!/^\d+$/.test(values.port) || port > 65_535) fail(`--port "${values.port}" is no port: a number from 0 (a free one) to 65535`)

const model = await startModel({
  scenarios: SCENARIOS.filter((scenario) => values.scenario.includes(scenario.name)),
  port,
  key: process.env.SCRIPTED_MODEL_KEY,
}).catch((error: Error) => fail(`cannot listen on port ${port}: ${error.message}; choose another with --port, or 0 for a free one`))
process.stdout.write(`${JSON.stringify({ url: model.url, scenarios: values.scenario })}\n`)

let closing = false
const stop = async (): Promise<void> => {
  if (closing) return
  closing = true
  await model.close()
  process.exit(0)
}
process.on('SIGINT', stop)
process.on('SIGTERM', stop)
if (values['until-stdin-ends']) process.stdin.on('end', stop).resume()

function fail(sentence: string): never {
  process.stderr.write(`scripted model: ${sentence}\n`)
  process.exit(1)
}
