/** Runs one loop of `@temporalio/ai-sdk` when it is asked to, on a server that runs already, and says how it ended. */
import { fileURLToPath } from 'node:url'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { AiSdkPlugin } from '@temporalio/ai-sdk'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

Runtime.install({ logger: new DefaultLogger('ERROR') })

process.on('message', async (order) => process.send({ outcome: await loop(order) }))
process.on('disconnect', () => process.exit(0))

async function loop({ address, namespace, modelUrl, steps, workflowId, instructions, result }) {
  const connection = await NativeConnection.connect({ address })
  const clientConnection = await Connection.connect({ address })
  const client = new Client({ connection: clientConnection, namespace })
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'aisdk',
    workflowsPath: fileURLToPath(new URL('workflow.mjs', import.meta.url)),
    plugins: [new AiSdkPlugin({ modelProvider: createOpenAICompatible({ name: 'bench', baseURL: modelUrl, apiKey: 'none' }) })],
    activities: { read: async () => result },
  })
  const outcome = await worker.runUntil(
    client.workflow.execute('agent', { taskQueue: 'aisdk', workflowId, args: [instructions, steps + 1] }).then(
      (done) => `completed ${done} steps`,
      (error) => `${error.message}: ${error.cause?.message ?? 'no cause given'}`,
    ),
  )
  await Promise.all([connection.close(), clientConnection.close()])
  return outcome
}
