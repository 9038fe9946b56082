/** What the ledger knows of a message that a model names as the ground of a save (spec B8), and what was saved on it. */
import { sql } from 'kysely'
import type { Source } from '../core/routing/trigger.ts'
import type { Database } from './database.ts'
import { readVersion, type Version } from './versions.ts'

export interface BasisRow {
  kind: 'message' | 'fact'
  author: number | null
  authorLogin: string
  member: boolean
  addressesAgent: boolean
  body: string | null
  rule: string
  /** Where it was said. */
  place: { repository: number; fullName: string } | null
  /** Who else edited it; `unknown`: somebody whom GitHub does not name. */
  editor: { account: number; login: string } | 'unknown' | null
  since: 'edited' | 'deleted' | 'purged' | null
  usedFor: number | null
}

export async function basisRow(db: Database, message: number): Promise<BasisRow | null> {
  const row = await db
    .selectFrom('trigger')
    .innerJoin('thread', 'thread.id', 'trigger.thread')
    .leftJoin('repository', 'repository.id', 'thread.repository')
    .select([
      'trigger.kind',
      'trigger.author',
      'trigger.authorLogin',
      'trigger.member',
      'trigger.addressesAgent',
      'trigger.body',
      'trigger.rule',
    ])
    .select(['trigger.purgedAt', 'trigger.object', 'trigger.facts', 'thread.source', 'repository.id as repository', 'repository.fullName'])
    .where('trigger.id', '=', message)
    .executeTakeFirst()
  if (!row) return null
  const { purgedAt, object, facts, source, repository, fullName, ...said } = row
  const later = await db
    .selectFrom('trigger')
    .select(['kind', 'event'])
    .where('object', '=', object)
    .where('id', '>', message)
    .where((is) => is.or([is('kind', '=', 'message'), is('event', 'like', '%.deleted')]))
    .execute()
  const isDeleted = later.some(({ event }) => event.endsWith('.deleted'))
  const used = await db.selectFrom('promptRevision').select('revision').where('basis', '=', message).orderBy('revision').executeTakeFirst()
  return {
    ...said,
    place: repository === null || fullName === null ? null : { repository, fullName },
    editor: facts.editor === undefined ? null : await editorOf(db, source, facts.editor),
    since: purgedAt !== null ? 'purged' : isDeleted ? 'deleted' : later.length > 0 ? 'edited' : null,
    usedFor: used?.revision ?? null,
  }
}

async function editorOf(db: Database, source: Source, externalId: string): Promise<BasisRow['editor']> {
  const row = await db
    .selectFrom('account')
    .select(['id as account', 'login'])
    .where('source', '=', source)
    .where('externalId', '=', externalId)
    .executeTakeFirst()
  return row ?? 'unknown'
}

/** The revision that was saved on the ground of this message; null: none was. */
export async function revisionOn(db: Database, message: number): Promise<Version<'prompts'> | null> {
  const { rows } = await sql<{ revision: number }>`select min(revision) as revision from prompt_revision where basis = ${message}`.execute(
    db,
  )
  const revision = rows[0]?.revision ?? null
  return revision === null ? null : readVersion(db, 'prompts', revision)
}
