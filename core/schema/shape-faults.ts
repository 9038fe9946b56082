/** Every way in which a value does not have the shape that was asked for: where, what was found, and what is legal there. */
import type { z } from 'zod'
import { jsonSchema, type Node } from './json-schema.ts'

export interface ShapeFault {
  path: readonly PropertyKey[]
  found: string
  /** Null: `found` is a sentence that says it all. */
  legal: string | null
}

export function shapeFaults(input: z.ZodObject, value: unknown): ShapeFault[] {
  const parsed = input.safeParse(value)
  if (parsed.success) return []
  const schema: Node = jsonSchema({ input })
  return parsed.error.issues.flatMap((issue) => faultsOf(issue, schema, value))
}

function faultsOf(issue: z.core.$ZodIssue, schema: Node, value: unknown): ShapeFault[] {
  const { path } = issue
  if (issue.code === 'custom') return [{ path, found: issue.message, legal: null }]
  const node = nodeAt(schema, path)
  if (issue.code === 'unrecognized_keys') {
    const legal = Object.keys(node?.properties ?? {}).join(', ')
    return issue.keys.map((key) => ({ path: [...path, key], found: 'no such name', legal }))
  }
  return [{ path, found: foundForm(valueAt(value, path)), legal: node ? legalForm(node) : issue.message }]
}

function nodeAt(schema: Node, path: readonly PropertyKey[]): Node | undefined {
  return path.reduce<Node | undefined>((node, step) => {
    if (typeof step === 'number') return node?.items
    return node?.properties?.[String(step)] ?? (node?.additionalProperties || undefined)
  }, schema)
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[step] : undefined),
    input,
  )
}

function foundForm(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'found null'
  if (Array.isArray(value)) return `found a list of ${value.length}`
  if (typeof value === 'object') return 'found an object'
  if (typeof value === 'string')
    return value.length > 60 ? `found a text of ${[...value].length} characters` : `found ${JSON.stringify(value)}`
  return `found ${String(value)}`
}

function legalForm(node: Node): string {
  if (node.enum) return `one of ${node.enum.map((value) => JSON.stringify(value)).join(', ')}`
  switch (node.type) {
    case 'string':
      return `a text${range(node.minLength, node.maxLength, 'characters')}`
    case 'integer':
      return `a whole number${range(node.minimum, node.maximum, '')}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `a list${range(node.minItems, node.maxItems, 'items')}`
    default: {
      const names = Object.keys(node.properties ?? {}).join(', ')
      return names === '' ? 'an object' : `an object with ${names}`
    }
  }
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const counted = unit === '' ? '' : ` ${unit}`
  if (least !== undefined && most !== undefined) return unit === '' ? ` from ${least} to ${most}` : ` of ${least} to ${most}${counted}`
  if (most !== undefined) return ` of at most ${most}${counted}`
  return least === undefined || (unit !== '' && least === 0) ? '' : ` of at least ${least}${counted}`
}
