import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Happening } from './event.ts'
import { renderTicketEvents } from './render.ts'
import { columns, harmless, type Style, styleFor, wrapped } from './style.ts'
import { targetOf } from './target.ts'
import { whatNext } from './what-next.ts'

const plain: Style = { colour: false, width: 120, since: 1_000 }
const line = (happening: Happening, style: Partial<Style> = {}, at = 8_340) =>
  renderTicketEvents({ at, ...happening }, { ...plain, ...style })

const STORY: Happening[] = [
  { kind: 'delivery', source: 'github', event: 'issues.opened', id: '2f0a6c3e-9d1b-4a57-8a51-0f4b7b2f7a10' },
  {
    kind: 'trigger',
    message: 12,
    event: 'issues.opened',
    place: 'acme/widgets#7',
    author: 'mara',
    decision: 'candidate',
    reason: 'a member asked',
  },
  { kind: 'routed', candidate: 'C-3', decision: 'start', ticket: 'T-1' },
  { kind: 'ticket', ticket: 'T-1', title: 'Bring back the last page', executor: 'executor 1' },
  { kind: 'model step', who: 'T-1', step: 4, revision: 2, inputTokens: 3210, outputTokens: 120 },
  { kind: 'tool call', who: 'T-1', tool: 'orchestrator_acknowledge', target: 'message 12', outcome: 'done' },
  { kind: 'comment', who: 'T-1', purpose: 'acknowledge', url: 'http://127.0.0.1:4000/acme/widgets/issues/7#issuecomment-1' },
  { kind: 'tool call', who: 'T-1', tool: 'shell', target: 'node --test', outcome: 'failed', detail: 'exit 1' },
  { kind: 'push', who: 'T-1', branch: 'switchyard/last-page-7', sha: '0123456789abcdef0123456789abcdef01234567' },
  { kind: 'pull request', who: 'T-1', action: 'opened', title: 'Count it', url: 'http://127.0.0.1:4000/acme/widgets/pull/8' },
  { kind: 'report', who: 'T-1', status: 'done', summary: 'It rounds up now.' },
  { kind: 'turn ended', who: 'T-1', outcome: 'waits for review' },
  { kind: 'alarm', who: 'T-1', what: 'the provider refused the key' },
  { kind: 'alarm over', who: 'T-1', what: 'the provider answers again' },
  { kind: 'closed', ticket: 'T-1', reason: 'merged' },
]

describe('one event, one line', () => {
  test('the story stands in columns', () => {
    expect(STORY.map((happening) => line(happening))).toEqual([
      '  0:07.3 github  delivery received        issues.opened · 2f0a6c3e-9d1b-4a57-8a51-0f4b7b2f7a10',
      '  0:07.3 host    message 12               acme/widgets#7 by mara · issues.opened · → candidate · a member asked',
      '  0:07.3 main    routed C-3               start · T-1',
      '  0:07.3 T-1     started                  Bring back the last page · executor 1',
      '  0:07.3 T-1     model step 4             revision 2 · 3,210 tokens in, 120 out',
      '  0:07.3 T-1     orchestrator_acknowledge message 12',
      '  0:07.3 T-1     said: acknowledge        http://127.0.0.1:4000/acme/widgets/issues/7#issuecomment-1',
      '  0:07.3 T-1     shell                    node --test · failed · exit 1',
      '  0:07.3 T-1     pushed                   switchyard/last-page-7 · 0123456789',
      '  0:07.3 T-1     pull request opened      Count it · http://127.0.0.1:4000/acme/widgets/pull/8',
      '  0:07.3 T-1     report: done             It rounds up now.',
      '  0:07.3 T-1     turn ended               waits for review',
      '  0:07.3 T-1     ALARM                    the provider refused the key',
      '  0:07.3 T-1     alarm over               the provider answers again',
      '  0:07.3 T-1     closed                   merged',
    ])
  })

  test.each([
    [1_000, '  0:00.0'],
    [500, '  0:00.0'],
    [61_049, '  1:00.0'],
    [3_600_999 + 1_000, '1:00:00.9'],
  ])('at %i ms the clock says %s', (at, clock) => {
    expect(line({ kind: 'closed', ticket: 'T-1', reason: 'merged' }, {}, at).startsWith(clock)).toBe(true)
  })

  test('a narrow terminal gets the rest below itself, nothing is cut, an address stays whole', () => {
    const url = `http://127.0.0.1:4000/${'long/'.repeat(12)}pull/8`
    const shown = line(
      { kind: 'pull request', who: 'T-1', action: 'opened', title: 'Count a partly filled last page of widgets', url },
      { width: 70 },
    )
    const lines = shown.split('\n')
    expect(lines.slice(1).every((below) => below.startsWith(' '.repeat(42)))).toBe(true)
    expect(lines.filter((one) => !one.includes('http')).every((one) => columns(one) <= 70)).toBe(true)
    expect(shown).toContain(url)
    expect(shown.replaceAll(/\s+/g, ' ')).toContain('Count a partly filled last page of widgets · http')
  })

  test('colours change no character, and without them there is no escape', () => {
    for (const happening of STORY) {
      const coloured = line(happening, { colour: true })
      expect(coloured).toContain('\u001b[')
      expect(coloured.replaceAll(/\u001b\[\d+m/g, '').trimEnd()).toBe(line(happening))
      expect(line(happening)).not.toContain('\u001b')
    }
  })

  test('[L1] a title from outside moves no cursor and turns no reading order', () => {
    const shown = line({ kind: 'ticket', ticket: 'T-1', title: 'a\u001b[2Jb\u0007\r\nc\u202ed\u009b1m', executor: 'x' })
    expect(shown).toContain('a\\u{1b}[2Jb\\u{7} c\\u{202e}d\\u{9b}1m')
    expect(shown.split('\n')).toHaveLength(1)
  })

  test('whatever the text, no control character, no line too wide, and no character lost', () => {
    const word = fc.string({ unit: 'grapheme', maxLength: 30, size: 'max' })
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 30, size: 'max' }), fc.integer({ min: 63, max: 80 }), (words, width) => {
        const summary = words.join(' ')
        const shown = line({ kind: 'report', who: 'T-1', status: 'done', summary }, { width })
        const lines = shown.split('\n')
        expect(lines.every((one) => /^\P{Cc}*$/u.test(one))).toBe(true)
        expect(lines.every((one) => columns(one) <= width)).toBe(true)
        const said = lines.map((one) => one.slice(42)).join('')
        expect(said.replaceAll(/\s/g, '')).toBe(harmless(summary).replaceAll(/\s/g, ''))
      }),
    )
  })
})

