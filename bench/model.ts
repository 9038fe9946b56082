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
}

let steps = 0
let arrivals: { at: number; end: number }[] = []
const RESULT = Buffer.from('"role":"tool"')

const server = createServer(async (request, response) => {
  const arrival = { at: performance.now(), end: 0 }
  const body = Buffer.concat(await request.toArray())
  const told = request.headers['x-step']
  const done = told === undefined ? count(body, RESULT) : Number(told)
  if (told === undefined) stream(response, done, done < steps)
  else response.end(JSON.stringify({ call: done < steps }))
  arrival.end = performance.now()
  arrivals.push(arrival)
})

/** What any server of chat completions streams. */
function stream(response: ServerResponse, done: number, calls: boolean): void {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: `c${done}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const call = { index: 0, id: `call${done}`, type: 'function', function: { name: 'orchestrator_read', arguments: '{"what":"policy"}' } }
  const chunks = calls ? [chunk({ tool_calls: [call] }), chunk({}, 'tool_calls')] : [chunk({ content: 'Done.' }), chunk({}, 'stop')]
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
  if (order.steps !== undefined) {
    steps = order.steps
    arrivals = []
  }
  process.send?.({ url: `http://127.0.0.1:${port}`, between } satisfies ModelRecord)
})
process.on('disconnect', () => process.exit(0))
