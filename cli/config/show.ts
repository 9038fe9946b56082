/** `switchyard config show | history | drift`: what the team set, what was saved, and what changed under it. */
import { type DriftState, drift as driftOf, type PartDrift, sameText } from '../../core/config/drift.ts'
import { overview, piece, pieceNames, withPieces } from '../../core/config/pieces.ts'
import { type VersionHead, versions } from '../../ledger/versions.ts'
import { aligned, clockOf, dayOf, shownText } from '../lines.ts'
import { painted, type Style, type Tone } from '../live/style.ts'
import { complain, type ExitCode, outputStyle, refuse, say, sayJson } from '../terminal.ts'
import { revisionOf, withConfiguration } from './context.ts'
import { patchOf, renderPatch } from './diff.ts'
import { type SaveOptions, settle } from './save.ts'

export function show(name: string | undefined, { revision, json = false }: { revision?: string; json?: boolean }): Promise<ExitCode> {
  return withConfiguration(async ({ db, builtIn }) => {
    const found = await revisionOf(db, revision)
    if ('refused' in found) return refuse(found.refused, { json })
    if (json && name === undefined) {
      sayJson(found)
      return 0
    }
    if (name === undefined) {
      say(shownText(`${headLine(found)}\n\n${overview(found.document, builtIn)}`))
      return 0
    }
    const text = piece(found.document, builtIn, name)
    if (text === null) return refuse(`there is no piece "${name}". Those there are: ${pieceNames(found.document).join(', ')}`, { json })
    if (json) sayJson({ revision: found.number, piece: name, text })
    else say(shownText(text))
    return 0
  })
}

export function history({ json = false, most }: { json?: boolean; most: number }): Promise<ExitCode> {
  return withConfiguration(async ({ db }) => {
    const heads = await versions(db, 'prompts', { most })
    if (json) sayJson({ revisions: heads })
    else say(renderHistory(heads, 'r', outputStyle()))
    return 0
  })
}

export function renderHistory(heads: readonly VersionHead[], letter: string, style: Style): string {
  return aligned(
    heads.map(({ number, at, origin, actor, note, restored }) => [
      { text: `${letter}${number}`, tone: 'strong' as const },
      { text: `${dayOf(at)} ${clockOf(at)}`, tone: 'faint' as const },
      { text: `${origin} by ${actor}` },
      { text: [...(restored === null ? [] : [`restored from ${letter}${restored}`]), ...(note === null ? [] : [note])].join(' · ') },
    ]),
    style,
    0,
  ).join('\n')
}

const headLine = ({ number, at, origin, actor, note, restored }: VersionHead): string =>
  [
    `r${number} of ${dayOf(at)} ${clockOf(at)}, saved by ${actor} (${origin})`,
    ...(restored === null ? [] : [`restored from r${restored}`]),
    ...(note === null ? [] : [note]),
  ].join(' · ')

export interface DriftOptions extends SaveOptions {
  keep?: boolean
  adopt?: boolean
}

/** All overrides, or one with both changes side by side; `--keep` and `--adopt` decide about it (spec B4). */
export function drift(part: string | undefined, options: DriftOptions): Promise<ExitCode> {
  return withConfiguration(async (context) => {
    const { db, builtIn } = context
    if ((options.keep || options.adopt) && (part === undefined || (options.keep && options.adopt))) {
      complain('--keep or --adopt decides about one part: name it')
      return 2
    }
    const head = await revisionOf(db, undefined)
    if ('refused' in head) return refuse(head.refused, options)
    const drifts = driftOf(head.document, builtIn)
    if (part === undefined) {
      if (options.json) sayJson({ revision: head.number, overrides: drifts })
      else say(renderDrifts(drifts, outputStyle()))
      return 0
    }
    const found = drifts.find((each) => each.part === part)
    if (!found) return refuse(`${part} is not overridden. Overridden are: ${drifts.map((each) => each.part).join(', ') || 'none'}`, options)
    if (options.keep && found.state !== 'default updated') return refuse(nothingToKeep(found.part, found.state), options)
    if (options.keep || options.adopt) {
      const draft = withPieces(head.document, options.adopt ? [{ piece: part, text: null }] : [])
      if (options.keep && found.builtIn !== null) draft.overrides[part] = { text: found.text, base: found.builtIn }
      const note = options.note ?? (options.adopt ? `${part} follows the built-in text` : `${part} keeps the team's text`)
      return settle(context, { base: head.number, draft, options: { ...options, note }, again: () => `switchyard config drift ${part}` })
    }
    if (options.json) sayJson(found)
    else say(renderDrift(found, outputStyle()))
    return 0
  })
}

const TONES: Readonly<Record<DriftState, Tone>> = {
  removed: 'bad',
  invalid: 'bad',
  identical: 'faint',
  'default updated': 'warning',
  current: 'good',
}
const MEANS: Readonly<Record<DriftState, string>> = {
  removed: 'this version has no such part; dropped at the next save',
  invalid: 'the built-in text is used until it is mended',
  identical: 'equals the built-in text; removed at the next save',
  'default updated': "the built-in text changed since; the team's is in use",
  current: "the team's text is in use",
}

/** To keep is to have seen the new built-in text; where there is none to see, it is said what there is to do. */
function nothingToKeep(part: string, state: Exclude<DriftState, 'default updated'>): string {
  const todo: Readonly<Record<typeof state, string>> = {
    removed: `this version has no such part, so its text is dropped at the next save; read it with: switchyard config show ${part}`,
    invalid: 'the built-in text is used until it is mended, so edit it: switchyard config edit',
    identical: 'it equals the built-in text, so there is nothing to keep; it is removed at the next save',
    current: "the built-in text has not changed since, so there is nothing to decide; the team's is in use",
  }
  return `${part} is ${state}: ${todo[state]}`
}

export function renderDrifts(drifts: readonly PartDrift[], style: Style): string {
  if (drifts.length === 0) return 'No part is overridden: every part follows the built-in text.'
  return aligned(
    drifts.map(({ part, state, faults }) => [
      { text: part, tone: 'strong' as const },
      { text: state, tone: TONES[state] },
      { text: [MEANS[state], ...faults.map(({ found }) => found)].join('; ') },
    ]),
    style,
    0,
  ).join('\n')
}

function renderDrift({ part, state, text, base, builtIn, faults }: PartDrift, style: Style): string {
  const decide = `switchyard config drift ${part} --keep, or --adopt, or switchyard config edit`
  return [
    `${painted(shownText(part), 'strong', style)}: ${painted(state, TONES[state], style)}, ${MEANS[state]}`,
    ...faults.map(({ found, legal }) => shownText(`  ${found}; legal is ${legal}`)),
    ...(builtIn === null || sameText(base, builtIn)
      ? []
      : ['', renderPatch(patchOf(part, base, builtIn, ['built-in when the team began', 'built-in today']), style)]),
    '',
    renderPatch(patchOf(part, base, text, ['built-in when the team began', "the team's"]), style),
    ...(state === 'default updated' ? ['', shownText(`Decide with: ${decide}`)] : []),
  ].join('\n')
}
