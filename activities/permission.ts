/** What somebody may do in a repository, asked from GitHub and remembered for five minutes (spec Q1). */
import type { GithubClient } from '../channels/github/client.ts'
import type { Permission } from '../core/authority/permission.ts'
import type { Database } from '../ledger/database.ts'
import { knownPermission, learnPermission } from '../ledger/places.ts'

interface Asking {
  db: Database
  client: Pick<GithubClient, 'permission'>
  now(): Date
}

export interface Whose {
  account: number
  login: string
  repository: number
  fullName: string
}

/** Fails if GitHub cannot be asked: nobody loses or gains authority because it is down. */
export async function permissionNow({ db, client, now }: Asking, { account, login, repository, fullName }: Whose): Promise<Permission> {
  const at = now()
  const known = await knownPermission(db, account, repository, at)
  if (known) return known
  const permission = await client.permission(fullName, login)
  await learnPermission(db, account, repository, permission, at)
  return permission
}
