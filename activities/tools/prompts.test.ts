/** What agents read and change of the prompt configuration: `orchestrator_read`, `orchestrator_prompts_save`, `skill`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Permission } from '../../core/authority/permission.ts'
import { EMPTY } from '../../core/config/document.ts'
import { builtInTexts } from '../../core/prompt/fixture.ts'
import { hear, started } from '../../ledger/fixture.ts'
import { learnPermission } from '../../ledger/places.ts'
import { headVersion, readVersion, saveVersion } from '../../ledger/versions.ts'
import type { Deps } from '../deps.ts'
import { type EffectsHouse, openEffectsHouse } from '../effects/house.test-help.ts'
import { createDriftReader } from '../read-drift.ts'
import { promptsSave } from './prompts-save.ts'
import { readRecords } from './read-records.ts'
import { skill } from './skill.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'

let house: EffectsHouse
let deps: Deps
beforeAll(async () => {
  house = await openEffectsHouse()
  deps = { ...house.deps, builtIn: builtInTexts, readDrift: createDriftReader(builtInTexts, house.deps.log) }
})
afterAll(() => house.close())

const call = (input: Record<string, unknown>, role: ToolCall['role'] = 'main', ticket: number | null = null): ToolCall => ({
  deps,
  at: { session: 'main-1', step: 1, call: 'call_1_1' },
  input,
  role,
  ticket,
  start: async () => 'started',
  signal: new AbortController().signal,
})
const textOf = (answer: ToolAnswer): string =>
  'text' in answer ? answer.text : 'refused' in answer ? `REFUSED ${answer.refused}` : 'PAUSED'
const head = async () => (await headVersion(deps.db, 'prompts')).number

/** What somebody with that permission said to the agent just now; its number. */
async function said(permission: Permission, changes: Parameters<typeof hear>[1] = {}): Promise<number> {
  const { trigger } = await hear(deps.db, { number: 90, ...changes })
  const row = await deps.db
    .selectFrom('trigger')
    .innerJoin('thread', 'thread.id', 'trigger.thread')
    .select(['trigger.author', 'thread.repository'])
    .where('trigger.id', '=', trigger)
    .executeTakeFirstOrThrow()
  await learnPermission(deps.db, row.author!, row.repository!, permission, new Date())
  return trigger
}

const save = async (changes: unknown[], basis: number, base?: number) =>
  textOf(await promptsSave(call({ basis, base: base ?? (await head()), note: 'asked in the issue', changes })))

