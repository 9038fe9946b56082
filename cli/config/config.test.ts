/** `switchyard config …` as people run it. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EMPTY } from '../../core/config/document.ts'
import { builtInTexts } from '../../core/prompt/fixture.ts'
import { openLedger, started } from '../../ledger/fixture.ts'
import { headVersion, readVersion, saveVersion } from '../../ledger/versions.ts'
import { testFolder } from '../../test/services.ts'
import { type Ended, MAIN, switchyard } from '../process.test-help.ts'
import { patchOf } from './diff.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
let env: Record<string, string>
let folder: string
beforeAll(async () => {
  ledger = await openLedger()
  folder = testFolder('config-')
  env = { DATABASE_URL: ledger.appUrl, SWITCHYARD_HOME: folder }
})
afterAll(() => ledger.drop())

const run = (...args: string[]): Promise<Ended> => switchyard(args, env)
const headNumber = async () => (await headVersion(ledger.db, 'prompts')).number
const headDocument = async () => (await readVersion(ledger.db, 'prompts', await headNumber()))!.document
const fileOf = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
/** Somebody else saves at the panel meanwhile. */
const meanwhile = async (document: object) =>
  saveVersion(ledger.db, 'prompts', {
    base: await headNumber(),
    document: { ...EMPTY, ...document },
    origin: 'panel',
    actor: 'kim',
    note: null,
  })
/** An editor that does what the script says in the folder that it is given. */
const editor = (script: string): Record<string, string> => {
  const path = fileOf(`editor-${Math.random().toString(36).slice(2)}.sh`, `#!/bin/sh\nset -e\ncd "$1"\n${script}\n`)
  chmodSync(path, 0o755)
  return { ...env, EDITOR: path }
}

