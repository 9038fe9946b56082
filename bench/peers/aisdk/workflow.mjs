/** The loop as the package documents it: `generateText` in a workflow, with a tool that is an activity. */
import { TemporalProvider } from '@temporalio/ai-sdk/workflow'
import { proxyActivities } from '@temporalio/workflow'
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'

const { read } = proxyActivities({ startToCloseTimeout: '1m' })
const provider = new TemporalProvider({ default: { startToCloseTimeout: '1m' } })

export async function agent(instructions, mostSteps) {
  const { steps } = await generateText({
    model: provider.languageModel('bench'),
    instructions,
    prompt: 'begin',
    tools: {
      orchestrator_read: tool({
        description: 'Reads one of the texts of the team.',
        inputSchema: z.object({ what: z.string() }),
        execute: (input) => read(input),
      }),
    },
    stopWhen: isStepCount(mostSteps),
  })
  return steps.length
}
