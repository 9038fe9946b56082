/** Plain Probot with one handler that stores nothing and logs nothing: told its secret and port, it says where it listens. */
import { generateKeyPairSync } from 'node:crypto'
import { pino } from 'pino'
import { Probot, Server } from 'probot'

process.on('message', async ({ secret, port }) => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const defaults = Probot.defaults({ appId: 1, privateKey, secret, logLevel: 'fatal' })
  const server = new Server({ port, host: '127.0.0.1', Probot: defaults, log: pino({ level: 'fatal' }) })
  await server.load((app) => {
    app.on('issue_comment.created', async () => {})
  })
  await server.start()
  process.send({ url: `http://127.0.0.1:${port}/api/github/webhooks` })
})
process.on('disconnect', () => process.exit(0))