describe('saving a document', () => {
  test('[K1] [K3] it becomes the next revision, shows what changed, and says who and why in the history', async () => {
    const base = await headNumber()
    const path = fileOf('draft.json', { ...EMPTY, sections: { scope: { text: 'Small changes.' } } })
    const { code, out } = await run('config', 'save', path, '--base', `r${base}`, '--note', 'less is more', '--as', 'lin')
    expect(out).toMatch(
      /^--- sections\/scope\.md\n\+\+\+ sections\/scope\.md\n[\s\S]*\+Small changes\.\n[\s\S]*Saved as r\d+ \(14 bytes of 262,144\)/,
    )
    expect(code).toBe(0)
    expect((await run('config', 'history')).out).toMatch(new RegExp(`^r${base + 1} .* cli by lin +less is more\n`))
    expect((await run('config', 'show', 'scope')).out).toContain('Small changes.')
    expect(JSON.parse((await run('config', 'show', '--json')).out)).toMatchObject({
      number: base + 1,
      document: { sections: { scope: { text: 'Small changes.' } } },
    })
  })

  test('[K5] ten faults are told at once, each with pointer, what was found and what is legal, and nothing is saved', async () => {
    const before = await headNumber()
    const skill = (name: string) => ({ name, description: 'x', body: 'y' })
    const path = fileOf('bad.json', {
      sections: { scop: {}, delivery: { autoMerge: { enabld: true, enabled: 1, maxChangedLines: -1 } } },
      skills: [skill('github'), skill('a'), skill('a'), skill('Not So')],
      overrides: {
        'runtime/nope': { text: 'x' },
        'runtime/policy': { text: '{rules} {version}' },
        'runtime/work': { text: 'see {{issue.titel}}' },
      },
    })
    const { code, err } = await run('config', 'save', path, '--base', `${before}`)
    expect(err.match(/^- /gm)).toHaveLength(10)
    expect(err).toMatch(/^- \/sections\/delivery\/autoMerge\/enabld: no such name; legal is enabled, maxChangedLines$/m)
    expect(err).toMatch(
      /^- \/overrides\/runtime~1work\/text: "\{\{issue\.titel\}\}" in runtime\/work, line 1, column 5: .*cwd, model, provider/m,
    )
    expect(code).toBe(1)
    expect(await headNumber()).toBe(before)
    const { out } = await run('config', 'save', path, '--base', `${before}`, '--json')
    expect(JSON.parse(out).faults).toHaveLength(10)
  })

  test('[K3, F242] too late: it says who saved, what they changed and what both did, and the file is as it was', async () => {
    const base = await headNumber()
    const written = { ...EMPTY, sections: { scope: { text: 'Mine.' } } }
    const path = fileOf('late.json', written)
    await meanwhile({ sections: { scope: { text: 'Theirs.' }, communication: { text: 'Theirs.' } } })
    const { code, out: shown, err } = await run('config', 'save', path, '--base', `${base}`)
    expect(shown).toContain('+Mine.\n')
    expect(err).toMatch(
      new RegExp(
        `nothing was saved: r${base + 1} by kim is newer than r${base} and changed sections/communication.md, sections/scope.md; of these you changed sections/scope.md too`,
      ),
    )
    expect(code).toBe(1)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(written)
    const { out } = await run('config', 'save', path, '--base', `${base}`, '--json')
    expect(JSON.parse(out)).toMatchObject({ refused: 'stale', base, both: ['sections/scope.md'], head: { number: base + 1, actor: 'kim' } })
    const onto = `config save ${path} --base ${base} --onto ${base + 1}`
    expect(err).toContain(`then: switchyard ${onto}\n`)
    const conflict = await run(...onto.split(' '))
    expect(conflict.err).toContain(`switchyard config show scope --revision ${base + 1}\n`)
    expect(conflict.err).toContain(`switchyard ${onto} --take-mine sections/scope.md\n`)
    expect(await headNumber()).toBe(base + 1)
    expect((await run(...onto.split(' '), '--take-mine', 'sections/scope.md')).code).toBe(0)
    expect((await headDocument()).sections).toEqual({ scope: { text: 'Mine.' }, communication: { text: 'Theirs.' } })
  })

  test.each([
    [['config', 'save', 'x.json'], /required option '--base <n>'/],
    [['config', 'restore'], /name one revision, or --defaults/],
    [['config', 'restore', 'newest'], /"newest" is no revision/],
    [['config', 'drift', '--keep'], /decides about one part/],
    [['config', 'preview', '--role', 'boss'], /no role "boss"; roles are main, executor, subagent/],
    [['config', 'preview', '--role', 'main', '--ticket', '7'], /the main Session has no Ticket/],
    [['config', 'history', '--most', '0'], /'--most <count>' argument '0' is invalid\. Legal is a whole number from 1 to 10,000/],
    [['policy', 'history', '--most', '-1'], /'-1' is invalid\. Legal is a whole number/],
    [['config', 'shw'], /unknown command 'shw'\n\(Did you mean show\?\)/],
  ])('wrong use ends with 2 and says what is right: %j', async (args, expected) => {
    const { code, err } = await run(...args)
    expect(err).toMatch(expected)
    expect(code).toBe(2)
  })

  test.each([
    [['config', 'show', 'nope'], /^there is no piece "nope"/],
    [['config', 'restore', '9999'], /^there is no revision 9999/],
    [['policy', 'set-mode', 'nope'], /^"nope" is no accept mode/],
    [['policy', 'set-mode', 'explicit'], /nothing would change/],
  ])('with --json a refusal is an object too: %j', async (args, expected) => {
    const { code, out, err } = await run(...args, '--json')
    expect(JSON.parse(out)).toEqual({ refused: expect.stringMatching(expected) })
    expect([code, err]).toEqual([1, ''])
  })

  test.each([
    [['config', 'show', 'runtime/nope'], /there is no piece "runtime\/nope". Those there are: communication/],
    [['config', 'show', '--revision', '9999'], /there is no revision 9999; the newest is \d+/],
    [['config', 'diff', '1', '9999'], /there is no revision 9999/],
    [['config', 'drift', 'runtime/work'], /runtime\/work is not overridden/],
    [['config', 'preview', '--role', 'executor', '--ticket', 'T-99'], /there is no Ticket T-99/],
    [['policy', 'restore', '99'], /there is no Policy version "99"/],
    [['config', 'save', 'nowhere.json', '--base', '1'], /^switchyard: there is no file nowhere\.json\n$/],
    [['config', 'restore', '1', '--base', '9999'], /there is no r9999; the newest is r\d+\n$/],
    [['policy', 'set-mode', 'confirm', '--base', '7'], /there is no v7; the newest is v1\n$/],
  ])('what is not there ends with 1 and says what is: %j', async (args, expected) => {
    const { code, err } = await run(...args)
    expect(err).toMatch(expected)
    expect(code).toBe(1)
  })
})

test('texts that have nothing in common are not compared for ever', { timeout: 10_000 }, () => {
  const lines = (word: string) => Array.from({ length: 30_000 }, (_, at) => `${word} ${at}\n`).join('')
  expect(patchOf('sections/scope.md', lines('a'), lines('b'))).toBe(
    '--- sections/scope.md\n+++ sections/scope.md\nthe whole text was replaced (30,001 → 30,001 lines)\n',
  )
})

