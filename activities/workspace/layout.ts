/**
 * Where a Ticket's things lie in the state folder (spec H10, F298, F329): one folder a Ticket, named by its number, never by its
 * title. Names with `@` are the host's: no GitHub repository can be called so.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export function mirrorFolder(home: string, repository: { id: number | string }): string {
  if (!/^\d+$/.test(`${repository.id}`))
    throw new Error(`repository id "${repository.id}" is not a number: mirrors are kept by GitHub's numeric id`)
  return join(home, 'mirrors', `${repository.id}.git`)
}

export function ticketFolder(home: string, ticket: number): string {
  if (!Number.isSafeInteger(ticket) || ticket < 1) throw new Error(`Ticket ${ticket} is not a positive number`)
  return join(home, 'workspaces', `t-${ticket}`)
}

export interface TicketFolders {
  root: string
  /** Writable from inside: HOME, /tmp, and where a bundle of commits is put for the host to take. */
  home: string
  tmp: string
  bundles: string
  /** Read-only from inside: whole outputs of commands, written by the host. */
  output: string
}

/** The folders beside a checkout. Only the host can add names here: the sandbox writes into them, not beside them. */
export function foldersAround(checkout: string): TicketFolders {
  const root = dirname(checkout)
  return { root, home: join(root, '@home'), tmp: join(root, '@tmp'), bundles: join(root, '@bundles'), output: join(root, '@output') }
}

export async function makeFolders(folders: TicketFolders): Promise<void> {
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 })
}
