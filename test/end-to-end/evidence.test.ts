/** Requests as evidence: what the model server received, byte for byte, against what the ledger says was sent. */
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test, vi } from 'vitest'
import { wireBody } from '../../activities/model/wire.ts'
import { switchyard } from '../../cli/process.test-help.ts'
import { type ConfigurationDocument, EMPTY } from '../../core/config/document.ts'
import type { ModelSettings } from '../../core/deployment/settings.ts'
import { builtInTexts } from '../../core/prompt/fixture.ts'
import { save } from '../../ledger/fixture.ts'
import { type PastRequest, pastRequests } from '../../ledger/past-requests.ts'
import { shaOf } from '../../ledger/texts.ts'
import type { Line, Scenario } from '../../rehearsal/model/script.ts'
import type { View } from '../../rehearsal/model/view.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { type HistoryEvent, runsOf } from './histories.ts'
import { eventually, finished, type House, idle, openHouse } from './house.ts'

vi.setConfig({ testTimeout: 120_000 })

const overriding = (text: string): ConfigurationDocument => ({
  ...EMPTY,
  overrides: { 'runtime/work': { text, base: builtInTexts['runtime/work']! } },
})
const bodyOf = (past: PastRequest) => wireBody({ ...past, provider: past.provider as ModelSettings['provider'] })

/** Of every Session, in the order in which they were opened. */
async function all(house: House): Promise<PastRequest[]> {
  const sessions = await house.ledger.db.selectFrom('session').select('id').execute()
  const past = await Promise.all(sessions.map(({ id }) => pastRequests(house.ledger.db, id)))
  return past.flat().toSorted((a, b) => a.request - b.request)
}

test('[C8] [D8] every request of a whole run, failed attempts too, is rebuilt byte for byte as the model server received it', async () => {
  const overloaded = new Set<string>()
  /** The first attempt of each Session's second step fails, and main's very first too. */
  const beforeModel = ({ role, step }: View) => {
    const key = `${role} ${step}`
    if (!['main 0', 'executor 1'].includes(key) || overloaded.has(key)) return undefined
    overloaded.add(key)
    return 'overloaded'
  }
  const house = await openHouse({ world, scenario: fixFailingTest, beforeModel })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])

  const past = await all(house)
  const received = house.model.requests()
  expect(past.filter(({ outcome }) => outcome === 'failed').map(({ session, step, attempt }) => [session, step, attempt])).toEqual([
    ['main-1', 1, 1],
    ['t1-1', 2, 1],
  ])
  expect(new Set(past.map(({ session }) => session))).toEqual(new Set(['main-1', 't1-1']))
  expect(past).toHaveLength(received.length)

  const rebuilt = await Promise.all(past.map(bodyOf))
  expect(rebuilt.toSorted()).toEqual(received.map(({ text }) => text).toSorted())
  expect(past.map(({ wireSha }) => wireSha)).toEqual(rebuilt.map((body) => shaOf(body).toString('hex')))

  // a Session whose texts stay as they are only appends, and what the cache gave stands in the ledger as the provider told it
  expect(past.filter(({ kept }) => kept !== null && kept.differs !== null)).toEqual([])
  const answered = past.filter(({ outcome }) => outcome === 'answered')
  expect(answered.every(({ tokens }) => tokens.cacheHit !== null && tokens.cacheMiss! > 0)).toBe(true)
  expect(answered.at(-1)!.tokens.cacheHit).toBeGreaterThan(answered.at(-1)!.tokens.cacheMiss!)

  const failed = past.find(({ session, outcome }) => session === 't1-1' && outcome === 'failed')!
  const { code, out, err } = await switchyard(['request', `${failed.request}`, '--wire'], { DATABASE_URL: house.databaseUrl })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(received.filter(({ text }) => text === out)).toHaveLength(2)
})

/** The Executor acknowledges, then plans three times, then ends its turn. */
function planner(): Scenario {
  const receipt = fixFailingTest.roles.executor!.find(({ name }) => name === 'acknowledges')!
  const plans: Line = {
    name: 'plans',
    when: ({ step, result }) => result('orchestrator_acknowledge') !== null && step < 4,
    answer: ({ step }) => ({ calls: [{ name: 'todo_write', input: { items: [{ content: `plan ${step}`, status: 'pending' }] } }] }),
  }
  const ends: Line = { name: 'ends its turn', when: ({ step }) => step >= 4, answer: { text: 'Nothing is left to do.' } }
  return { ...fixFailingTest, roles: { ...fixFailingTest.roles, executor: [receipt, plans, ends] } }
}

