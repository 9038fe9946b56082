import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EMPTY } from '../core/config/document.ts'
import { builtInTexts } from '../core/prompt/fixture.ts'
import { transaction } from './database.ts'
import { look, openLedger, started } from './fixture.ts'
import { createConfigurationReader } from './revisions.ts'
import { restoreConfiguration, saveConfiguration } from './save-configuration.ts'
import { headVersion, readVersion, revisionsDuring, saveVersion, versions } from './versions.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger.drop())

const TEXTS = { builtIn: builtInTexts, maxBytes: 262_144 }
const author = { origin: 'cli' as const, actor: 'lin', note: null }
const scoped = (text: string) => ({ ...EMPTY, sections: { scope: { text } } })
const headOf = async () => (await headVersion(ledger.db, 'prompts')).number
const save = async (draft: unknown, base?: number) =>
  saveConfiguration(ledger.db, TEXTS, { base: base ?? (await headOf()), draft, ...author })

async function saved(draft: unknown): Promise<number> {
  const result = await save(draft)
  if (!('revision' in result)) throw new Error(JSON.stringify(result))
  return result.revision
}

describe('a save', () => {
  test('[K1] is a revision with number, predecessor, time, origin, actor and note, and holds the whole configuration', async () => {
    const base = await headOf()
    const result = await saveConfiguration(ledger.db, TEXTS, { base, draft: scoped('Small.'), ...author, note: 'less is more' })
    expect(result).toMatchObject({ revision: base + 1, dropped: [], identical: [], bytes: 6 })
    expect(await readVersion(ledger.db, 'prompts', base + 1)).toEqual({
      number: base + 1,
      at: expect.any(Date),
      origin: 'cli',
      actor: 'lin',
      note: 'less is more',
      restored: null,
      document: scoped('Small.'),
    })
    const read = createConfigurationReader()
    expect(await read(ledger.db)).toMatchObject({ revision: base + 1, document: scoped('Small.') })
  })

  test("[K3, F242] on a stale base is refused with the newest revision, and the draft is the caller's to keep", async () => {
    const base = await headOf()
    const first = await saved(scoped('A.'))
    expect(await save(scoped('B.'), base)).toEqual({ head: expect.objectContaining({ number: first, actor: 'lin' }) })
    expect((await readVersion(ledger.db, 'prompts', await headOf()))!.document).toEqual(scoped('A.'))
  })

  test('[K3, F245] on a base that is not there yet, or never was, is refused with the newest revision', async () => {
    const head = await headOf()
    for (const base of [head + 1, 0, -1])
      expect(await save(scoped('C.'), base)).toEqual({ head: expect.objectContaining({ number: head }) })
    expect(await headOf()).toBe(head)
  })

  test('[K3, F243] of fifty on one base exactly one wins, and all others learn which', async () => {
    const base = await headOf()
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => save(scoped(`Draft ${n}.`), base)))
    const won = results.flatMap((result) => ('revision' in result ? [result] : []))
    expect(won).toHaveLength(1)
    expect(won[0]!.revision).toBe(base + 1)
    const heads = results.flatMap((result) => ('head' in result ? [result.head.number] : []))
    expect(heads).toEqual(Array.from({ length: 49 }, () => base + 1))
    expect((await readVersion(ledger.db, 'prompts', base + 1))!.document).toEqual(won[0]!.document)
  })

  test('[K5] with faults changes nothing and tells them all', async () => {
    const head = await headOf()
    const result = await save({ ...scoped('x\0'), skills: [{ name: 'github', description: 'x', body: 'y' }] })
    expect(result).toMatchObject({ faults: [{ pointer: '/sections/scope/text' }, { pointer: '/skills/0/name' }] })
    expect(await headOf()).toBe(head)
  })

  test('[B8] reads stored bases from the revision that it was made from', async () => {
    const older = { ...EMPTY, overrides: { 'runtime/work': { text: 'ours', base: 'of an older release' } } }
    const base = await headOf()
    await saveVersion(ledger.db, 'prompts', { base, document: older, ...author })
    await saved({ ...EMPTY, overrides: { 'runtime/work': { text: 'ours, better' } } })
    const { document } = (await readVersion(ledger.db, 'prompts', await headOf()))!
    expect(document.overrides['runtime/work']).toEqual({ text: 'ours, better', base: 'of an older release' })
  })
})

