/** The bytes of a draft as a value; what is no UTF-8 or no JSON is told as a fault of the whole document. */
import type { ConfigFault } from './fault.ts'

export function readDraft(bytes: Uint8Array): { draft: unknown } | { faults: ConfigFault[] } {
  const text = decoded(bytes)
  if (text === null) return fault('its bytes are no UTF-8', 'UTF-8')
  try {
    return { draft: JSON.parse(text) }
  } catch (error) {
    return fault(`no JSON: ${(error as Error).message}`, 'one JSON object with sections, skills and overrides')
  }
}

const fault = (found: string, legal: string) => ({ faults: [{ pointer: '', found, legal }] })

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