test('[F254] [C3] [C4] a save between two steps of a turn, and between two attempts of a step, is in the very next request and wakes nothing', async () => {
  const ready = Promise.withResolvers<House>()
  const situations: Awaited<ReturnType<typeof situation>>[] = []
  const beforeModel = async ({ role, step }: View) => {
    if (role !== 'executor') return undefined
    const house = await ready.promise
    if (step === 1 && situations.length === 0) {
      situations.push(await situation(house))
      await save(house.ledger.db, 'prompts', overriding('Work by the second revision.'))
    }
    if (step === 3 && situations.length === 1) {
      situations.push(await situation(house))
      await save(house.ledger.db, 'prompts', overriding('Work by the third revision.'))
      await save(house.ledger.db, 'policy', { mode: 'confirm', rules: [], lastRule: 0 })
      return 'overloaded' as const
    }
    if (step === 3 && situations.length === 2) situations.push(await situation(house))
    return undefined
  }
  const house = await openHouse({
    world,
    scenario: planner(),
    beforeModel,
    modelKey: 'a key',
    environment: { MODEL_PROVIDER: 'deepseek', MODEL_API_KEY: 'a key' },
  })
  ready.resolve(house)
  await house.openIssue()
  await eventually('the second attempt of step 4 is answered', () =>
    house.ledger.db.selectFrom('step').select('step').where('session', '=', 't1-1').where('step', '=', 4).executeTakeFirst(),
  )
  await idle(house)

  const past = (await pastRequests(house.ledger.db, 't1-1')).filter(({ step }) => step <= 4)
  expect(past.map(({ step, attempt, revision, policyVersion, outcome }) => [step, attempt, revision, policyVersion, outcome])).toEqual([
    [1, 1, 1, 1, 'answered'],
    [2, 1, 1, 1, 'answered'],
    [3, 1, 2, 1, 'answered'],
    [4, 1, 2, 1, 'failed'],
    [4, 2, 3, 2, 'answered'],
  ])
  expect(past.map(({ kept }) => kept?.differs ?? null)).toEqual([null, null, 'runtime/work', null, 'runtime/work'])

  const received = house.model.requests().filter(({ role, step }) => role === 'executor' && step <= 3)
  const said = received.map(({ text }) => /Work by the (\w+) revision/.exec(text)?.[1] ?? 'first')
  expect(said).toEqual(['first', 'first', 'second', 'second', 'third'])
  // as DeepSeek tells them
  expect(past.slice(1, 3).every(({ tokens }) => tokens.cacheHit! > 0 && tokens.cacheMiss! > 0)).toBe(true)
  // the older ones still stand as they were sent
  expect(await Promise.all(past.map(bodyOf))).toEqual(received.map(({ text }) => text))

  // one run, in which nobody was woken, cancelled or begun again since the save
  expect(situations).toHaveLength(3)
  const [before, ...later] = situations
  expect(later).toEqual([before, before])
  expect(await runsOf(house, 'ticket-1')).toHaveLength(1)
})

/** Wakes and restarts of the Ticket's workflow so far. */
async function situation({ client, ledger }: House) {
  const workflow = client.workflow.getHandle('ticket-1')
  const { runId } = await workflow.describe()
  const { events } = JSON.parse(historyToJSON(await workflow.fetchHistory())) as { events: HistoryEvent[] }
  const counted = ['WORKFLOW_EXECUTION_SIGNALED', 'WORKFLOW_EXECUTION_UPDATE_ACCEPTED', 'ACTIVITY_TASK_CANCEL_REQUESTED', 'TIMER_STARTED']
  const inbox = await ledger.db.selectFrom('inbox').select('id').where('address', '=', 'ticket-1').execute()
  return {
    runId,
    events: events.map(({ eventType }) => eventType).filter((type) => counted.some((name) => type === `EVENT_TYPE_${name}`)),
    inbox: inbox.length,
  }
}
