import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginCall, storeResult } from './calls.ts'
import { type Database, transaction } from './database.ts'
import { answered, delivered, newCall, open, openLedger, started, type TestLedger } from './fixture.ts'
import { intend } from './outbox.ts'
import { recordCommand } from './pauses.ts'
import { storeRecording } from './recordings.ts'
import { commitStep } from './steps.ts'

/** Every guarded table with a change of its rows that nobody may make. */
const GUARDED = {
  text: 'bytes = bytes + 1',
  prompt_revision: "note = 'another'",
  policy_version: "actor = 'somebody'",
  delivery: "body = 'another'",
  trigger: 'member = not member',
  mandate: "effects = '{merge}'",
  session_log: "body = 'another'",
  request: 'revision = revision, log_seq = log_seq + 1',
  recording: 'status = 500',
  step: "outcome = 'closed'",
  tool_call: "tool = 'shell'",
  instruction_file: 'bytes = bytes + 1',
  inbox: "address = 'main', body = 'another'",
  report: "status = 'progress'",
  outbox: "key = 'another'",
  command: "actor = 'somebody'",
} as const
const TABLES = Object.keys(GUARDED) as (keyof typeof GUARDED)[]

let ledger: TestLedger
let ticket: number
let session: string

/** One row at least in every guarded table. */
beforeAll(async () => {
  ledger = await openLedger()
  const { db } = ledger
  ;({ ticket, session } = await started(db, 1))
  await delivered(db) // not settled yet
  const at = { session, step: 1 }
  const { request, inputs } = await open(db, at)
  await commitStep(db, at, `ticket-${ticket}`, answered(request as number, inputs, 'words', [newCall('call_1'), newCall('call_2')]))
  await storeRecording(db, request as number, { status: 200, contentType: 'text/event-stream', body: 'data: words' })
  await beginCall(db, { ...at, call: 'call_1' })
  await transaction(db, (tx) => storeResult(tx, { ...at, call: 'call_1' }, { text: 'a result', outcome: 'done' }))
  await intend(db, { key: 'k', kind: 'comment', ticket, ...at, call: 'call_1', thread: null, payload: {}, body: 'words' })
  await transaction(db, (tx) =>
    recordCommand(tx, { kind: 'retry', scope: `ticket-${ticket}`, actor: 'lin', transport: 'cli', reason: 'again' }),
  )
  await db
    .insertInto('report')
    .values({ ticket, session, step: 1, call: 'call_1', status: 'done', body: 'words', purgedAt: null, evidence: '[]', pullRequest: null })
    .execute()
  await db.insertInto('instructionFile').values({ session, path: 'src/AGENTS.md', bytes: 5, step: 1, call: 'call_1' }).execute()
})
afterAll(() => ledger.drop())

const codeOf = async (db: Database, statement: string): Promise<string> =>
  sql
    .raw(statement)
    .execute(db)
    .then(
      () => 'it was done',
      (error: { code: string }) => error.code,
    )
/** As the runs of a purge: in one transaction, said out loud. */
const purging = (db: Database, statement: string): Promise<string> =>
  transaction(db, async (tx) => {
    await sql`set local switchyard.purge = 'on'`.execute(tx)
    const { numAffectedRows } = await sql.raw(statement).execute(tx)
    return `${numAffectedRows} rows`
  }).catch((error: { code: string }) => error.code)

const REFUSED = '23001'
const NO_RIGHT = '42501'

test('[K1] what this file knows as guarded is what the database guards, always and on TRUNCATE too', async () => {
  const { rows } = await sql<{ table: string; name: string; always: boolean }>`
    select relname as "table", tgname as name, tgenabled = 'A' as always from pg_trigger join pg_class on pg_class.oid = tgrelid
    where tgname like 'guard_%' order by 1, 2`.execute(ledger.owner)
  expect(rows).toEqual(
    TABLES.toSorted().flatMap((table) => [
      { table, name: 'guard_rows', always: true },
      { table, name: 'guard_table', always: true },
    ]),
  )
})

