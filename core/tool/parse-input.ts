/** A model's call against the tools it was offered: the value, or a refusal that names each fault and the legal form. */
import type { z } from 'zod'
import { closest } from '../prompt/near.ts'
import { jsonSchema, type Node } from './schema.ts'
import type { Tool } from './tool.ts'

export type Parsed<Value> = { ok: true; value: Value } | { refused: string }

export function parseInput<Input extends z.ZodObject>(tool: Tool<Input>, input: unknown): Parsed<z.infer<Input>> {
  const parsed = tool.input.safeParse(input)
  if (parsed.success) return { ok: true, value: parsed.data }
  const schema: Node = jsonSchema(tool)
  const faults = parsed.error.issues.flatMap((issue) => faultLines(issue, schema, input))
  return {
    refused: `${tool.name}: the input does not fit, so nothing was done.\n${faults.join('\n')}\nCall it again with these put right.`,
  }
}

/** The tool of that name, or a refusal that says which there are. */
export function findTool(name: string, tools: readonly Tool[]): { tool: Tool } | { refused: string } {
  const tool = tools.find((offered) => offered.name === name)
  if (tool) return { tool }
  const names = tools.map((offered) => offered.name)
  const near = closest(name, names)
  return { refused: `There is no tool "${shortened(name)}"${near ? `; did you mean ${near}?` : '.'} You have: ${names.join(', ')}.` }
}

function faultLines(issue: z.core.$ZodIssue, schema: Node, input: unknown): string[] {
  const node = nodeAt(schema, issue.path)
  if (issue.code === 'custom') return [`- ${named(issue.path)}: ${issue.message}`]
  if (issue.code === 'unrecognized_keys') {
    const legal = Object.keys(node?.properties ?? {}).join(', ')
    return issue.keys.map((key) => `- ${named([...issue.path, key])}: no such argument; legal are ${legal}`)
  }
  return [`- ${named(issue.path)}: ${found(valueAt(input, issue.path))}; legal is ${node ? legalForm(node) : issue.message}`]
}

function named(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the input'
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i > 0 ? '.' : ''}${shortened(String(step))}`)).join('')
}

function nodeAt(schema: Node, path: readonly PropertyKey[]): Node | undefined {
  return path.reduce<Node | undefined>((node, step) => (typeof step === 'number' ? node?.items : node?.properties?.[String(step)]), schema)
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[step] : undefined),
    input,
  )
}

function found(value: unknown): string {
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
    default:
      return `an object with ${Object.keys(node.properties ?? {}).join(', ')}`
  }
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const counted = unit === '' ? '' : ` ${unit}`
  if (least !== undefined && most !== undefined) return unit === '' ? ` from ${least} to ${most}` : ` of ${least} to ${most}${counted}`
  if (most !== undefined) return ` of at most ${most}${counted}`
  return least === undefined || (unit !== '' && least === 0) ? '' : ` of at least ${least}${counted}`
}

function shortened(name: string): string {
  const characters = [...name]
  return characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : name
}
