/**
 * Files of a checkout, opened by the host (spec H10): a path counts only if the file that was really opened lies inside, so no
 * `..`, no link and no folder that is swapped while we look leads out. Works on descriptors, which cannot be swapped.
 */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { foldersAround } from './layout.ts'

export interface InsideGiven {
  /** The checkout. */
  folder: string
  path: string
  /** `read` also reaches whole outputs of commands; `create` makes missing folders and the file; `change` needs the file. */
  use: 'read' | 'change' | 'create'
}

export type Opened = { file: FileHandle; shown: string; isNew: boolean } | { refused: string; missing?: true }

/** Opens a regular file. `shown` is the path as one says it in this checkout. The caller closes the file. */
export async function openInside(given: InsideGiven): Promise<Opened> {
  const place = placeOf(given)
  if ('refused' in place) return place
  const { root, absolute, shown } = place
  const realRoot = join(await realpath(dirname(root)), basename(root)) // the last part must be no link itself
  try {
    const parent = await openFolder(realRoot, dirname(relative(root, absolute)), given.use === 'create')
    if (parent === 'outside') return outside(shown)
    try {
      return await openFile(parent, realRoot, basename(absolute), shown, given.use)
    } finally {
      await parent.close()
    }
  } catch (error) {
    return refusalOf((error as NodeJS.ErrnoException).code ?? '', shown) ?? Promise.reject(error)
  }
}

/**
 * Puts text in the place of all that an open file holds. The file is cut to its length last: killed in between, the process leaves
 * old words behind the new ones, never an empty file. No rename: a link and the file's mode, owner and other names stay.
 */
export async function overwrite(file: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at, at)).bytesWritten
  await file.truncate(bytes.length)
}

/** Where a path points by its words alone. */
export function placeOf({ folder, path, use }: InsideGiven): { root: string; absolute: string; shown: string } | { refused: string } {
  if (path === '' || path.includes('\0'))
    return { refused: 'the path is empty or holds a NUL character: give a path inside the repository, such as src/index.ts' }
  const absolute = resolve(folder, path)
  const inCheckout = relative(folder, absolute)
  if (!leadsOut(inCheckout)) {
    if (use !== 'read' && isGits(inCheckout)) return gitsOwn(path)
    return { root: folder, absolute, shown: inCheckout === '' ? '.' : inCheckout }
  }
  const output = foldersAround(folder).output
  if (use === 'read' && isAbsolute(path) && absolute !== output && !leadsOut(relative(output, absolute)))
    return { root: output, absolute, shown: absolute }
  return outside(path)
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)
}

/** The folder's descriptor, checked for where it really is. Links inside the repository are followed, links out of it are not. */
async function openFolder(root: string, path: string, make: boolean): Promise<FileHandle | 'outside'> {
  let at = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  for (const part of path.split(sep).filter((part) => part !== '.' && part !== '')) {
    const above = at
    try {
      const next = join(descriptorPath(above), part)
      if (make) await mkdir(next).catch(existsAlready)
      at = await open(next, constants.O_RDONLY | constants.O_DIRECTORY)
    } finally {
      await above.close()
    }
    if (await isIn(at, root)) continue
    await at.close()
    return 'outside'
  }
  return at
}

async function openFile(parent: FileHandle, root: string, name: string, shown: string, use: InsideGiven['use']): Promise<Opened> {
  const path = join(descriptorPath(parent), name)
  if (use !== 'read' && isGits(relative(root, await readlink(descriptorPath(parent))))) return gitsOwn(shown)
  if (use === 'create') {
    const fresh = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o644).catch(
      existsAlready,
    )
    if (fresh) return { file: fresh, shown, isNew: true }
  }
  // a link to a file inside may be read and changed; where it led is asked of what was opened, and nothing was emptied yet
  const access = use === 'read' ? constants.O_RDONLY : constants.O_RDWR
  const file = await open(path, access | constants.O_NONBLOCK)
  const flaw = (await isIn(file, root)) ? await flawOf(file, shown) : outside(shown).refused
  if (flaw === null) return { file, shown, isNew: false }
  await file.close()
  return { refused: flaw }
}

function refusalOf(code: string, shown: string): { refused: string; missing?: true } | null {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { refused: `${shown} does not exist`, missing: true }
    case 'EISDIR':
      return { refused: `${shown} is a folder: use glob to list it` }
    case 'ELOOP':
    case 'ENXIO':
      return { refused: `${shown} is no regular file` }
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return { refused: `${shown} cannot be opened: permission denied (${code})` }
    case 'ENAMETOOLONG':
      return { refused: `${shown}: the name is too long` }
    default:
      return null
  }
}

async function flawOf(file: FileHandle, shown: string): Promise<string | null> {
  const stat = await file.stat()
  if (stat.isDirectory()) return `${shown} is a folder: use glob to list it`
  return stat.isFile() ? null : `${shown} is no regular file`
}

async function isIn(file: FileHandle, root: string): Promise<boolean> {
  const real = await readlink(descriptorPath(file))
  return real === root || real.startsWith(root + sep)
}

function descriptorPath(file: FileHandle): string {
  return `/proc/self/fd/${file.fd}`
}

function isGits(path: string): boolean {
  return path.split(sep).some((part) => part.toLowerCase() === '.git')
}

function gitsOwn(path: string): { refused: string } {
  return { refused: `${path}: git's own files are not written by hand. Use git through the shell tool.` }
}

function outside(path: string): { refused: string } {
  return {
    refused: `${path} leads out of the repository. Legal are paths inside it, such as src/index.ts; for other files use the shell tool.`,
  }
}

function existsAlready(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}