describe('saving for an admin', () => {
  test('[B8] [K1] an admin who asks is ground for a revision, which says who, by which message, and what was asked', async () => {
    const basis = await said('maintain')
    const answer = await save([{ piece: 'scope', change: 'write', text: 'Small changes only.' }], basis)
    expect(answer).toMatch(/^Saved as revision \d+\./)
    const row = await deps.db.selectFrom('promptRevision').selectAll().orderBy('revision', 'desc').limit(1).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ origin: 'tool', actor: 'lin', note: 'asked in the issue', basis })
    expect((await readVersion(deps.db, 'prompts', row.revision))!.document.sections).toEqual({ scope: { text: 'Small changes only.' } })
  })

  test.each<[string, Permission, Parameters<typeof hear>[1], RegExp]>([
    ['[B8] [Q3] a member who is no admin', 'write', {}, /a member there and no admin/],
    ['[B8, F256] an outsider, whatever the page says that they link', 'read', { member: false }, /who is no member there/],
    ['[B8] an admin who spoke to somebody else', 'admin', { addressesAgent: false }, /was not addressed to the agent/],
    ['[B8] an event', 'admin', { kind: 'fact', addressesAgent: false, member: false }, /is an event and no message/],
  ])('%s is no ground, and nothing is saved', async (_, permission, changes, reason) => {
    const before = await head()
    const answer = await save([{ piece: 'scope', change: 'write', text: 'Anything goes.' }], await said(permission, changes))
    expect(answer).toMatch(/^REFUSED Refused: message \d+ /)
    expect(answer).toMatch(reason)
    expect(await head()).toBe(before)
  })

  test('[B8] a message that does not exist is no ground', async () => {
    expect(await save([{ piece: 'scope', change: 'follow' }], 999_999)).toMatch(/message 999999 does not exist/)
  })

  test('[B2, F234] a text that lost its placeholder while it was polished is refused and named, and nothing is saved', async () => {
    const basis = await said('admin')
    const before = await head()
    const text = builtInTexts['runtime/policy']!.replace(', accept mode {mode}', '')
    expect(await save([{ piece: 'runtime/policy', change: 'write', text }], basis)).toMatch(
      /1 fault, so nothing was saved:\n- \/overrides\/runtime~1policy\/text: the placeholder \{mode\} of runtime\/policy is missing/,
    )
    expect(await head()).toBe(before)
  })

  test('[K3] a stale base is refused with who saved meanwhile', async () => {
    const basis = await said('admin')
    const stale = await head()
    expect(await save([{ piece: 'scope', change: 'write', text: 'First.' }], basis)).toMatch(/^Saved/)
    expect(await save([{ piece: 'scope', change: 'write', text: 'Second.' }], await said('admin'), stale)).toMatch(
      new RegExp(`REFUSED revision ${stale} is not the newest: r${stale + 1} by lin is`),
    )
  })

  test('[B8] fields, skills and bases stay as they are; a piece can be given back to the program', async () => {
    const kept = {
      sections: { communication: { text: 'Ours.', reviewBots: ['bot'] } },
      skills: [{ name: 'notes', description: 'x', body: 'y' }],
      overrides: { 'runtime/work': { text: 'ours', base: 'of an older release' } },
    }
    await saveVersion(deps.db, 'prompts', { base: await head(), document: kept, origin: 'cli', actor: 'lin', note: null })
    const basis = await said('admin')
    await save(
      [
        { piece: 'communication', change: 'follow' },
        { piece: 'runtime/work', change: 'write', text: 'ours, better' },
      ],
      basis,
    )
    expect((await readVersion(deps.db, 'prompts', await head()))!.document).toEqual({
      sections: { communication: { reviewBots: ['bot'] } },
      skills: kept.skills,
      overrides: { 'runtime/work': { text: 'ours, better', base: 'of an older release' } },
    })
    await save([{ piece: 'runtime/work', change: 'follow' }], await said('admin'))
    expect((await readVersion(deps.db, 'prompts', await head()))!.document.overrides).toEqual({})
  })

  test('[M4] [B8] the same call again finds what it saved; another one on that ground is refused', async () => {
    const basis = await said('admin')
    const base = await head()
    const wish = [{ piece: 'scope', change: 'write', text: `As of r${base}.` }]
    const [first, second] = await Promise.all([save(wish, basis, base), save(wish, basis, base)])
    expect([first, second, await save(wish, basis, base)]).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(new RegExp(`^Saved as revision ${base + 1}\\.`))),
    )
    expect(await head()).toBe(base + 1)
    expect(await save([{ piece: 'scope', change: 'write', text: 'More.' }], basis)).toMatch(
      new RegExp(`was the ground of revision ${base + 1} already`),
    )
  })

  test("[N7] [B8] an admin's message that a member edited has the weaker authority; the older text, and a deleted one, have none", async () => {
    const wish = [{ piece: 'scope', change: 'write', text: 'As edited.' }]
    const object = 'issue_comment:77'
    const first = await said('admin', { object })
    await said('write', { author: 'bo' })
    const editor = `${'bo'.length}00${'bo'.charCodeAt(0)}`
    const edited = await said('admin', { object, event: 'issue_comment.edited', facts: { editor, editorLogin: 'bo', editorKind: 'user' } })
    expect(await save(wish, first)).toMatch(/was edited since/)
    expect(await save(wish, edited)).toMatch(/was written or edited by somebody who is a member there and no admin/)
    const byNobody = await said('admin', { facts: { editor: 'unknown' } })
    expect(await save(wish, byNobody)).toMatch(/no admin/)
    const gone = await said('admin', { object: 'issue_comment:78' })
    await hear(deps.db, {
      number: 90,
      object: 'issue_comment:78',
      kind: 'fact',
      event: 'issue_comment.deleted',
      addressesAgent: false,
      member: false,
    })
    expect(await save(wish, gone)).toMatch(/was deleted since/)
    expect(await save(wish, await said('admin', { text: '@switchyard' }))).toMatch(/says nothing in words/)
  })

  test.each([
    [[{ piece: 'scope', change: 'write' }], /"write" takes "text"/],
    [[{ piece: 'scope', change: 'follow', text: 'x' }], /"follow" takes none/],
    [
      [
        { piece: 'scope', change: 'follow' },
        { piece: 'scope', change: 'write', text: 'x' },
      ],
      /stands twice/,
    ],
  ])('[B8] what does not belong together is refused: %j', async (changes, reason) => {
    expect(await save(changes, await said('admin'))).toMatch(reason)
  })
})

