/** A tool as the provider is told about it, and as the ledger keeps it. */
import { jsonSchema } from '../schema/json-schema.ts'
import type { Tool } from './tool.ts'

export interface OfferedTool {
  name: string
  description: string
  schema: Record<string, unknown>
}

export const asOffered = (tool: Tool): OfferedTool => ({ name: tool.name, description: tool.description, schema: { ...jsonSchema(tool) } })
