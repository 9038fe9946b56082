/** A model provider of a test: a real HTTP server that records what it is asked and answers with bytes that the test wrote. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Asked {
  path: string
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: each provider has a shape of its own
  body: any
}

export async function modelServer(
  answer: (response: ServerResponse, asked: Asked) => void,
): Promise<{ url: string; asked: Asked[]; texts: string[] }> {
  const asked: Asked[] = []
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    texts.push(text)
    const body = JSON.parse(text)
    asked.push({ path: request.url!, headers: request.headers, body })
    answer(response, asked.at(-1)!)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, texts }
}

/** Server-sent events: each value a `data:` line; a pair names its event. */
export function events(response: ServerResponse, values: readonly (object | string | readonly [string, object])[]): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const value of values) {
    const [name, data] = Array.isArray(value) ? value : [null, value]
    response.write(`${name === null ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  }
  return response
}

/** A chunk of a chat completion. */
export const chunk = (delta: object, rest: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
})
export const finish = (reason: string): object => chunk({}, { finish_reason: reason })
export const usage = (prompt: number, completion: number, cached: number): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [],
  usage: {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  },
})
/** One call's name and its arguments in pieces, as providers stream them. */
export const call = (index: number, name: string, pieces: readonly string[]): object[] => [
  chunk({ tool_calls: [{ index, id: `id${index}`, type: 'function', function: { name, arguments: '' } }] }),
  ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
]
