/**
 * One model step (design §5): settle what is uncertain, look at the ledger, build the prompt, write the request down, ask the
 * model, take its answer in. A retry of the activity looks again, so every request reads the newest revision (spec C3).
 */
import { ApplicationFailure } from '@temporalio/activity'
import { showItem } from '../core/message/items.ts'
import { type LogEntry, withInputs } from '../core/prompt/conversation.ts'
import { endAlarm, raiseAlarm } from '../ledger/alarms.ts'
import { hostOf } from '../ledger/hosts.ts'
import { storeRecording } from '../ledger/recordings.ts'
import { closeRequest, firstAsked, openRequest } from '../ledger/requests.ts'
import type { RequestFacts } from '../ledger/schema.ts'
import type { OpenCall } from '../ledger/sessions.ts'
import { markSeen, type StepView, viewStep } from '../ledger/step-view.ts'
import { commitStep, type Stored, storedStep } from '../ledger/steps.ts'
import { shaOf } from '../ledger/texts.ts'
import { showBlocked } from '../ledger/tickets.ts'
import { type Address, QUEUES, type StepResult, workspaceQueue } from '../workflows/protocol.ts'
import { type Built, buildRequest } from './build-request.ts'
import type { Deps } from './deps.ts'
import { settleUncertain } from './effects/settle.ts'
import { BrokenAnswer, judgeFailure, kindAndStatus } from './model/failure.ts'
import { type ModelAnswer, streamAnswer } from './model/stream.ts'
import { openWire, type Wire } from './model/wire.ts'
import { type ReadCall, readAnswer } from './read-answer.ts'
import { type SessionGround, standOnGround } from './session-ground.ts'

export interface Running {
  signal: AbortSignal
  /** Temporal's count of attempts, from 1. */
  attempt: number
}

export async function modelStep(deps: Deps, at: Address, running: Running): Promise<StepResult> {
  const result = await step(deps, at, running)
  if (result.outcome === 'blocked' || result.outcome === 'budget' || result.outcome === 'error') await showBlocked(deps.db, at.session)
  return result
}

async function step(deps: Deps, at: Address, running: Running): Promise<StepResult> {
  const done = await storedStep(deps.db, at)
  if (done) return resultOf(deps, at, done)

  await settleUncertain(deps, at.session, running.signal)
  for (;;) {
    const view = await viewStep(deps.db, at, deps.readConfiguration)
    const nothing = beforePrompt(view)
    if (nothing) return nothing

    await markSeen(
      deps.db,
      view.unread.map(({ id }) => id),
    )
    const ground = await standOnGround(deps, view, running)
    if ('outcome' in ground) return ground
    const built = build(deps, view, ground)
    if ('fault' in built) return unbuilt(deps, view, built.fault)
    await endAlarm(deps.db, 'assembly', view.scope)
    const stop = await beforeRequest(deps, view, built)
    if (stop) return stop

    const opened = await openRequest(deps.db, at, view.scope, requestRow(deps, view, built), deps.storedTexts)
    if (opened === 'moved') continue // a save, a new Policy or a pause came in between: look again
    const wire = openWire({ keepsAnswer: opened.isRecorded })
    return ask(deps, { at, view, built, request: opened.id, wire }, running)
  }
}

/** Nothing to do before a prompt is even built. */
function beforePrompt(view: StepView): StepResult | null {
  if (view.closed) return { outcome: 'closed' }
  if (view.replaced) return { outcome: 'handoff' }
  if (view.holds.length > 0) return { outcome: 'paused', holds: view.holds }
  return view.unread.length === 0 && !answersOwed(view.log) ? { outcome: 'idle' } : null
}

/** The last answer called tools, so the model is owed a look at their results. */
function answersOwed(log: readonly LogEntry[]): boolean {
  const last = log.findLast((entry) => entry.kind === 'answer')
  return last !== undefined && last.kind === 'answer' && last.body.calls.length > 0
}

type Ready = Built & { inputs: { inbox: number; text: string }[]; facts: RequestFacts }

/** One request takes at most so much of the inbox; the rest comes with the next and its number is told (spec G1, F178). */
const INPUT_BYTES = 128 * 1024

