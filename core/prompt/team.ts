/**
 * The three sections that belong to the team (spec A1): their text or the default, and their fields in words, so that a fact
 * on which code acts is told to the model from the same value. All of it is value: never scanned (spec D2).
 */
import { unbroken } from '../message/fence.ts'
import { DEFAULT_OPENING } from '../message/opening.ts'
import type { PromptInput, TeamSections } from './section.ts'

export const SECTION_NAMES = ['communication', 'scope', 'delivery'] as const
export type SectionName = (typeof SECTION_NAMES)[number]

export const DEFAULT_SECTIONS: TeamSections = {
  communication: { text: null, opening: DEFAULT_OPENING, reviewBots: [] },
  scope: { text: null },
  delivery: { text: null, autoMerge: { enabled: false, maxChangedLines: 0 }, uiPaths: [], commitAuthor: null },
}

export function communication({ builtIn, team }: PromptInput): string {
  const { text, opening, reviewBots } = team.communication
  return section('Communication', text ?? builtIn['sections/communication']!, [
    `Opening sentence: ${unbroken(opening)}`,
    reviewBots.length > 0 && `Review bots with ordinary accounts: ${list(reviewBots)}`,
  ])
}

export function ticketScope({ builtIn, team }: PromptInput): string {
  return section('Ticket scope', team.scope.text ?? builtIn['sections/scope']!, [])
}

export function delivery({ builtIn, team }: PromptInput): string {
  const { text, autoMerge, uiPaths, commitAuthor } = team.delivery
  return section('Delivery requirements', text ?? builtIn['sections/delivery']!, [
    autoMerge.enabled
      ? `Merging: the host merges a ready change of at most ${autoMerge.maxChangedLines} changed lines by itself`
      : 'Merging: people merge; the host never does',
    uiPaths.length > 0 && `Files whose change is a UI change: ${list(uiPaths)}`,
    commitAuthor && `Commit author: ${unbroken(commitAuthor.name)} <${unbroken(commitAuthor.email)}>`,
  ])
}

function section(title: string, text: string, fields: (string | false | null)[]): string {
  const lines = fields.flatMap((field) => (field ? `- ${field}` : []))
  return [`# ${title}`, text.trimEnd(), lines.join('\n')].filter((piece) => piece !== '').join('\n\n')
}

function list(values: readonly string[]): string {
  return values.map((value) => `\`${unbroken(value)}\``).join(', ')
}
