/**
 * Outside words inside a message of ours, such as an issue's title: shown as typed, but without power (spec L1, H3). They make
 * no link, notify nobody, close nothing and break no card.
 */
import { oneLine } from './fence.ts'

/** On GitHub: a code span, in which mentions, references, closing keywords and links are plain text. */
export function inMarkdown(text: string): string {
  const shown = oneLine(text)
  if (shown === '') return ''
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length))
  const ticks = '`'.repeat(longest + 1)
  const space = shown.startsWith('`') || shown.endsWith('`') ? ' ' : ''
  return `${ticks}${space}${shown}${space}${ticks}`
}

/** On a Feishu card: every character that its Markdown or its tags read becomes a numeric entity. */
export function onCard(text: string): string {
  return oneLine(text).replace(/[&<>[\]()*_~`#@:|\\!-]/g, (mark) => `&#${mark.codePointAt(0)};`)
}
