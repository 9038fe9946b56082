/** A model's call against the tools it was offered: the value, or a refusal that names each fault and the legal form. */
import type { z } from 'zod'
import { closest } from '../prompt/near.ts'
import { type ShapeFault, shapeFaults } from '../schema/shape-faults.ts'
import type { Tool } from './tool.ts'

export type Parsed<Value> = { ok: true; value: Value } | { refused: string }

export function parseInput<Input extends z.ZodObject>(tool: Tool<Input>, input: unknown): Parsed<z.infer<Input>> {
  const parsed = tool.input.safeParse(input)
  if (parsed.success) return { ok: true, value: parsed.data }
  const faults = shapeFaults(tool.input, input).map(lineOf)
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

const lineOf = ({ path, found, legal }: ShapeFault): string => `- ${named(path)}: ${found}${legal === null ? '' : `; legal is ${legal}`}`

function named(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the input'
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i > 0 ? '.' : ''}${shortened(String(step))}`)).join('')
}

function shortened(name: string): string {
  const characters = [...name]
  return characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : name
}
