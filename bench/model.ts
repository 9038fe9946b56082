/**
 * A model that answers at once, in a process of its own: so many tool calls, then words. It is the clock as well: what lies between
 * the end of one answer and the arrival of the next request is everything but the model.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ModelOrder {
  /** How many steps call the tool before the last answer. */
  steps: number
}
export interface ModelRecord {
  url: string
  /** Milliseconds between the end of each answer and the arrival of the next request. */
  between: number[]
  /** Bytes of each request. */
  sizes: number[]
}

let steps = 0
let arrivals: { at: number; end: number; bytes: number }[] = []
const RESULT = Buffer.from('"role":"tool"')
const STREAM = Buffer.from('"stream":true')

const server = createServer(async (request, response) => {
  const arrival = { at: performance.now(), end: 0, bytes: 0 }
  const body = Buffer.concat(await request.toArray())
  arrival.bytes = body.length
  const told = request.headers['x-step']
  const done = told === undefined ? count(body, RESULT) : Number(told)
  if (told !== undefined) response.end(JSON.stringify({ call: done < steps }))
  else if (body.includes(STREAM)) stream(response, done, done < steps)
  else answer(response, done, done < steps)
  arrival.end = performance.now()
  arrivals.push(arrival)
})

const common = (done: number) => ({ id: `c${done}`, created: 1, model: 'bench' })
const call = (done: number) => ({
  index: 0,
  id: `call${done}`,
  type: 'function',
  function: { name: 'orchestrator_read', arguments: '{"what":"policy"}' },
})

/** What any server of chat completions answers. */
function answer(response: ServerResponse, done: number, calls: boolean): void {
  const message = { role: 'assistant', content: calls ? null : 'Done.', ...(calls ? { tool_calls: [call(done)] } : {}) }
  const choices = [{ index: 0, message, finish_reason: calls ? 'tool_calls' : 'stop' }]
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ...common(done), object: 'chat.completion', choices }))
}

/** And what it streams. */
function stream(response: ServerResponse, done: number, calls: boolean): void {
  const chunk = (delta: object, finish: string | null = null) => ({
    ...common(done),
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const chunks = calls ? [chunk({ tool_calls: [call(done)] }), chunk({}, 'tool_calls')] : [chunk({ content: 'Done.' }), chunk({}, 'stop')]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`)
}

function count(body: Buffer, words: Buffer): number {
  let found = 0
  for (let at = body.indexOf(words); at !== -1; at = body.indexOf(words, at + words.length)) found += 1
  return found
}

server.listen(0, '127.0.0.1')
process.on('message', (order: Partial<ModelOrder>) => {
  const { port } = server.address() as AddressInfo
  const between = arrivals.slice(1).map(({ at }, nth) => at - arrivals[nth]!.end)
  const sizes = arrivals.map(({ bytes }) => bytes)
  if (order.steps !== undefined) {
    steps = order.steps
    arrivals = []
  }
  process.send?.({ url: `http://127.0.0.1:${port}`, between, sizes } satisfies ModelRecord)
})
process.on('disconnect', () => process.exit(0))