describe('going back', () => {
  test('[K2, F247] names a revision and makes a new one that says what it brought back', async () => {
    const good = await saved(scoped('Good.'))
    const worse = await saved(scoped('Worse.'))
    const result = await restoreConfiguration(ledger.db, TEXTS.builtIn, { base: worse, which: good, ...author })
    expect(result).toMatchObject({ revision: worse + 1, document: scoped('Good.') })
    expect((await versions(ledger.db, 'prompts', { most: 3 })).map(({ number, restored }) => [number, restored])).toEqual([
      [worse + 1, good],
      [worse, null],
      [good, null],
    ])
  })

  test('[K2] to the defaults empties the configuration and names the first revision', async () => {
    const result = await restoreConfiguration(ledger.db, TEXTS.builtIn, { base: await headOf(), which: 'defaults', ...author })
    expect(result).toMatchObject({ document: EMPTY })
    expect(await headVersion(ledger.db, 'prompts')).toMatchObject({ restored: 1 })
  })

  test('[K2] [B9] drops a part that is gone, keeps an override that a release made invalid, and knows no revision that never was', async () => {
    const invalid = { 'runtime/policy': { text: 'no placeholders', base: 'older' } }
    const base = await headOf()
    const document = { ...EMPTY, overrides: { ...invalid, 'runtime/gone': { text: 'x', base: 'y' } } }
    await saveVersion(ledger.db, 'prompts', { base, document, ...author })
    expect(await restoreConfiguration(ledger.db, TEXTS.builtIn, { base: base + 1, which: base + 1, ...author })).toMatchObject({
      dropped: ['runtime/gone'],
      document: { ...EMPTY, overrides: invalid },
    })
    expect(await restoreConfiguration(ledger.db, TEXTS.builtIn, { base: await headOf(), which: 999_999, ...author })).toBeNull()
  })

  test('[K3] on a stale base is refused like any save', async () => {
    const base = await headOf()
    await saved(scoped('Faster.'))
    expect(await restoreConfiguration(ledger.db, TEXTS.builtIn, { base, which: 1, ...author })).toEqual({
      head: expect.objectContaining({ number: base + 1 }),
    })
  })
})

describe('the Policy', () => {
  const policy = (name: string) => ({
    mode: 'confirm' as const,
    rules: [{ id: 'r1', name, instruction: 'x', enabled: true }],
    lastRule: 1,
  })

  test('[F5, F244] has versions of its own with the same mechanics', async () => {
    const { number: base } = await headVersion(ledger.db, 'policy')
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => saveVersion(ledger.db, 'policy', { base, document: policy(`rule ${n}`), ...author })),
    )
    expect(results.filter((result) => 'number' in result)).toEqual([{ number: base + 1 }])
    expect(results.filter((result) => 'head' in result)).toHaveLength(9)
    const back = await saveVersion(ledger.db, 'policy', { base: base + 1, document: policy('again'), restored: base, ...author })
    expect(back).toEqual({ number: base + 2 })
    expect(await readVersion(ledger.db, 'policy', base + 2)).toMatchObject({ restored: base, document: policy('again') })
  })
})

test("[K4] the revisions of a Ticket's work are those that were current since its first Session opened", async () => {
  const before = await saved(scoped('Long before.'))
  const atStart = await saved(scoped('When it started.'))
  const { ticket } = await started(ledger.db, 40)
  const during = await saved(scoped('While it worked.'))
  const known = await revisionsDuring(ledger.db, ticket)
  expect(known).toEqual([atStart, during])
  expect(known).not.toContain(before)
})

test('[C3, F226] a configuration that cannot be read fails the look, whatever the program could say in its place', async () => {
  const { ticket } = await started(ledger.db, 41)
  await saved(scoped('Words that are purged.'))
  const { document } = await ledger.db
    .selectFrom('promptRevision')
    .select('document')
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  await transaction(ledger.owner, async (tx) => {
    await sql`set local switchyard.purge = 'on'`.execute(tx)
    await tx.updateTable('text').set({ body: null, purgedAt: new Date() }).where('sha', '=', document).execute()
  })
  await expect(look(ledger.db, { session: `t${ticket}-1`, step: 1 })).rejects.toThrow(/text [0-9a-f]{64} was purged/)
  await restoreConfiguration(ledger.db, TEXTS.builtIn, { base: await headOf(), which: 'defaults', ...author })
  expect((await look(ledger.db, { session: `t${ticket}-1`, step: 1 })).configuration.document).toEqual(EMPTY)
})