describe('the terminal', () => {
  test.each<[string, Parameters<typeof styleFor>[0], NodeJS.ProcessEnv, Partial<Style>]>([
    ['a terminal has colour and its own width', { isTTY: true, columns: 132 }, {}, { colour: true, width: 132 }],
    ['NO_COLOR', { isTTY: true, columns: 132 }, { NO_COLOR: '1' }, { colour: false }],
    ['an empty NO_COLOR says nothing', { isTTY: true, columns: 132 }, { NO_COLOR: '' }, { colour: true }],
    ['NO_COLOR beats FORCE_COLOR', { isTTY: true, columns: 132 }, { NO_COLOR: '1', FORCE_COLOR: '1' }, { colour: false }],
    ['a pipe', {}, {}, { colour: false, width: 100 }],
    ['a dumb terminal', { isTTY: true, columns: 80 }, { TERM: 'dumb' }, { colour: false }],
    ['a sliver', { isTTY: true, columns: 5 }, {}, { width: 40 }],
  ])('%s', (_, stream, env, expected) => {
    expect(styleFor(stream, env, 0)).toMatchObject(expected)
  })

  test.each([
    ['abc', 3],
    ['第七页', 6],
    ['🛤️', 2],
    ['é', 1],
    ['e\u0301', 1],
    ['ｆ', 2],
  ])('%s takes %i columns', (text, width) => {
    expect(columns(text)).toBe(width)
  })

  test('Chinese without spaces is broken by width', () => {
    expect(wrapped('最后一页不见了', 6)).toEqual(['最后一', '页不见', '了'])
  })
})

describe('what a call is about', () => {
  test.each<[string, unknown, string]>([
    ['shell', { command: 'node --test' }, 'node --test'],
    ['shell', { command: 'set -e\nnode --test' }, 'set -e …'],
    ['shell', { command: 'x'.repeat(80) }, `${'x'.repeat(60)}…`],
    ['edit', { path: 'src/pages.js', old: 'a', new: 'b' }, 'src/pages.js'],
    ['github_pull_request', { action: 'open', branch: 'b' }, 'open'],
    ['github_pull_request', { action: 'ready', number: 8 }, 'ready #8'],
    [
      'orchestrator_route',
      {
        decisions: [
          { decision: 'start', candidate: 3 },
          { decision: 'ignore', candidate: 4 },
        ],
      },
      'start C-3, ignore C-4',
    ],
    ['orchestrator_acknowledge', { message: 12, text: 'x' }, 'message 12'],
    ['todo_write', { items: [{}] }, '1 item'],
    ['a tool from later', { path: 'x' }, ''],
    ['shell', 'no object at all', ''],
  ])('%s %j', (tool, input, target) => {
    expect(targetOf(tool, input)).toBe(target)
  })
})

describe('what to look at next', () => {
  const next = {
    pullRequestUrl: 'http://127.0.0.1:4000/acme/widgets/pull/8',
    issueUrl: null,
    temporalUi: 'http://127.0.0.1:8233',
    panel: null,
    ticket: 'T-1',
    session: 's-2',
    command: 'npx switchyard',
    staysUp: true,
  }

  test('lists what there is, in columns', () => {
    expect(whatNext(next, plain).split('\n')).toEqual([
      'What to look at next',
      '  pull request  http://127.0.0.1:4000/acme/widgets/pull/8',
      '  Temporal UI   http://127.0.0.1:8233',
      '  the Ticket    npx switchyard status T-1',
      '  every word    npx switchyard log s-2',
      '  to end        Ctrl-C; the next start goes on from here',
    ])
  })

  test('says nothing where there is nothing to look at', () => {
    const nothing = { ...next, pullRequestUrl: null, temporalUi: null, ticket: null, session: null, staysUp: false }
    expect(whatNext(nothing, plain)).toBe('')
  })
})
