/** A closed object of values as the JSON schema that a provider gets: plain, without what providers refuse or misread. */
import { z } from 'zod'

export interface ObjectSchema {
  type: 'object'
  properties: Record<string, Node>
  required?: string[]
  additionalProperties: false
}

export interface Node {
  type?: string
  description?: string
  enum?: readonly unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Node
  properties?: Record<string, Node>
  /** What every value of a record is; false: a closed object. */
  additionalProperties?: Node | false
}

export function jsonSchema({ input }: { input: z.ZodObject }): ObjectSchema {
  const { $schema, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return plain(schema) as ObjectSchema
}

/** Whole numbers come with the bounds of a double, and "above 0" in a form that older validators read as a boolean. */
function plain(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plain)
  if (node === null || typeof node !== 'object') return node
  const { exclusiveMinimum, maximum, minimum, ...rest } = node as Record<string, unknown>
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value)])),
    ...(exclusiveMinimum === 0 ? { minimum: 1 } : minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}
