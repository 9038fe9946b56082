import fc from 'fast-check'
import { type MarkedToken, marked } from 'marked'
import { describe, expect, test } from 'vitest'
import { parseCommand } from './command.ts'
import { findMention } from './mention.ts'
import { spoken } from './spoken.ts'

const mentioned = (text: string, slug = 'agent') => findMention(text, slug).mentioned

describe('what mentions the agent', () => {
  test.each([
    ['@agent fix the flaky test'],
    ['please @agent'],
    ['@Agent do X'],
    ['@AGENT[bot] do X'],
    ['@agent[bot], have a look'],
    ['(@agent)'],
    ['**@agent** and more'],
    ['请@agent修复这个测试'],
    ['@agent에게'],
    ['@agent.'],
    ['> quoted\n\n@agent now'],
    ['- item\n- @agent do it'],
    ['1. one\n\n   @agent in an item'],
    ['| a | b |\n|---|---|\n| @agent | x |'],
    ['<details>\n<summary>log</summary>\n\n@agent see this\n</details>'],
    ['```\ncode\n```\n@agent after a fence'],
    ['- ```\n  code\n@agent after a fence that its list item ended'],
    ['a lone ` backtick, @agent'],
    ['\\`@agent\\`'],
    ['`` a ` b `` @agent `c`'],
    ['<!-- note --> @agent'],
    ['text <!-- never closed\n\n@agent'],
    ['paragraph\n    @agent in its continuation'],
    ['    code\n@agent after indented code'],
    ['> # heading\n@agent is no lazy line of a heading'],
    ['`open\n\n@agent, a span does not reach over a blank line`'],
  ])('[N1] %j is a mention', (text) => expect(mentioned(text)).toBe(true))

  test.each([
    ['`@agent`'],
    ['``@agent ` x``'],
    ['`two\nlines @agent`'],
    ['```\n@agent\n```'],
    ['~~~\n@agent\n```\n@agent\n~~~'],
    ['```\n@agent in a fence without an end'],
    ['````\n```\n@agent\n````'],
    ['- a\n  ```\n  @agent\n  ```'],
    ['- ```sh\n  @agent\n  ```'],
    ['    @agent in indented code'],
    ['-     @agent in code of an item'],
    ['> @agent please fix this\n\nagreed'],
    ['> @agent please fix this\nagreed, @agent on a lazy line'],
    ['- > @agent'],
    ['>>> @agent'],
    ['> ```\n> @agent\n> ```'],
    ['<!-- @agent -->'],
    ['<!-- a --><!-- @agent'],
    ['- \n\n    @agent, behind an empty item'],
    ['``@agent\n    1. ``'],
    ['1. <!-- \n```\n-->\n@agent'],
    ['<!--\n\n@agent\n-->'],
    ['<!-- never closed\n\n@agent'],
    ['text <!-- @agent --> text'],
    ['<code>@agent</code>'],
    ['<pre>\n\n@agent\n\n</pre>'],
    ['<blockquote>a<blockquote>b</blockquote>@agent</blockquote>'],
  ])('[N1] [F044] [F045] %j is none', (text) => expect(mentioned(text)).toBe(false))

  test.each([
    ['@agent-extra do X'],
    ['@agents'],
    ['@agent_x'],
    ['@agent/core, a team'],
    ['foo@agent.com'],
    ['foo.@agent'],
    ['https://example.org/@agent'],
    ['@@agent'],
    ['＠agent'],
    ['@аgent with a Cyrillic а'],
    ['@agentа with one behind'],
    ['@agent\u0301'],
    ['agent'],
    [''],
  ])('[F046] %j names somebody else or nobody', (text) => expect(mentioned(text)).toBe(false))

  test('[F046] letters that fold to the handle in Unicode are look-alikes', () => {
    expect(mentioned('@\u017Fwitch', 'switch')).toBe(false)
    expect(mentioned('@\u212Aite', 'kite')).toBe(false)
  })

  test('[N1] a slug with dashes and dots is taken literally', () => {
    expect(mentioned('@my-agent hi', 'my-agent')).toBe(true)
    expect(mentioned('@myxagent hi', 'my.agent')).toBe(false)
  })
})

