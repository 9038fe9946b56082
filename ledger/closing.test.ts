import { afterAll, beforeAll, expect, test } from 'vitest'
import { answered, hear, open, openLedger, started, type TestLedger } from './fixture.ts'
import { commitStep } from './steps.ts'

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

test('[R2] [P5] a fact that comes while the merge is read does not make the Ticket forget the merge', async () => {
  const { db } = ledger
  const { ticket, session } = await started(db, 8_001)
  const { repository } = await db.selectFrom('ticket').select('repository').where('id', '=', ticket).executeTakeFirstOrThrow()
  const pull = { number: 8_002, externalId: '8002', nodeId: 'PR_8002', url: 'https://github.example/acme/widgets/pull/8002' }
  await db
    .insertInto('pullRequest')
    .values({ ...pull, ticket, repository: repository!, branch: 'mended', base: 'main', head: 'a'.repeat(40), draft: false, state: 'open' })
    .execute()
  const said = { status: 'progress', body: 'under way', purgedAt: null, evidence: '[]', pullRequest: null } as const
  await db
    .insertInto('report')
    .values({ ...said, ticket, session, step: 1, call: 'call_1' })
    .execute()
  const tell = (event: string, facts: Record<string, string>) =>
    hear(db, {
      kind: 'fact',
      number: pull.number,
      event,
      facts,
      concerns: { pullRequests: [pull.number], branches: [], commits: [], reviewThread: null },
    })
  const step = async (number: number, meanwhile?: () => Promise<unknown>) => {
    const at = { session, step: number }
    const { request, inputs } = await open(db, at)
    if (request === 'moved') throw new Error('something moved')
    await meanwhile?.()
    return commitStep(db, at, `ticket-${ticket}`, answered(request, inputs))
  }

  await tell('pull_request.closed', { merged: 'true' })
  expect(await step(1, () => tell('pull_request.labeled', {}))).toEqual({ outcome: 'more' })
  await step(2)
  const closed = await db.selectFrom('ticket').select(['state', 'closedReason']).where('id', '=', ticket).executeTakeFirst()
  expect(closed).toEqual({ state: 'closed', closedReason: 'merged' })
})
