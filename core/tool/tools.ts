/** Every tool that can be called, in the order of the packages. */
import { PACKAGES } from './packages.ts'
import type { Tool } from './tool.ts'

export const TOOLS: readonly Tool[] = PACKAGES.flatMap(({ tools }) => (typeof tools === 'function' ? [] : tools))
