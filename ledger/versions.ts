/**
 * Immutable versions, of the prompt configuration and of the Policy, with the same mechanics (spec K1–K3, F5): a save names the
 * version that it was made from and becomes the next one, or learns which one is the newest. Of many on one base one wins.
 */
import { sql } from 'kysely'
import type { ConfigurationDocument } from '../core/config/document.ts'
import { canonical } from '../core/config/document.ts'
import type { PolicyDocument } from '../core/policy/policy.ts'
import type { Database, Tx } from './database.ts'
import { shaOf } from './texts.ts'

export interface Documents {
  prompts: ConfigurationDocument
  policy: PolicyDocument
}
export type VersionKind = keyof Documents

const TABLES = {
  prompts: { table: 'prompt_revision', number: 'revision' },
  policy: { table: 'policy_version', number: 'version' },
} as const satisfies Record<VersionKind, { table: string; number: string }>

export interface VersionHead {
  number: number
  at: Date
  origin: 'built-in' | 'panel' | 'tool' | 'cli'
  actor: string
  note: string | null
  /** The version whose document it brought back (spec K2). */
  restored: number | null
}
export type Version<Kind extends VersionKind> = VersionHead & { document: Documents[Kind] }

export interface NewVersion<Kind extends VersionKind> {
  base: number
  document: Documents[Kind]
  origin: 'panel' | 'tool' | 'cli'
  actor: string
  note: string | null
  restored?: number | null
  /** The message on whose ground a model saves (spec B8). */
  basis?: number | null
}

/** `head`: the base is not the newest version, so nothing was saved (spec K3). */
export type Saved = { number: number } | { head: VersionHead }

export async function saveVersion<Kind extends VersionKind>(db: Database | Tx, kind: Kind, given: NewVersion<Kind>): Promise<Saved> {
  const { table, number } = idsOf(kind)
  const body = canonical(given.document)
  const sha = shaOf(body)
  const { rows } = await sql<{ number: number }>`
    with body as (
      insert into text (sha, body, bytes) values (${sha}, ${body}, ${Buffer.byteLength(body)}) on conflict do nothing
    )
    insert into ${table} (${number}, predecessor, origin, actor, note, restored, basis, document)
    select ${given.base}::integer + 1, ${given.base}::integer, ${given.origin}, ${given.actor}, ${given.note}, ${given.restored ?? null}::integer,
      ${given.basis ?? null}::integer, ${sha}
    where (select max(${number}) from ${table}) = ${given.base}
    on conflict do nothing
    returning ${number} as number`.execute(db)
  return rows[0] ?? { head: await headVersion(db, kind) }
}

export async function headVersion(db: Database | Tx, kind: VersionKind): Promise<VersionHead> {
  const [head] = await versions(db, kind, { most: 1 })
  return head!
}

/** The newest first. */
export async function versions(db: Database | Tx, kind: VersionKind, { most }: { most: number }): Promise<VersionHead[]> {
  const { table, number } = idsOf(kind)
  const { rows } = await sql<VersionHead>`
    select ${number} as number, created_at as at, origin, actor, note, restored from ${table} order by ${number} desc limit ${most}`.execute(
    db,
  )
  return rows
}

export async function readVersion<Kind extends VersionKind>(db: Database | Tx, kind: Kind, which: number): Promise<Version<Kind> | null> {
  const { table, number } = idsOf(kind)
  const { rows } = await sql<VersionHead & { body: string | null }>`
    select ${number} as number, created_at as at, origin, actor, note, restored, text.body
    from ${table} join text on text.sha = document where ${number} = ${which}`.execute(db)
  const [row] = rows
  if (!row) return null
  const { body, ...head } = row
  if (body === null) throw new Error(`the words of ${kind} ${which} were purged`)
  return { ...head, document: JSON.parse(body) as Documents[Kind] }
}

/** The prompt revisions that were current at some moment of a Ticket's work, oldest first (spec K4). */
export async function revisionsDuring(db: Database | Tx, ticket: number): Promise<number[]> {
  const { rows } = await sql<{ revision: number }>`
    select r.revision from prompt_revision r
    left join prompt_revision next on next.predecessor = r.revision
    where next.created_at is null or next.created_at > (select min(opened_at) from session where ticket = ${ticket})
    order by r.revision`.execute(db)
  return rows.map(({ revision }) => revision)
}

function idsOf(kind: VersionKind) {
  const { table, number } = TABLES[kind]
  return { table: sql.table(table), number: sql.ref(number) }
}
