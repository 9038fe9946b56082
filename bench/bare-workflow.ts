/** The barest loop that keeps ids only in its history: two activities a step. */
import { proxyActivities } from '@temporalio/workflow'
import type { bareActivities } from './bare.ts'

const { bareModelStep, bareRunTool } = proxyActivities<ReturnType<typeof bareActivities>>({
  taskQueue: 'bare-activities',
  startToCloseTimeout: '1m',
})

export async function bare(session: string): Promise<void> {
  for (let step = 0; ; step++) {
    const goesOn = await bareModelStep({ session, step })
    if (!goesOn) return
    await bareRunTool({ session, step })
  }
}
