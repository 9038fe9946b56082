/** The newest prompt configuration and Policy: two indexed rows in one round trip, read before every model request (spec C3). */
import { sql } from 'kysely'
import type { ConfigurationDocument } from '../core/config/document.ts'
import type { PolicyDocument } from '../core/policy/policy.ts'
import type { Database, Tx } from './database.ts'
import { readText } from './texts.ts'

export interface Configuration {
  revision: number
  document: ConfigurationDocument
  policy: PolicyDocument & { version: number }
}

interface Heads {
  revision: number
  revisionDocument: Buffer
  version: number
  policyDocument: Buffer
}

/** Reads the heads each time and each document once: a document cannot change under its hash. */
export function createConfigurationReader(): (tx: Database | Tx) => Promise<Configuration> {
  const documents = new Map<string, unknown>()
  const document = async <Shape>(tx: Database | Tx, sha: Buffer): Promise<Shape> => {
    const key = sha.toString('hex')
    if (!documents.has(key)) documents.set(key, JSON.parse(await readText(tx, sha)))
    return documents.get(key) as Shape
  }
  return async (tx) => {
    const { rows } = await sql<Heads>`
      select revision, r.document as "revisionDocument", version, p.document as "policyDocument"
      from (select revision, document from prompt_revision order by revision desc limit 1) r,
        (select version, document from policy_version order by version desc limit 1) p`.execute(tx)
    const [heads] = rows
    if (!heads)
      throw new Error('the ledger has no revision or no Policy version; the first ones come with its migrations: run switchyard migrate')
    return {
      revision: heads.revision,
      document: await document<ConfigurationDocument>(tx, heads.revisionDocument),
      policy: { version: heads.version, ...(await document<PolicyDocument>(tx, heads.policyDocument)) },
    }
  }
}