function build(deps: Deps, view: StepView, { agentsMd, cwd }: SessionGround): Ready | { fault: { section: string; message: string } } {
  const facts = { github: deps.github !== null, cwd, environment: view.ticket === null ? deps.environment : [] }
  const inputs = inputsThatFit(view)
  const log = withInputs(
    view.log,
    inputs.map(({ text }) => text),
  )
  const { provider, nameFor } = deps.model
  const built = buildRequest({
    view,
    facts,
    builtIn: deps.builtIn,
    readDrift: deps.readDrift,
    provider,
    model: nameFor(view.role),
    agentsMd,
    log,
  })
  return 'fault' in built ? built : { ...built, inputs, facts }
}

function inputsThatFit({ unread }: StepView): { inbox: number; text: string }[] {
  const fit: { inbox: number; text: string }[] = []
  let bytes = 0
  for (const item of unread) {
    const text = showItem(item)
    bytes += Buffer.byteLength(text)
    if (fit.length > 0 && bytes > INPUT_BYTES) break
    fit.push({ inbox: item.id, text })
  }
  const left = unread.length - fit.length
  if (left > 0) fit[fit.length - 1]!.text += `\n\n(${left} more wait and come with the next request)`
  return fit
}

async function unbuilt(deps: Deps, view: StepView, fault: { section: string; message: string }): Promise<StepResult> {
  await raiseAlarm(deps.db, 'assembly', view.scope, `the prompt of ${view.session} cannot be built: ${fault.message}`)
  return { outcome: 'unbuilt' }
}

/** Measured on English, Chinese and code alike: facts of the house, within 5 %. */
const BYTES_PER_TOKEN = 4.4

/** Limits that are known before anything is spent. */
async function beforeRequest(deps: Deps, view: StepView, built: Ready): Promise<StepResult | null> {
  const tokens = Math.ceil(built.bytes / BYTES_PER_TOKEN)
  if (tokens > deps.model.contextTokens) {
    await raiseAlarm(
      deps.db,
      'context',
      view.scope,
      `the next request of ${view.session} has about ${tokens} tokens; ${deps.model.contextTokens} are the limit (MODEL_CONTEXT_TOKENS)`,
    )
    return { outcome: 'blocked' }
  }
  if (view.ticket && view.ticket.spentTokens >= deps.ticketBudgetTokens) {
    await raiseAlarm(
      deps.db,
      'budget',
      view.scope,
      `T-${view.ticket.id} has used ${view.ticket.spentTokens} tokens; ${deps.ticketBudgetTokens} are its budget (SWITCHYARD_TICKET_BUDGET_TOKENS)`,
    )
    return { outcome: 'budget' }
  }
  return null
}

function requestRow(deps: Deps, view: StepView, built: Ready) {
  return {
    revision: view.configuration.revision,
    policyVersion: view.configuration.policy.version,
    sections: built.sections,
    tools: JSON.stringify(built.tools),
    logSeq: view.logSeq,
    inputs: built.inputs,
    facts: built.facts,
    provider: deps.model.provider,
    model: deps.model.nameFor(view.role),
  }
}

interface Asked {
  at: Address
  view: StepView
  built: Ready
  request: number
  wire: Wire
}

async function ask(deps: Deps, asked: Asked, running: Running): Promise<StepResult> {
  const { view, built, request, wire } = asked
  let answer: ModelAnswer
  try {
    answer = await streamAnswer({
      model: deps.model.languageModel(view.role, wire.fetch),
      system: built.system,
      messages: built.messages,
      tools: built.tools,
      signal: running.signal,
    })
  } catch (error) {
    return await failed(deps, asked, error, running)
  } finally {
    const received = wire.received()
    if (received) await storeRecording(deps.db, request, received)
  }
  await endAlarm(deps.db, OVER_WHEN_ANSWERED, view.scope)
  const { said, calls } = readAnswer(answer, asked.at.step, built.offered)
  const invalid = stuckCall(view, calls)
  if (invalid) return stuck(deps, asked, answer, invalid.fault)
  const taken = {
    request,
    answer: said,
    calls: calls.map(({ said: _, ...call }) => call),
    finishReason: answer.finishReason,
    usage: answer.usage,
    wireSha: wireSha(wire),
    inputs: built.inputs,
  }
  return resultOf(deps, asked.at, await commitStep(deps.db, asked.at, view.scope, taken))
}

/** Of what went out (spec C8). */
function wireSha(wire: Wire): Buffer | null {
  const sent = wire.sent()
  return sent === null ? null : shaOf(sent)
}