describe('reading', () => {
  const read = async (input: Record<string, unknown>, role: ToolCall['role'] = 'main', ticket: number | null = null) =>
    textOf(await readRecords(call(input, role, ticket)))

  test('[B7, F223] the main Session reads which built-in texts changed under an override', async () => {
    const document = {
      ...EMPTY,
      overrides: {
        'runtime/work': { text: 'ours', base: 'of an older release' },
        'skill/github': { text: 'x', base: builtInTexts['skill/github']! },
      },
    }
    await saveVersion(deps.db, 'prompts', { base: await head(), document, origin: 'cli', actor: 'lin', note: null })
    expect(await read({ what: 'prompts' })).toBe(
      [
        `revision ${await head()}`,
        'sections that the team wrote: none',
        'fields that it set: none',
        'skills of the team: none',
        'overridden parts: runtime/work (default updated), skill/github',
        'default_changed: runtime/work',
      ].join('\n'),
    )
    const piece = await read({ what: 'prompts', id: 'runtime/work' })
    for (const text of ['ours', 'of an older release', builtInTexts['runtime/work']!]) expect(piece).toContain(text)
    expect(await read({ what: 'prompts', id: 'runtime/wrok' })).toMatch(
      /REFUSED there is no piece "runtime\/wrok". Those there are: communication, /,
    )
  })

  test('[K4] an Executor reads the revisions that held during its work, and no other', async () => {
    const before = await head()
    const later = async (text: string) =>
      saveVersion(deps.db, 'prompts', {
        base: await head(),
        document: { ...EMPTY, sections: { scope: { text } } },
        origin: 'cli',
        actor: 'lin',
        note: 'a note',
      })
    await later('At the start.')
    const atStart = await head()
    const { ticket } = await started(deps.db, 91)
    await later('Meanwhile.')
    expect(await read({ what: 'revisions' }, 'executor', ticket)).toMatch(
      new RegExp(`^r${atStart + 1} · .* · cli by lin · a note\nr${atStart} · [^\n]*$`),
    )
    expect(await read({ what: 'revisions', id: `r${atStart} scope` }, 'executor', ticket)).toContain('At the start.')
    expect(await read({ what: 'revisions', id: `r${before}` }, 'executor', ticket)).toMatch(
      new RegExp(`REFUSED revision r${before} did not hold at any time of your work. Those that did: r${atStart}, r${atStart + 1}`),
    )
    expect(await read({ what: 'revisions', id: `r${before}` })).toMatch(new RegExp(`^r${before} · `))
    expect(await read({ what: 'revisions', id: 'newest' })).toMatch(/REFUSED "newest" is no such id; the form is r12/)
  })
})

describe('skills', () => {
  const load = async (name: string) => textOf(await skill(call({ name }, 'executor')))
  const withDocument = async (changes: object) =>
    saveVersion(deps.db, 'prompts', { base: await head(), document: { ...EMPTY, ...changes }, origin: 'cli', actor: 'lin', note: null })

  test('[A2] [F264, C3] the body is the newest one at the moment of the call', async () => {
    await withDocument({ skills: [{ name: 'notes', description: 'How notes are written.', body: 'Short.' }] })
    expect(await load('notes')).toContain('Short.')
    await withDocument({
      skills: [{ name: 'notes', description: 'How notes are written.', body: 'Shorter, {{relations}} {% and all %}.' }],
    })
    expect(await load('notes')).toBe(`Skill notes, as of revision ${await head()}:\n\nShorter, {{relations}} {% and all %}.`)
  })

  test('[A2] [A3] a skill of the program is loaded as the team overrode it, and without the head of its file', async () => {
    await withDocument({})
    expect(await load('github')).toContain(builtInTexts['skill/github']!)
    expect(await load('github')).not.toContain('description:')
    await withDocument({ overrides: { 'skill/github': { text: 'Our way.', base: builtInTexts['skill/github']! } } })
    expect(await load('github')).toMatch(/:\n\nOur way\.$/)
  })

  test('[A2] an unknown name is refused with those that exist; a channel that is off brings none', async () => {
    await withDocument({ skills: [{ name: 'notes', description: 'x', body: 'y' }] })
    expect(await load('feishu')).toBe('REFUSED there is no skill "feishu". You can load: github, notes')
    const off = await skill({ ...call({ name: 'github' }), deps: { ...deps, github: null } })
    expect(textOf(off)).toBe('REFUSED there is no skill "github". You can load: notes')
  })
})