describe.each(TABLES)('%s', (table) => {
  test('[K1, F246] has rows that the owner cannot change, delete or truncate', async () => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(table)}`.execute(ledger.owner)
    expect(rows[0]!.count).toBeGreaterThan(0)
    expect(await codeOf(ledger.owner, `update ${table} set ${GUARDED[table]}`)).toBe(REFUSED)
    expect(await codeOf(ledger.owner, `delete from ${table}`)).toBe(REFUSED)
    expect(await codeOf(ledger.owner, `truncate ${table} cascade`)).toBe(REFUSED)
  })

  test('[K1, F246] has rows that the app cannot change, delete or truncate', async () => {
    expect(await codeOf(ledger.db, `update ${table} set ${GUARDED[table]}`)).toBe(REFUSED)
    expect(await codeOf(ledger.db, `delete from ${table}`)).toBe(NO_RIGHT)
    expect(await codeOf(ledger.db, `truncate ${table} cascade`)).toBe(NO_RIGHT)
  })
})

test('[K1] the app can neither switch a guard off nor change a table nor forge a migration', async () => {
  expect(await codeOf(ledger.db, 'alter table text disable trigger guard_rows')).toBe(NO_RIGHT)
  expect(await codeOf(ledger.db, 'drop table text')).toBe(NO_RIGHT)
  expect(
    await codeOf(ledger.db, 'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$'),
  ).toBe(NO_RIGHT)
  expect(await codeOf(ledger.db, "insert into migration (name, run_on) values ('x', now())")).toBe(NO_RIGHT)
  expect(await codeOf(ledger.db, "set session_replication_role = 'replica'")).toBe(NO_RIGHT)
})

test.each([
  ['delivery', "state = 'failed', reason = 'x', tries = 3, next_try_at = now()"],
  ['inbox', 'signalled_at = now(), next_signal_at = now(), seen_at = now()'],
  ['outbox', "state = 'sent', error = 'x', tries = 1, sent_at = now()"],
  ['command', "next_try_at = now(), tries = 1, error = 'x'"],
])('[K1] %s lets the app write what changes with time, again and again', async (table, set) => {
  expect(await codeOf(ledger.db, `update ${table} set ${set}`)).toBe('it was done')
  expect(await codeOf(ledger.db, `update ${table} set ${set}`)).toBe('it was done')
})

test.each([
  ['delivery', "settled_at = '2026-01-01'", "settled_at = '2026-01-02'"],
  ['request', "finish_reason = 'stop', error = 'x'", "error = 'y'"],
  ['tool_call', "outcome = 'done', ended_at = '2026-01-01'", "outcome = 'failed'"],
  ['inbox', "dropped = 'x'", "dropped = 'y'"],
  ['command', "delivered_at = '2026-01-01'", "delivered_at = '2026-01-02'"],
])('[K1] %s takes what ends a row once, and neither changes nor takes it back', async (table, once, again) => {
  const where =
    {
      delivery: 'where id = (select max(id) from delivery)',
      request: 'where error is null',
      tool_call: "where call = 'call_2'",
      inbox: 'where session is null',
    }[table] ?? ''
  const only = table === 'request' ? "error = 'x'" : once
  expect(await codeOf(ledger.db, `update ${table} set ${only} ${where}`)).toBe('it was done')
  expect(await codeOf(ledger.db, `update ${table} set ${again} ${where.replace('error is null', 'true')}`)).toBe(REFUSED)
  const [column] = again.split(' = ')
  expect(await codeOf(ledger.db, `update ${table} set ${column} = null ${where.replace('error is null', 'true')}`)).toBe(REFUSED)
})

test('[K1] a text stands under its own hash or not at all', async () => {
  expect(await codeOf(ledger.db, "insert into text (sha, body, bytes) values (sha256('a'), 'b', 1)")).toBe('23514')
  expect(await codeOf(ledger.db, "insert into text (sha, body, bytes) values (sha256('b'), null, 1)")).toBe('23514')
  expect(await codeOf(ledger.db, "insert into text (sha, body, bytes) values (sha256('b'), 'b', 1)")).toBe('it was done')
})

const WITH_BODY = ['delivery', 'trigger', 'session_log', 'inbox', 'report', 'outbox', 'text', 'recording'] as const

test.each(WITH_BODY)('[O6] the app cannot purge %s, whatever it says', async (table) => {
  expect(await purging(ledger.db, `update ${table} set body = null, purged_at = now() where body is not null`)).toBe(REFUSED)
})

test('[O6] a purge empties words and touches nothing beside them', async () => {
  expect(
    await purging(ledger.owner, "update trigger set body = null, purged_at = now(), author_login = 'nobody' where body is not null"),
  ).toBe(REFUSED)
})

test.each(WITH_BODY)("[O6] the owner's purge of %s must be said, empties the words once, and leaves the mark", async (table) => {
  const one = `ctid = (select ctid from ${table} where body is not null limit 1)`
  expect(await codeOf(ledger.owner, `update ${table} set body = null, purged_at = now() where ${one}`)).toBe(REFUSED)
  expect(await purging(ledger.owner, `update ${table} set body = null where ${one}`)).toMatch(/^23/)
  expect(await purging(ledger.owner, `update ${table} set body = 'milder words', purged_at = now() where ${one}`)).toMatch(/^23/)
  expect(await purging(ledger.owner, `update ${table} set body = null, purged_at = '2026-01-01' where ${one}`)).toBe('1 rows')
  // the hash, and everything else about the row, stands
  expect(await purging(ledger.owner, `update ${table} set purged_at = '2026-02-02' where body is null`)).toBe(REFUSED)
  expect(await purging(ledger.owner, `update ${table} set purged_at = null where purged_at is not null`)).toMatch(/^23/)
  expect(await purging(ledger.owner, `update ${table} set body = 'back again', purged_at = null where purged_at is not null`)).toMatch(
    /^23/,
  )
  expect(await purging(ledger.owner, `delete from ${table} where purged_at is not null`)).toBe(REFUSED)
  const { rows } = await sql<{
    at: string
  }>`select purged_at::date::text as at from ${sql.table(table)} where purged_at is not null`.execute(ledger.db)
  expect(rows).toEqual([{ at: '2026-01-01' }])
})