/** The call that cannot run and that the model makes for the third time in a row, whatever else its answers contain. */
function stuckCall(view: StepView, calls: readonly ReadCall[]): (ReadCall & { fault: string }) | undefined {
  const answers = view.log.filter((entry) => entry.kind === 'answer').slice(-2)
  if (answers.length < 2) return undefined
  const told = new Map(view.log.flatMap((entry) => (entry.kind === 'result' ? [[entry.call, entry.body.text] as const] : [])))
  return calls
    .flatMap((call) => (call.fault === null ? [] : [{ ...call, fault: call.fault }]))
    .find(({ fault, said }) => {
      const key = JSON.stringify([said.name, said.input])
      return answers.every(({ body }) =>
        body.calls.some(({ id, name, input }) => JSON.stringify([name, input]) === key && told.get(id) === fault),
      )
    })
}

async function stuck(deps: Deps, { view, request, wire }: Asked, answer: ModelAnswer, fault: string): Promise<StepResult> {
  const error = `the model made the same invalid call three times in a row: ${fault.split('\n')[0]}`
  await closeRequest(deps.db, request, {
    outcome: 'failed',
    error,
    finishReason: answer.finishReason,
    wireSha: wireSha(wire),
    ...answer.usage,
  })
  await raiseAlarm(deps.db, 'error', view.scope, `${view.session}: ${error}`)
  return { outcome: 'error' }
}

/** An answer shows that what these said is over. */
const OVER_WHEN_ANSWERED = ['provider', 'context', 'budget', 'error'] as const
/** An unknown error is worth so many tries; then somebody must look. */
const UNKNOWN_TRIES = 5
/** An outage that lasts longer is told to people, once (spec O1). */
const PATIENCE_MS = 10 * 60_000

async function failed(deps: Deps, { at, view, request, wire }: Asked, error: unknown, running: Running): Promise<StepResult> {
  if (running.signal.aborted) {
    await closeRequest(deps.db, request, { outcome: 'cut off', wireSha: wireSha(wire) })
    throw running.signal.reason
  }
  const failure = judgeFailure(error, deps.now())
  await closeRequest(deps.db, request, {
    outcome: 'failed',
    error: failure.message,
    wireSha: wireSha(wire),
    ...(error instanceof BrokenAnswer ? error.usage : {}),
  })
  deps.log.warn({ session: view.session, request, failure }, 'a model request failed')
  switch (failure.kind) {
    case 'overflow':
      await raiseAlarm(deps.db, 'context', view.scope, `${view.session} no longer fits the model's context: ${failure.message}`)
      return { outcome: 'blocked' }
    case 'blocked':
      await raiseAlarm(
        deps.db,
        'provider',
        view.scope,
        `the model provider refuses ${view.session}: ${failure.message}. Mend it, then: switchyard retry ${view.scope}`,
      )
      return { outcome: 'blocked' }
    case 'outage':
      if (deps.now().getTime() - (await firstAsked(deps.db, at)).getTime() > PATIENCE_MS)
        await raiseAlarm(
          deps.db,
          'provider',
          view.scope,
          `the model provider does not answer ${view.session}: ${failure.message}. It is tried again without end.`,
        )
      throw ApplicationFailure.create({
        type: 'ProviderOutage',
        message: kindAndStatus(failure, error),
        category: 'BENIGN',
        ...(failure.retryAfterMs === null ? {} : { nextRetryDelay: failure.retryAfterMs }),
      })
    case 'unknown':
      if (running.attempt < UNKNOWN_TRIES) throw ApplicationFailure.retryable(kindAndStatus(failure, error), 'ModelError')
      await raiseAlarm(deps.db, 'error', view.scope, `a model request of ${view.session} failed ${UNKNOWN_TRIES} times: ${failure.message}`)
      return { outcome: 'error' }
    default:
      return failure satisfies never
  }
}

async function resultOf(deps: Deps, { session }: Address, step: Stored): Promise<StepResult> {
  if (step.outcome !== 'tools') return { outcome: step.outcome }
  const needsHost = step.calls.some(({ place }) => place === 'workspace')
  const host = needsHost ? await hostOf(deps.db, session, deps.host) : deps.host
  const calls = step.calls.map(({ call, tool, nature, place }: OpenCall) => ({
    id: call,
    tool,
    parallel: nature === 'read',
    queue: queueOf(place, host),
  }))
  return { outcome: 'tools', calls, revision: step.revision }
}

function queueOf(place: string, host: string): string {
  return place === 'workspace' ? workspaceQueue(host) : place === 'channel' ? QUEUES.channel : QUEUES.ledger
}
