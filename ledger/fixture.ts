/** What the ledger's tests share: a database of their own, and Triggers as GitHub would send them. */
import { randomUUID } from 'node:crypto'
import type { NormalisedTrigger } from '../core/routing/trigger.ts'
import { freshDatabase } from '../test/services.ts'
import { type Connected, connect, type Database, transaction } from './database.ts'
import { createDeliveryStore } from './deliveries.ts'
import { type Judged, type TakenIn, takeIn } from './intake.ts'
import { accountRow, repositoryRow } from './places.ts'

/** As the app's role, which owns nothing. */
export async function openLedger(): Promise<Connected & { ownerUrl: string; appUrl: string; drop(): Promise<void> }> {
  const { appUrl, ownerUrl, drop } = await freshDatabase('ledger')
  const connected = connect(appUrl, {
    onLost: (error) => {
      throw error
    },
  })
  return {
    ...connected,
    ownerUrl,
    appUrl,
    async drop() {
      await connected.close()
      await drop()
    },
  }
}

export type Said = Partial<Omit<NormalisedTrigger, 'place' | 'author'>> & {
  number?: number
  author?: string
  self?: boolean
  member?: boolean
}

/** A comment on acme/widgets#7 by a member who addresses the agent, but for what is said. */
export async function judged(
  db: Database,
  { number = 7, author = 'lin', self = false, member = true, ...said }: Said = {},
): Promise<Judged> {
  const id = randomUUID()
  const trigger: NormalisedTrigger = {
    key: `issue_comment:${id}/created`,
    kind: 'message',
    event: 'issue_comment.created',
    object: `issue_comment:${id}`,
    place: {
      source: 'github',
      key: `github:9001#${number}`,
      kind: 'issue',
      repository: { id: '9001', fullName: 'acme/widgets', private: false, defaultBranch: 'main' },
      number,
      title: 'The total is wrong',
      url: `https://github.example/acme/widgets/issues/${number}`,
    },
    author: {
      source: 'github',
      id: author === 'ghost' ? null : `${author.length}00${author.charCodeAt(0)}`,
      login: author,
      kind: 'user',
      viaApp: null,
    },
    text: '@switchyard please fix this',
    url: `https://github.example/acme/widgets/issues/${number}#issuecomment-${id}`,
    happenedAt: '2026-11-30T12:00:00Z',
    mentionsAgent: true,
    addressesAgent: true,
    references: [],
    concerns: { pullRequests: [], branches: [], commits: [], reviewThread: null },
    facts: {},
    hasInvisibleText: false,
    ...said,
  }
  return {
    trigger,
    repository: await repositoryRow(db, 'github', trigger.place.repository),
    author: await accountRow(db, trigger.author),
    self,
    member,
  }
}

export async function delivered(db: Database): Promise<number> {
  const guid = randomUUID()
  await createDeliveryStore(db)({
    source: 'github',
    transport: 'webhook',
    hook: '1',
    guid,
    event: 'issue_comment',
    headers: {},
    body: '{}',
    place: null,
  })
  const { id } = await db.selectFrom('delivery').select('id').where('guid', '=', guid).executeTakeFirstOrThrow()
  return id
}

/** Delivers what was said and takes it in. */
export async function hear(db: Database, said: Said = {}): Promise<TakenIn> {
  const delivery = await delivered(db)
  const each = await judged(db, said)
  const taken = await transaction(db, (tx) => takeIn(tx, delivery, [each]))
  if (!taken?.[0]) throw new Error('the Trigger was not taken in')
  return taken[0]
}
