/**
 * An effect outside (spec M4): its row stands before it is tried; an attempt whose outcome is unknown is looked up before anything
 * is sent again; the same call finds its result, another call on a taken key is refused with the link.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationFailure } from '@temporalio/activity'
import { GithubError } from '../../channels/github/failure.ts'
import type { Mark } from '../../core/ticket/scope.ts'
import { type EffectRow, intend, markSent, type NewEffect, settle } from '../../ledger/outbox.ts'
import type { Deps } from '../deps.ts'
import type { EffectAt, Landed } from './effect-kind.ts'
import { KINDS } from './kinds.ts'

/** People hold it back (spec I2): the tool's answer, as it is. */
export interface HeldBack {
  heldBack: { paused: Mark[] } | { refused: string }
}
export type Performed = { landed: Landed } | { taken: EffectRow } | { refused: string } | HeldBack

export async function perform(deps: Deps, effect: NewEffect, signal: AbortSignal): Promise<Performed> {
  const { github } = deps
  if (!github) return { refused: 'GitHub is off in this deployment: nothing can be sent there.' }
  let intended = await intend(deps.db, effect)
  if ('left' in intended) {
    const row = intended.left
    const found = await lookUp({ deps, github, row, signal })
    if (found) return 'landed' in found ? { taken: { ...row, ...found.landed } } : found
    intended = await intend(deps.db, effect)
  }
  if ('taken' in intended) return intended
  if ('left' in intended) throw ApplicationFailure.retryable(`another attempt sends ${effect.key}`, 'EffectUncertain')
  return performRow({ deps, github, row: intended.mine, signal })
}

/** Brings a row's effect about, from wherever an earlier attempt left it. */
export async function performRow(at: EffectAt): Promise<{ landed: Landed } | { refused: string } | HeldBack> {
  const { deps, row } = at
  if (row.state === 'confirmed') return { landed: { externalId: row.externalId!, url: row.url! } }
  const kind = KINDS[row.kind]!
  if (row.state === 'sent' || row.state === 'uncertain') {
    const found = await lookUp(at)
    if (found) return found
  }
  const leave = await markSent(deps.db, row)
  if (leave === 'another') throw ApplicationFailure.retryable(`another attempt sends ${row.key}`, 'EffectUncertain')
  if (leave === 'closed') return { heldBack: { refused: 'The Ticket is closed: nothing was sent.' } }
  if (leave !== 'sent') return { heldBack: 'paused' in leave ? leave : { refused: dropped(leave.wrote) } }
  try {
    const sent = await kind.send(at)
    if ('refused' in sent) {
      await settle(deps.db, row.id, { state: 'failed', error: sent.refused })
      return sent
    }
    return { landed: await confirm(at, sent) }
  } catch (error) {
    return afterFailure(at, error, 'intent')
  }
}

/** What was decided before a pause is not done after it if people wrote meanwhile: the model reads and decides again (spec I2). */
function dropped(wrote: number): string {
  const messages = wrote === 1 ? 'a message that came' : `${wrote} messages that came`
  return `Dropped: people paused this Ticket after you decided this, and ${messages} meanwhile ${wrote === 1 ? 'waits' : 'wait'} to be read. Nothing was sent. Read first, then decide again.`
}

/**
 * Asks outside what became of an attempt, and settles the row by the answer. Null: it is not there and may be sent. A place that
 * cannot be seen any more will never answer: then the effect has failed.
 */
export async function lookUp(at: EffectAt): Promise<{ landed: Landed } | { refused: string } | null> {
  const { deps, row, signal } = at
  const kind = KINDS[row.kind]!
  try {
    const found = (await kind.find(at)) ?? (await secondLook(() => kind.find(at), signal))
    if (found) return { landed: await confirm(at, found) }
  } catch (error) {
    return afterFailure(at, error, 'uncertain')
  }
  await settle(deps.db, row.id, { state: 'intent' })
  return null
}

/** A list may lag behind a write. */
async function secondLook(find: () => Promise<Landed | null>, signal: AbortSignal): Promise<Landed | null> {
  await sleep(1_500, undefined, { signal })
  return find()
}

async function confirm(at: EffectAt, landed: Landed): Promise<Landed> {
  const { deps, row } = at
  await KINDS[row.kind]!.landed?.(at, landed)
  await settle(deps.db, row.id, { state: 'confirmed', ...landed })
  return landed
}

/** A refused token is renewed by the client; more than one renewal does not help. */
const UNAUTHORISED_TRIES = 2

/** `unsent` is what the row says while the refusal of this very request leaves open whether the effect is there. */
async function afterFailure(at: EffectAt, error: unknown, unsent: 'intent' | 'uncertain'): Promise<{ refused: string }> {
  const { deps, row, signal } = at
  if (!(error instanceof GithubError)) {
    const message = error instanceof Error ? error.message : String(error)
    await settle(deps.db, row.id, { state: 'uncertain', error: message }, signal.aborted ? undefined : lasting(at, message))
    signal.throwIfAborted()
    throw error
  }
  const { failure } = error
  // Temporal's history holds nobody's words (spec M7)
  const known = `${failure.kind}, status ${failure.status ?? 'none'}`
  const again = unsent === 'intent' ? { state: unsent } : { state: unsent, error: failure.message }
  switch (failure.kind) {
    case 'unknown-outcome':
    case 'server':
      await settle(deps.db, row.id, { state: 'uncertain', error: failure.message }, lasting(at, failure.message))
      throw ApplicationFailure.retryable(known, 'EffectUncertain')
    case 'rate-limited':
      await settle(deps.db, row.id, again)
      throw ApplicationFailure.create({
        type: 'RateLimited',
        message: known,
        category: 'BENIGN',
        nextRetryDelay: Math.max(1_000, failure.retryAt.getTime() - deps.now().getTime()),
      })
    case 'unauthorised':
      if (unsent === 'intent' && row.tries >= UNAUTHORISED_TRIES) {
        // it is no answer about this effect, which stays open and owed; the host's own words, which nobody says again, are tried for ever
        await settle(deps.db, row.id, again, `It cannot be sent: ${failure.message}`)
        if (row.session !== null) return { refused: `Not sent, and people were told: GitHub refuses the agent's key: ${failure.message}` }
      } else {
        // a look-up is repeated for ever, so somebody must hear of it
        await settle(
          deps.db,
          row.id,
          again,
          unsent === 'uncertain' ? `What became of it cannot be looked up: ${failure.message}` : undefined,
        )
      }
      throw ApplicationFailure.retryable(known, 'Unauthorised')
    case 'forbidden':
    case 'not-found':
    case 'gone':
    case 'invalid':
    case 'locked':
      return final(at, failure.message)
    default:
      return failure satisfies never
  }
}

/** So long a failure is waited out without a word. */
const ALARM_AFTER_MS = 10 * 60_000

/** What people hear of an effect that has failed before and has not come about for some time (spec O1, F338). It is tried again all the same. */
function lasting({ deps, row }: EffectAt, message: string): string | undefined {
  const isLasting = row.error !== null && deps.now().getTime() - row.createdAt.getTime() >= ALARM_AFTER_MS
  return isLasting ? `It has not come about since ${row.createdAt.toISOString()} and is tried again: ${message}` : undefined
}

async function final({ deps, row }: EffectAt, message: string): Promise<{ refused: string }> {
  const refused = `GitHub refuses it for good: ${message}`
  await settle(deps.db, row.id, { state: 'failed', error: message }, refused)
  return { refused }
}
