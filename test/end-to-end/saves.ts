/** A person saves another prompt or Policy while the program works: one statement that only the newest base lets through (spec K3). */
import { sql } from 'kysely'
import type { Database } from '../../ledger/database.ts'
import { storeTexts } from '../../ledger/texts.ts'

/** The built-in texts with these parts replaced. Returns the revision's number. */
export async function saveOverrides(db: Database, overrides: Readonly<Record<string, string>>): Promise<number> {
  const parts = Object.entries(overrides).map(([part, text]) => [part, { text, base: '' }])
  const sha = await stored(db, { overrides: Object.fromEntries(parts), sections: {}, skills: [] })
  const { rows } = await sql<{ number: number }>`
    insert into prompt_revision (revision, predecessor, origin, actor, document)
    select head + 1, head, 'panel', 'mara', ${sha} from (select max(revision) as head from prompt_revision) as newest
    on conflict do nothing returning revision as number`.execute(db)
  return rows[0]!.number
}

export async function savePolicy(db: Database, policy: { mode: string; rules: object[] }): Promise<number> {
  const sha = await stored(db, policy)
  const { rows } = await sql<{ number: number }>`
    insert into policy_version (version, predecessor, origin, actor, document)
    select head + 1, head, 'panel', 'mara', ${sha} from (select max(version) as head from policy_version) as newest
    on conflict do nothing returning version as number`.execute(db)
  return rows[0]!.number
}

async function stored(db: Database, document: object): Promise<Buffer> {
  const [sha] = await storeTexts(db, [JSON.stringify(document)], new Set())
  return Buffer.from(sha!, 'hex')
}