describe('as files', () => {
  test('[N13] exported, changed and imported it is an ordinary save on the revision that it came from', async () => {
    await meanwhile({ sections: { scope: { text: 'Before.' } }, skills: [{ name: 'notes', description: 'x', body: 'y' }] })
    const out = join(folder, 'exported')
    expect((await run('config', 'export', out)).code).toBe(0)
    writeFileSync(join(out, 'sections', 'scope.md'), 'After.')
    rmSync(join(out, 'skills', 'notes'), { recursive: true })
    mkdirSync(join(out, 'overrides', 'runtime'))
    writeFileSync(join(out, 'overrides', 'runtime', 'work.md'), 'Ours on {{model}}.')
    const { code, out: told } = await run('config', 'import', out)
    expect(code, told).toBe(0)
    expect(await headDocument()).toEqual({
      sections: { scope: { text: 'After.' } },
      skills: [],
      overrides: { 'runtime/work': { text: 'Ours on {{model}}.', base: builtInTexts['runtime/work'] } },
    })
    expect((await run('config', 'export', out)).err).toMatch(/is not empty/)
  })

  test('[K3] a folder that came too late is carried over to the newest revision, unless both changed one file', async () => {
    await meanwhile({ sections: { scope: { text: 'Base.' } } })
    const out = join(folder, 'late')
    await run('config', 'export', out)
    writeFileSync(join(out, 'sections', 'scope.md'), 'Mine.')
    await meanwhile({ sections: { scope: { text: 'Base.' }, communication: { text: 'Theirs.' } } })
    const late = await run('config', 'import', out)
    const head = await headNumber()
    expect(late.err).toContain(`then: switchyard config import ${out} --onto ${head}`)
    expect((await run('config', 'import', out, '--onto', `${head}`)).code).toBe(0)
    expect((await headDocument()).sections).toEqual({ scope: { text: 'Mine.' }, communication: { text: 'Theirs.' } })
    await meanwhile({ sections: { scope: { text: 'Theirs too.' } } })
    const conflict = await run('config', 'import', out, '--onto', `${await headNumber()}`)
    expect(conflict.err).toMatch(/both the draft and r\d+ changed sections\/scope\.md since[\s\S]* --take-mine sections\/scope\.md\n$/)
  })

  test('[K5] a folder without a configuration empties nothing, and what is no text of its own is refused by its name', async () => {
    const before = await headNumber()
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    expect((await run('config', 'import', empty, '--base', `${before}`)).err).toMatch(
      /there is no configuration in .*config restore --defaults/,
    )
    expect((await run('config', 'import', join(folder, 'nowhere'))).err).toMatch(/^switchyard: there is no folder \S+nowhere\n$/)
    mkdirSync(join(empty, 'sections'))
    symlinkSync('/etc/passwd', join(empty, 'sections', 'scope.md'))
    writeFileSync(join(empty, 'sections', 'delivery.md'), Buffer.from([0xff]))
    const { err } = await run('config', 'import', empty, '--base', `${before}`)
    expect(err).toMatch(/^- \/sections\/scope\.md: a symbolic link; legal is a file of its own/m)
    expect(err).toMatch(/^- \/sections\/delivery\.md: its bytes are no UTF-8/m)
    expect(await headNumber()).toBe(before)
  })

  test('[K5] what is carried over is checked against its own revision first, and a base that was deleted is the stored one', async () => {
    await meanwhile({ overrides: { 'runtime/work': { text: 'Ours.', base: 'x' } } })
    const out = join(folder, 'carried')
    await run('config', 'export', out)
    rmSync(join(out, 'bases'), { recursive: true })
    writeFileSync(join(out, 'overrides', 'runtime', 'work.md'), 'Ours, better.')
    writeFileSync(join(out, 'sections', 'ticket-scope.md'), 'Small.')
    await meanwhile({ sections: { scope: { text: 'Theirs.' } }, overrides: { 'runtime/work': { text: 'Ours.', base: 'x' } } })
    const onto = ['config', 'import', out, '--onto', `${await headNumber()}`]
    expect((await run(...onto)).err).toMatch(/1 fault, so nothing was saved:\n- \/sections\/ticket-scope: no such name/)
    rmSync(join(out, 'sections', 'ticket-scope.md'))
    expect(await run(...onto)).toMatchObject({ code: 0 })
    expect(await headDocument()).toMatchObject({
      sections: { scope: { text: 'Theirs.' } },
      overrides: { 'runtime/work': { text: 'Ours, better.', base: 'x' } },
    })
  })

  test('[K1] edited in the editor it is checked, shown and saved; without a change nothing is saved', async () => {
    await meanwhile({})
    const before = await headNumber()
    const nothing = await switchyard(['config', 'edit'], editor('true'))
    expect(nothing).toMatchObject({ code: 0, out: 'Nothing was changed, so nothing was saved.\n' })
    const asked = await switchyard(['config', 'edit', '--json'], editor('true'))
    expect(JSON.parse(asked.out)).toEqual({ refused: 'nothing was changed, so nothing was saved' })
    const { code, out } = await switchyard(
      ['config', 'edit', '--note', 'shorter'],
      editor('cp built-in/sections/scope.md sections/ && echo "And small." >> sections/scope.md'),
    )
    expect(out).toMatch(/\+And small\.\n[\s\S]*Saved as/)
    expect(code).toBe(0)
    expect(await headNumber()).toBe(before + 1)
    expect(readdirSync(join(folder, 'drafts'))).toEqual([])
  })

  test('[K3] [K5] a draft with faults, or one that came too late, is kept, and it is said how to go on', async () => {
    const bad = await switchyard(['config', 'edit'], editor('mkdir -p overrides/runtime; echo "{{nope}}" > overrides/runtime/work.md'))
    expect(bad.code).toBe(1)
    expect(bad.err).toMatch(/1 fault, so nothing was saved:\n- \/overrides\/runtime~1work\/text: "\{\{nope\}\}"/)
    const [, kept] = /When it is mended: switchyard config import (\S+)/.exec(bad.err)!
    writeFileSync(join(kept!, 'overrides', 'runtime', 'work.md'), 'On {{model}}.')
    expect((await run('config', 'import', kept!)).code).toBe(0)

    const head = await headNumber()
    const late = await switchyard(
      ['config', 'edit'],
      editor(`echo x > sections/scope.md; "${process.execPath}" "${MAIN}" config restore --defaults`),
    )
    expect(late.err).toMatch(
      new RegExp(`r${head + 1} by .* is newer than r${head}.*then: switchyard config import (\\S+) --onto ${head + 1}\n`),
    )
    expect(late.err).toMatch(new RegExp(`When it is mended: switchyard config import \\S+ --onto ${head + 1}\n$`))

    const failing = await switchyard(['config', 'edit'], editor('echo x > sections/scope.md; exit 3'))
    expect(failing.err).toMatch(/ended with 3, so nothing was saved. The draft is kept: switchyard config import/)
    expect(existsSync(join(folder, 'drafts'))).toBe(true)
  })

  test('[K5] whatever was written in the editor is kept until it is saved: an unknown file, an unknown key, a built-in text', async () => {
    await meanwhile({ skills: [{ name: 'notes', description: 'x', body: 'y' }] })
    const before = await headNumber()
    const unknown = await switchyard(
      ['config', 'edit'],
      editor(
        `echo A > sections/ticket-scope.md; echo '{"scope":{"size":1}}' > fields.json; sed -i 's/^name/when: z\\nname/' skills/notes/SKILL.md`,
      ),
    )
    expect(unknown.err).toMatch(/\/sections\/ticket-scope: no such name[\s\S]*the draft is kept in/)
    expect(unknown.err).toMatch(/\/sections\/scope\/size: no such name/)
    expect(unknown.err).toMatch(/\/skills\/0\/when: no such name/)
    const beside = await switchyard(['config', 'edit'], editor('echo B >> built-in/sections/scope.md'))
    expect(beside.err).toMatch(/you changed built-in\/sections\/scope\.md, .* is not saved\. The folder is kept: (\S+)/)
    expect(await headNumber()).toBe(before)
    const both = await switchyard(['config', 'edit'], editor('echo B >> built-in/sections/scope.md; echo C > sections/scope.md'))
    expect(both).toMatchObject({ code: 0, err: expect.stringMatching(/^switchyard: built-in\/sections\/scope\.md lies beside/) })
    for (const { err } of [unknown, beside, both]) expect(existsSync(/kept(?: in|:) (\S+?)\.?\s/.exec(err)![1]!)).toBe(true)
  })
})