describe('invisible characters', () => {
  test.each([
    ['[F047] inside the handle: no match', '@ag\u200Bent do X', false],
    ['[F048] a right-to-left override before a reversed handle: no match', '\u202Etnega@ do X', false],
    ['[F048] tag characters behind a plain handle: a match', '@agent\u{E0061}\u{E0062}', true],
    ['[F047] between the handle and what a reader sees as its rest: no match', '@agent\u200B-extra', false],
    ['[F047] between an address and its sign: no match', 'foo\u2060@agent', false],
  ])('%s', (_, text, matches) => {
    expect(findMention(text, 'agent')).toMatchObject({ mentioned: matches })
  })
})

test.each([
  ['@agent pause', 'pause', null],
  ['@agent, stop!', 'pause', null],
  ['@agent[bot] resume T-7', 'resume', 'T-7'],
  ['关闭 @agent', 'close', null],
  ['@agent：状态', 'status', null],
])('[N5] %j leaves the command %s', (text, name, target) => {
  expect(parseCommand(findMention(text, 'agent').withoutMention)).toEqual({ name, target })
})

test('[N5] a mention in code stays in the text, so it is no command', () => {
  expect(findMention('`@agent` pause', 'agent').withoutMention).toBe('`@agent` pause')
})

describe('the scanner', () => {
  test('[F050] takes work in proportion to the text, also on texts that are made to be slow', () => {
    const ways = [
      '`',
      '` ``',
      '<!--',
      '<code',
      '<code>',
      '> ',
      '- ',
      '    ',
      '@agent ',
      '@agent`',
      '\\`',
      '[',
      '> ```\n',
      '- > ',
      '~~~\n',
      '\u200B',
      '<q></q>',
    ]
    for (const piece of ways) {
      const text = piece.repeat(Math.floor(65_536 / piece.length))
      expect(findMention(text, 'agent').withoutMention.length, piece).toBeLessThanOrEqual(text.length)
    }
  }, 20_000)

  test('[F050] finds all of 500 mentions in 64 KB once each', () => {
    const text = `${'x'.repeat(120)} @agent `.repeat(500)
    expect(findMention(text, 'agent').withoutMention).not.toContain('@agent')
  })

  test('keeps every position, whatever the text', () => {
    fc.assert(
      fc.property(markdownish, (text) => {
        const said = spoken(text)
        expect(said).toHaveLength(text.length)
        for (let at = 0; at < text.length; at++) if (said[at] !== text[at]) expect(said[at]).toBe(' ')
      }),
    )
  })

  test('[N1] never counts a mention that a Markdown parser takes for code or a quotation', () => {
    fc.assert(
      fc.property(markdownish, (text) => {
        if (!mentioned(text)) return
        expect(spokenByMarked(text), JSON.stringify(text)).toContain('@agent')
      }),
      { numRuns: 5_000 },
    )
  })
})

/** Without tabs and without lists inside quotations, where the parser itself departs from GFM. */
const markdownish = fc
  .array(
    fc.constantFrom(
      '@agent',
      ' ',
      '\n',
      '\n\n',
      '> ',
      '`',
      '``',
      '```',
      '~~~',
      '- ',
      '1. ',
      '    ',
      '  ',
      'word',
      '# ',
      '---',
      '<!-- ',
      ' -->',
      '\n```\n',
      '\t',
    ),
    {
      maxLength: 14,
    },
  )
  .map((pieces) => pieces.join(''))
  .filter((text) => !/>\s*(?:-|1\.)/.test(text))

function spokenByMarked(text: string): string {
  const say = (tokens: readonly MarkedToken[]): string =>
    tokens
      .map((token) => {
        if (token.type === 'code' || token.type === 'codespan' || token.type === 'blockquote') return ' '
        if (token.type === 'html') return token.raw.replace(/<!--[\s\S]*?(?:-->|$)/g, ' ')
        if (token.type === 'list') return token.items.map((item) => say(item.tokens as MarkedToken[])).join('\n')
        return 'tokens' in token && token.tokens ? say(token.tokens as MarkedToken[]) : token.raw
      })
      .join('')
  return say(marked.lexer(text) as MarkedToken[])
}
