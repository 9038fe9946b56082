/** `write` (spec H10): puts a whole file into the checkout, folders included. */
import type { Answer, Given } from '../workspace/given.ts'
import { openInside, overwrite } from '../workspace/inside.ts'

export interface WriteInput {
  path: string
  content: string
}

export async function write({ folder, input }: Given<WriteInput>): Promise<Answer> {
  if (!input.content.isWellFormed())
    return { refused: `${input.path}: the content is ill-formed text (half of a surrogate pair); nothing was written` }
  const opened = await openInside({ folder, path: input.path, use: 'create' })
  if ('refused' in opened) return opened
  const { file, shown, isNew } = opened
  try {
    const before = (await file.stat()).size
    await overwrite(file, input.content)
    const lines = input.content.split('\n').length - (input.content.endsWith('\n') ? 1 : 0)
    const size = `${input.content === '' ? 0 : lines} lines, ${Buffer.byteLength(input.content)} bytes`
    return { text: isNew ? `${shown} is new: ${size}` : `${shown} is replaced: ${size} (before: ${before} bytes)` }
  } finally {
    await file.close()
  }
}
