/** Repositories, Threads and accounts: rows made when they are first met, found again by stable ids (spec Q2). */
import type { Permission } from '../core/authority/permission.ts'
import type { Author, Place, RepositoryFacts, Source } from '../core/routing/trigger.ts'
import type { Database, Tx } from './database.ts'

/** Written only if something about it is new: a hot row is not locked by every delivery. Call it outside the deciding transaction. */
export async function repositoryRow(
  db: Database,
  source: Source,
  { id, fullName, private: hidden, defaultBranch }: RepositoryFacts,
): Promise<number> {
  const known = await db.selectFrom('repository').selectAll().where('source', '=', source).where('externalId', '=', id).executeTakeFirst()
  if (known && known.fullName === fullName && known.private === hidden && known.defaultBranch === defaultBranch) return known.id
  const row = await db
    .insertInto('repository')
    .values({ source, externalId: id, fullName, private: hidden, defaultBranch })
    .onConflict((on) => on.columns(['source', 'externalId']).doUpdateSet({ fullName, private: hidden, defaultBranch }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Repositories of which the ledger has heard, by their names of then. */
export async function heardRepositories(db: Database, source: Source): Promise<string[]> {
  const rows = await db.selectFrom('repository').select('fullName').where('source', '=', source).orderBy('id').execute()
  return rows.map(({ fullName }) => fullName)
}

/** Null for a deleted account or a missing sender: nobody, without authority. Call it outside the deciding transaction. */
export async function accountRow(db: Database, { source, id, login, kind }: Author): Promise<number | null> {
  if (id === null) return null
  const known = await db.selectFrom('account').selectAll().where('source', '=', source).where('externalId', '=', id).executeTakeFirst()
  if (known && known.login === login && known.kind === kind) return known.id
  const row = await db
    .insertInto('account')
    .values({ source, externalId: id, login, kind })
    .onConflict((on) => on.columns(['source', 'externalId']).doUpdateSet({ login, kind }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Finds or makes the Thread's row and keeps it shared until the transaction ends: who owns it cannot change meanwhile. */
export async function sharedThread(tx: Tx, place: Place, repository: number): Promise<number> {
  const { key, source, kind, number, title, url } = place
  await tx
    .insertInto('thread')
    .values({ key, source, kind, repository, number, title, url })
    .onConflict((on) => on.column('key').doNothing())
    .execute()
  await tx
    .updateTable('thread')
    .set({ title, url })
    .where('key', '=', key)
    .where((is) => is.or([is('title', '!=', title), is('url', '!=', url)]))
    .execute()
  const row = await tx.selectFrom('thread').select('id').where('key', '=', key).forShare().executeTakeFirstOrThrow()
  return row.id
}

/** A permission that was asked at most five minutes ago (spec Q1), or null. */
export async function knownPermission(db: Database, account: number, repository: number, now: Date): Promise<Permission | null> {
  const row = await db
    .selectFrom('membership')
    .select('permission')
    .where('account', '=', account)
    .where('repository', '=', repository)
    .where('askedAt', '>', new Date(now.getTime() - 5 * 60_000))
    .executeTakeFirst()
  return row?.permission ?? null
}

export async function learnPermission(
  db: Database,
  account: number,
  repository: number,
  permission: Permission,
  askedAt: Date,
): Promise<void> {
  await db
    .insertInto('membership')
    .values({ account, repository, permission, askedAt })
    .onConflict((on) => on.columns(['account', 'repository']).doUpdateSet({ permission, askedAt }))
    .execute()
}
