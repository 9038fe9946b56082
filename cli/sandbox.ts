/** The sandbox that the settings ask for, or a sentence on why there is none (spec H10). A model of one's own never runs commands unconfined unasked. */
import { createSandbox, type Sandbox } from '../activities/workspace/sandbox.ts'
import type { Settings } from '../core/deployment/settings.ts'

export async function openSandbox(settings: Settings, say: (line: string) => void): Promise<Sandbox> {
  const allowedHosts = settings.file.sandbox.allowedHosts
  if (settings.sandbox === 'off') {
    say('SANDBOX=off: commands of the agent run unconfined on this machine')
    return createSandbox({ mode: 'off', allowedHosts })
  }
  const sandbox = createSandbox({ mode: 'bubblewrap', allowedHosts })
  const available = await sandbox.available()
  if (available.ok) return sandbox
  if (settings.sandbox === 'bubblewrap' || settings.model) {
    throw new Error(
      `commands cannot be confined: ${available.reason} A model's commands are not run without: install what is missing, or say SANDBOX=off.`,
    )
  }
  say(`commands cannot be confined here (${available.reason}); the rehearsal's scripted commands run without`)
  return createSandbox({ mode: 'off', allowedHosts })
}
