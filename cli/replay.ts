/**
 * `switchyard replay <session>`: a recorded Session against the program and the prompts of today (spec D9). It reads in a
 * transaction that can write nothing, and asks nobody. Ends with 0 if every step could be played, whatever came out.
 */
import { type Change, type Replayed, replaySession } from '../activities/replay.ts'
import { recordedSession } from '../ledger/recorded-session.ts'
import { createConfigurationReader } from '../ledger/revisions.ts'
import { loadBuiltInTexts } from '../worker/built-in.ts'
import { withConfiguration } from './config/context.ts'
import { aligned, type Cell, counted } from './lines.ts'
import { harmless, painted, type Style } from './live/style.ts'
import { grouped } from './request.ts'
import { findSession } from './session.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from './terminal.ts'

export interface ReplayOptions {
  turn?: string
  step?: string
  json?: boolean
}

export async function replay(written: string, { turn, step, json = false }: ReplayOptions): Promise<ExitCode> {
  const wrong = Object.entries({ turn, step }).find(([, text]) => text !== undefined && !/^[1-9]\d{0,8}$/.test(text))
  if (wrong) {
    complain(`--${wrong[0]} takes a number from 1, not "${wrong[1]}"`)
    return 2
  }
  // the SDK's advice about a provider is for who asks it
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  return withConfiguration(async ({ db, settings }) => {
    const found = await findSession(db, written)
    if ('refused' in found) {
      complain(found.refused)
      return 1
    }
    const { session } = found
    const style = outputStyle()
    const recorded = await recordedSession(db, session, createConfigurationReader())
    const asked = ({ turn: inTurn, step: at }: { turn: number; step: number }) =>
      (turn === undefined || inTurn === Number(turn)) && (step === undefined || at === Number(step))
    const chosen = recorded.steps.filter(asked)
    const none = nothingToReplay(session, recorded.steps.length, chosen)
    if (none !== null) {
      complain(none)
      return 1
    }
    const played: Replayed[] = []
    // steps before the chosen ones are played too: what they answer is what the chosen ones read
    for await (const each of replaySession(recorded, loadBuiltInTexts(settings.file.personas))) {
      if (!asked(each)) continue
      played.push(each)
      if (!json) say(renderReplayed(each, style))
    }
    if (json) sayJson({ session, steps: played })
    else say(`\n${summaryOf(played)}`)
    const stopped = played.filter(({ stopped }) => stopped !== null)
    if (stopped.length === 0) return 0
    complain(
      `${stopped.length} of ${counted(played.length, 'step')} could not be played; first step ${stopped[0]!.step}: ${stopped[0]!.stopped}`,
    )
    return 1
  })
}

function nothingToReplay(session: string, finished: number, chosen: readonly { recording: unknown }[]): string | null {
  if (finished === 0) return `${session} has finished no step yet, so there is nothing to replay`
  if (chosen.length === 0) return `${session} has no such step; its steps: switchyard requests ${session}`
  if (chosen.some(({ recording }) => recording !== null)) return null
  return `nothing of this was recorded: say switchyard record on; what ${session} is answered from then on can be replayed`
}

export function renderReplayed({ turn, step, request, stopped, prompt, answer, refused }: Replayed, style: Style): string {
  const row = (name: string, text: string, tone: Cell['tone'] = 'plain'): Cell[] => [
    { text: name, tone: 'faint' },
    { text, tone },
  ]
  const calls = answer?.said.calls.map(({ name }) => name).join(', ')
  const rows = [
    ...(prompt
      ? [row('request', prompt.kept.differs === null && prompt.changes.length === 0 ? 'as it was sent then' : keptText(prompt))]
      : []),
    ...(prompt?.changes.map((change) => row('', changeText(change))) ?? []),
    ...(stopped === null ? [] : [row('stopped', stopped, 'bad')]),
    ...(answer ? [row('answer', `${answer.differences.length === 0 ? 'as then' : 'differs'}${calls ? ` · ${calls}` : ''}`)] : []),
    ...(answer?.differences.map((difference) => row('', difference, 'warning')) ?? []),
    ...refused.map(({ call, why, asThen }) => row('refused', `${call}${asThen ? ' (as then)' : ''}: ${why}`, asThen ? 'plain' : 'warning')),
  ]
  return [painted(`turn ${turn}, step ${step} · request ${request}`, 'strong', style), ...aligned(rows, style)].join('\n')
}

const keptText = ({ kept: { bytes, of, differs } }: NonNullable<Replayed['prompt']>): string =>
  `as then for ${grouped(bytes)} of ${counted(of, 'byte')}; first difference: ${differs ?? 'what follows'}`

function changeText({ name, was, is }: Change): string {
  if (was === null) return `${harmless(name)}: ${counted(is!, 'byte')} that were not there`
  return is === null
    ? `${harmless(name)}: gone, ${counted(was, 'byte')} then`
    : `${harmless(name)}: ${grouped(was)} bytes then, ${grouped(is)} now`
}

function summaryOf(played: readonly Replayed[]): string {
  const answers = played.flatMap(({ answer }) => answer ?? [])
  const same = answers.filter(({ differences }) => differences.length === 0).length
  const refusedNow = played.flatMap(({ refused }) => refused).filter(({ asThen }) => !asThen).length
  const changed = played.filter(({ prompt }) => prompt !== null && prompt.changes.length > 0).length
  return [
    `${counted(answers.length, 'answer')} of ${counted(played.length, 'step')} played, ${same} as then.`,
    changed === 0 ? 'Every request has the bytes that were sent then.' : `${counted(changed, 'request')} would be sent with other bytes.`,
    ...(refusedNow === 0
      ? []
      : [`${counted(refusedNow, 'call')} would be refused that ${refusedNow === 1 ? 'was' : 'were'} not, or in other words.`]),
  ].join(' ')
}
