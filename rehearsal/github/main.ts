/** The offline GitHub as a process of its own: `main.ts --folder <state> [--port <n>] [--contract]`. Prints its addresses as one line of JSON. */
import { parseArgs } from 'node:util'
import { startGithub } from './server.ts'

const { values } = parseArgs({
  options: { folder: { type: 'string' }, port: { type: 'string' }, contract: { type: 'boolean', default: false } },
})
const port = Number(values.port ?? '0')
if (!values.folder || !Number.isInteger(port) || port < 0 || port > 65_535) {
  process.stderr.write('offline GitHub: --folder <where its state lies> is needed; --port is a number from 0 to 65535 (0: any free one)\n')
  process.exit(1)
}

const github = await startGithub({ folder: values.folder, port, contract: values.contract })
const { url, apiUrl, graphqlUrl, gitUrl } = github
process.stdout.write(`${JSON.stringify({ url, apiUrl, graphqlUrl, gitUrl, pid: process.pid })}\n`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void github.close()
  })
}
