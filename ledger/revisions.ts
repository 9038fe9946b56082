/** The newest prompt configuration and Policy: two indexed rows, read before every model request (spec C3). */
import type { Database, Tx } from './database.ts'
import { readText } from './texts.ts'

/** As the first migration wrote it; the strict schema comes with the save. */
export interface ConfigurationDocument {
  sections: Record<string, unknown>
  skills: { name: string; description: string; body: string }[]
  overrides: Record<string, { text: string; base: string }>
}
export interface PolicyDocument {
  mode: 'explicit' | 'confirm' | 'automatic'
  rules: { id: string; name: string; instruction: string; enabled: boolean }[]
}
export interface Configuration {
  revision: number
  document: ConfigurationDocument
  policy: PolicyDocument & { version: number }
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
    const revision = await tx
      .selectFrom('promptRevision')
      .select(['revision', 'document'])
      .orderBy('revision', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow()
    const policy = await tx
      .selectFrom('policyVersion')
      .select(['version', 'document'])
      .orderBy('version', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow()
    return {
      revision: revision.revision,
      document: await document<ConfigurationDocument>(tx, revision.document),
      policy: { version: policy.version, ...(await document<PolicyDocument>(tx, policy.document)) },
    }
  }
}
