/**
 * AGENTS.md (spec N12): the root file, fixed at the base commit, stands in the prompt; a nested one comes with the first tool
 * result that touches its folder, once. 64 KiB in all; what does not fit is left out whole, with a notice that names it.
 */
import { posix, relative, sep } from 'node:path'
import { git, gitOk } from './git.ts'
import { openInside } from './inside.ts'
import { legible } from './output.ts'

export const AGENTS_MD_BYTES = 64 * 1024
const NAME = 'AGENTS.md'

export interface AgentsMd {
  /** Path from the root of the repository. */
  path: string
  /** The file, or the notice in its place. */
  text: string
  /** Bytes that it takes of the 64 KiB. */
  bytes: number
}

/** The root file as the base commit has it, read from the host's mirror; null: there is none. A link to another file at hand is followed once. */
export async function rootAgentsMd(mirror: string, sha: string, signal: AbortSignal): Promise<AgentsMd | null> {
  const blob = await blobAt(mirror, sha, NAME, signal)
  if (blob === null) return null
  const size = Number(await gitOk({ args: ['cat-file', '-s', blob], cwd: mirror, signal }))
  if (size > AGENTS_MD_BYTES) return leftOut(NAME, size)
  return { path: NAME, text: await gitOk({ args: ['cat-file', 'blob', blob], cwd: mirror, signal }), bytes: size }
}

/**
 * The nested files on the way from the root (not its own) to the folder of the touched path, outermost first, without those
 * already shown. `room` is what is left of the 64 KiB. The caller adds the paths to what was shown, notices included.
 */
export async function agentsMdFor(
  folder: string,
  touchedPath: string,
  alreadyShown: ReadonlySet<string>,
  room = AGENTS_MD_BYTES,
): Promise<AgentsMd[]> {
  const found: AgentsMd[] = []
  for (const path of nestedOnTheWay(folder, touchedPath)) {
    if (alreadyShown.has(path)) continue
    const opened = await openInside({ folder, path, use: 'read' })
    if ('refused' in opened) continue // there is none in this folder, or it leads out of the repository
    const { file } = opened
    try {
      const { size } = await file.stat()
      const left = room - found.reduce((sum, { bytes }) => sum + bytes, 0)
      found.push(size > left ? leftOut(path, size) : { path, text: legible(await file.readFile()), bytes: size })
    } finally {
      await file.close()
    }
  }
  return found
}

function nestedOnTheWay(folder: string, touchedPath: string): string[] {
  const inside = relative(folder, posix.resolve(folder, touchedPath))
  if (inside.startsWith('..')) return []
  const folders = inside.split(sep).slice(0, -1)
  return folders.map((_, depth) => [...folders.slice(0, depth + 1), NAME].join('/')).filter((path) => !path.split('/').includes('.git'))
}

function leftOut(path: string, size: number): AgentsMd {
  return {
    path,
    text: `[${path} (${size} bytes) is left out: all AGENTS.md files together may have ${AGENTS_MD_BYTES} bytes. Read it with the read tool.]`,
    bytes: 0,
  }
}

async function blobAt(mirror: string, sha: string, path: string, signal: AbortSignal, followed = false): Promise<string | null> {
  const { exit, stdout } = await git({ args: ['ls-tree', '-z', sha, '--', path], cwd: mirror, signal })
  const [, mode, type, blob] = /^(\d+) (\w+) ([0-9a-f]+)\t/.exec(stdout) ?? []
  if (exit !== 0 || type !== 'blob') return null
  if (mode !== '120000') return blob!
  const target = posix.normalize((await gitOk({ args: ['cat-file', 'blob', blob!], cwd: mirror, signal })).trim())
  return followed || target.startsWith('..') || target.startsWith('/') ? null : blobAt(mirror, sha, target, signal, true)
}
