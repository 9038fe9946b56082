/** Effects of a Ticket as the tests of this folder make them, and where to look what became of one. */
import { ApplicationFailure } from '@temporalio/activity'
import { started } from '../../ledger/fixture.ts'
import type { NewEffect } from '../../ledger/outbox.ts'
import { type EffectsHouse, REPOSITORY } from './house.test-help.ts'

export const never = new AbortController().signal
export const COMMENT = /^POST .*\/issues\/\d+\/comments$/
export const COMMENTS = /^GET .*\/issues\/\d+\/comments/

/** `house` is asked for when a test runs: it is opened before. */
export function deedsIn(house: () => EffectsHouse) {
  let issues = 100
  const newIssue = (): number => ++issues
  return {
    newIssue,
    async commentBy(over: Partial<NewEffect> = {}): Promise<NewEffect> {
      const { ticket, session } = await started(house().ledger.db, newIssue())
      const key = `acknowledge:T-${ticket}`
      const payload = { repository: REPOSITORY, number: house().issue, reviewComment: null }
      const body = `On it, says T-${ticket}.`
      return { key, kind: 'comment', ticket, session, step: 1, call: 'call_1', thread: null, payload, body, ...over }
    },
    said: ({ body }: NewEffect) =>
      house()
        .github.operator.state()
        .comments.filter((comment) => comment.body.includes(body ?? 'nothing')),
    rowOf: ({ key }: Pick<NewEffect, 'key'>) =>
      house().ledger.db.selectFrom('outbox').select(['state', 'tries', 'error', 'url']).where('key', '=', key).executeTakeFirstOrThrow(),
    alarmsOf: ({ key }: Pick<NewEffect, 'key'>) =>
      house().ledger.db.selectFrom('alarm').select(['kind', 'body', 'endedAt']).where('subject', '=', key).execute(),
  }
}

export async function failureOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await work.then(
    (value) => new Error(`nothing failed: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof ApplicationFailure) return error
  throw error
}