describe('after an upgrade', () => {
  const overridden = (base: string) => ({ overrides: { 'runtime/work': { text: 'Ours.', base } } })

  test('[B4, F218] both changes stand side by side, and the team keeps its text or takes the new one', async () => {
    await meanwhile(overridden('The text of an older release.\n'))
    expect((await run('config', 'drift')).out).toMatch(/^runtime\/work {2}default updated {2}the built-in text changed since/)
    const { out } = await run('config', 'drift', 'runtime/work')
    expect(out).toMatch(/-The text of an older release\.\n[\s\S]*\+# The course of the work[\s\S]*\+Ours\.[\s\S]*--keep, or --adopt/)
    expect((await run('config', 'drift', 'runtime/work', '--keep')).code).toBe(0)
    expect(await headDocument()).toMatchObject(overridden(builtInTexts['runtime/work']!))
    expect((await run('config', 'drift')).out).toMatch(/^runtime\/work {2}current/)
    expect((await run('config', 'drift', 'runtime/work', '--adopt')).out).toContain('Saved as')
    expect((await headDocument()).overrides).toEqual({})
  })

  test('[B6, F224] [B9] an invalid override says what is missing, and one of a part that is gone that it will be dropped', async () => {
    await meanwhile({ overrides: { 'runtime/policy': { text: '{mode} {rules}', base: 'x' }, 'runtime/gone': { text: 'x', base: 'y' } } })
    expect((await run('config', 'drift')).out).toMatch(
      /runtime\/policy +invalid +the built-in text is used until it is mended; the placeholder \{version\} of\s+runtime\/policy is missing/,
    )
    expect((await run('config', 'drift')).out).toMatch(/runtime\/gone +removed/)
    expect((await run('config', 'show', 'runtime/gone')).out).toBe(
      'runtime/gone: removed, since this version has no such part; dropped at the next save\nx\n',
    )
    expect((await run('config', 'drift', 'runtime/policy')).out).toMatch(
      /is missing; legal is [\s\S]*\+\+\+ built-in today[\s\S]*\+\+\+ the team's/,
    )
    const before = await headNumber()
    const kept = await run('config', 'drift', 'runtime/policy', '--keep')
    expect(kept).toMatchObject({ code: 1, err: expect.stringContaining('runtime/policy is invalid: the built-in text is used until') })
    expect((await run('config', 'drift', 'runtime/gone', '--keep')).err).toContain('read it with: switchyard config show runtime/gone')
    expect(await headNumber()).toBe(before)
  })
})

test('[K2, F247] an older revision is brought back by its number, or the built-in texts', async () => {
  await meanwhile({ sections: { scope: { text: 'Good.' } } })
  const good = await headNumber()
  await meanwhile({ sections: { scope: { text: 'Worse.' } } })
  expect((await run('config', 'diff', `${good}`)).out).toMatch(/-Good\.\n[\s\S]*\+Worse\./)
  expect((await run('config', 'restore', `${good}`)).out).toMatch(/\+Good\./)
  expect((await run('config', 'history', '--most', '1')).out).toContain(`restored from r${good}`)
  expect((await run('config', 'restore', '--defaults')).code).toBe(0)
  expect(await headDocument()).toEqual(EMPTY)
})

describe('previews', () => {
  test('[C1] each role reads its prompt, with the values of a Ticket where one is named', async () => {
    const { ticket } = await started(ledger.db, 70)
    const main = (await run('config', 'preview', '--role', 'main')).out
    expect(main).toMatch(/^You are one of the agents of Switchyard/)
    expect(main).toContain('# Policy for inferred work')
    const executor = (await run('config', 'preview', '--role', 'executor', '--ticket', `T-${ticket}`)).out
    expect(executor).toContain(`- Ticket: T-${ticket}`)
    expect((await run('config', 'preview', '--role', 'subagent')).out).not.toContain('# Ground rules')
    expect(JSON.parse((await run('config', 'preview', '--role', 'main', '--json')).out)).toMatchObject({
      text: main.trimEnd(),
      bytes: Buffer.byteLength(main.trimEnd()),
    })
  })
})

test('nothing that somebody wrote steers the terminal: a note, a name, a rule, a key of a draft', async () => {
  const steering = '\u001b]0;x\u0007\u001b[2J'
  const base = await headNumber()
  const path = fileOf('steering.json', { ...EMPTY, skills: [{ name: 'notes', description: 'd', body: steering }] })
  const ended = [
    await run('config', 'save', path, '--base', `${base}`, '--note', steering, '--as', steering),
    await run('config', 'save', path, '--base', `${base}`),
    await run('config', 'show'),
    await run('config', 'history'),
    await run('config', 'save', fileOf('key.json', { ...EMPTY, [steering]: 1 }), '--base', `${base}`),
    await run('policy', 'rule', 'add', '--name', steering, '--instruction', steering),
    await run('policy', 'rule', 'enable', 'r99'),
    await run('policy', 'restore', '1'),
  ]
  for (const { out, err } of ended) {
    // what a terminal obeys
    expect(out + err).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  }
  expect(ended.slice(0, 7).filter(({ out, err }) => (out + err).includes('\\u{1b}[2J'))).toHaveLength(7)
})
