/** What went wrong with pauses elsewhere, tried on the whole program (spec I). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { overview } from '../../ledger/story.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { type Command, pause, QUEUES, resume, status, wake } from '../../workflows/protocol.ts'
import { eventually, finished, type House, idle, openHouse, sandboxMode } from './house.ts'
import { onlyAcknowledges, rescript, slowly, testThatWaits } from './scripts.ts'

vi.setConfig({ testTimeout: 180_000 })

const repository = world.repository.fullName
const COMMAND_LINE = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const MARK = { scope: 'ticket-1', generation: 1 }

test("[F186, F187, F195] under a paused Ticket a comment waits and is shown as waiting; a bot's words and automation's labels are no work and lift nothing", async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  const issue = await waiting(house)
  await house.command('pause', 'ticket-1')
  await eventually('the workflow holds', () => held(house))
  const before = await spent(house)

  await say(house, 'mara', 'The README is right, by the way.')
  await eventually('she is told once', async () => (await agentsWords(house, issue)).at(-1)?.includes('T-1 is paused by mara'))
  await house.operate('createAccount', { login: 'quota[bot]', type: 'Bot' })
  for (const time of [1, 2, 3]) await say(house, 'quota[bot]', `Review quota reached (${time}).`)
  await house.operate('editIssue', { repository, number: issue, as: 'quota[bot]', labels: ['stale'], assignees: ['mara'] })
  await house.operate('editIssue', { repository, number: issue, as: 'quota[bot]', labels: [], assignees: [] })
  await decided(house)
  await house.client.workflow.getHandle('ticket-1').signal(wake)

  expect(await held(house)).toBe(true)
  expect(await pauseRow(house)).toEqual({ held: true, generation: 1, actor: 'mara' })
  expect(await spent(house)).toEqual({ ...before, outbox: before.outbox + 1 })
  const { held: shown, tickets } = await overview(db)
  expect(shown).toMatchObject([{ scope: 'ticket-1', by: 'mara' }])
  expect(tickets[0]!.unread).toBeGreaterThan(0)

  await house.command('resume', 'ticket-1')
  await idle(house)
  expect((await overview(db)).tickets[0]!.unread).toBe(0)
})

test('[F188, F192] stop, message, stop again: each stop holds until it is lifted, and the late cancel of a lifted one touches nothing new', async () => {
  const house = await openHouse({ world, scenario: rescript(fixFailingTest, { lines: { 'plans and reproduces': testThatWaits } }) })
  const issue = await house.openIssue()
  await commandRuns(house, 1)

  await say(house, 'mara', 'stop')
  await stopped(house)
  await say(house, 'mara', 'The README is right, by the way.')
  await say(house, 'mara', 'stop')
  await eventually('the second stop is answered', async () =>
    (await agentsWords(house, issue)).some((text) => text.includes('T-1 is held already')),
  )
  expect(await held(house)).toBe(true)
  expect(await pauseRow(house)).toMatchObject({ held: true, generation: 1 })

  await say(house, 'mara', 'resume')
  await commandRuns(house, 2)
  await say(house, 'mara', 'stop')
  await stopped(house)
  expect(await pauseRow(house)).toMatchObject({ held: true, generation: 3 })
  await say(house, 'mara', 'resume')
  await commandRuns(house, 3)

  const late: [Command] = [{ by: 'mara', reason: 'late', mark: MARK }]
  expect(await house.client.workflow.getHandle('ticket-1').executeUpdate(pause, { args: late })).toEqual(MARK)
  expect(await held(house)).toBe(false)
  expect(await running(house)).toBe(1)
  writeFileSync(join(homeOfTicket(house), 'go-3'), '')
  await finished(house)
  const cutOff = await house.ledger.db.selectFrom('toolCall').select('tool').where('outcome', '=', 'interrupted').execute()
  expect(cutOff).toEqual([{ tool: 'shell' }, { tool: 'shell' }])
  expect(runsIn(house)).toBe(3)
})

test('[F189, F190] a message by another path and two resumes at once, one by raw update: one takes effect, both see it, and one Executor runs', async () => {
  const house = await openHouse({ world, scenario: slowly(fixFailingTest, 150) })
  const { db } = house.ledger
  const issue = await house.openIssue()
  await eventually('T-1 works', () => db.selectFrom('toolCall').select('call').where('session', '=', 't1-1').executeTakeFirst())
  await house.command('pause', 'ticket-1')
  await stopped(house)
  await say(house, 'mara', 'The README is right, by the way.')
  await decided(house)

  const wakeUp = () =>
    house.client.workflow.signalWithStart('ticket', {
      workflowId: 'ticket-1',
      taskQueue: QUEUES.workflows,
      args: [{ ticket: 1 }],
      signal: wake,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    })
  const [byRow, byUpdate] = await Promise.all([
    house.command('resume', 'ticket-1'),
    house.client.workflow.getHandle('ticket-1').executeUpdate(resume, { args: [{ by: 'mo', reason: 'go on' }] }),
    ...Array.from({ length: 5 }, wakeUp),
  ])
  const lifted = { scope: 'ticket-1', generation: 2 }
  expect(byUpdate).toEqual(lifted)
  expect(byRow).toMatchObject({ mark: lifted })
  const commands = await db.selectFrom('command').select(['actor', 'generation']).where('kind', '=', 'resume').execute()
  expect(commands.toSorted((a, b) => a.actor.localeCompare(b.actor))).toEqual([
    { actor: 'mara', generation: 2 },
    { actor: 'mo', generation: 2 },
  ])
  expect(await pauseRow(house)).toMatchObject({ held: false, generation: 2 })

  await finished(house)
  const requests = await db.selectFrom('request').select(['openedAt', 'endedAt']).where('session', 'like', 't1-%').orderBy('id').execute()
  const overlapping = requests.filter(({ openedAt }, nth) => nth > 0 && openedAt < requests[nth - 1]!.endedAt!)
  expect(overlapping).toEqual([])
  const { issue: thread, ...end } = await house.end(issue)
  const notices = thread.comments.filter(({ body }) => body.includes('T-1 is paused by mara'))
  expect(faultsOf(expected, { ...end, issue: { ...thread, comments: thread.comments.filter((each) => !notices.includes(each)) } })).toEqual(
    [],
  )
})

test('[F198] a pause in the middle of a streamed answer ends its request without a failure, and the step is done again after the resume', async () => {
  const house = await openHouse({ world, scenario: rescript(fixFailingTest, { lines: { acknowledges: { delayMs: 4_000 } } }) })
  const { db } = house.ledger
  const requests = () => db.selectFrom('request').select(['step', 'outcome', 'error']).where('session', '=', 't1-1').orderBy('id').execute()
  const issue = await house.openIssue()
  await eventually('the model answers', async () => (await requests()).length === 1)

  await house.command('pause', 'ticket-1')
  await stopped(house)
  expect(await requests()).toEqual([{ step: 1, outcome: 'cut off', error: null }])
  expect(await db.selectFrom('alarm').select('body').execute()).toEqual([])

  await house.command('resume', 'ticket-1')
  await finished(house)
  const [cutOff, again, ...later] = await requests()
  expect([cutOff, again]).toEqual([
    { step: 1, outcome: 'cut off', error: null },
    { step: 1, outcome: 'answered', error: null },
  ])
  expect(later.every(({ outcome }) => outcome === 'answered')).toBe(true)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

test('[F200] killed while paused, it is still paused after a later start, and what people wrote meanwhile is shown as waiting', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest), child: true })
  const { db } = house.ledger
  await waiting(house)
  await house.command('pause', 'ticket-1')
  await eventually('the workflow holds', () => held(house))
  const before = await spent(house)

  await house.kill()
  for (const time of [1, 2, 3]) await say(house, 'mara', `The README is right, by the way (${time}).`)
  await house.operate('delivered') // to nobody
  await house.restart()
  await eventually('the messages were fetched', async () => (await overview(db)).tickets[0]!.unread === 3)
  await eventually('she is told once', async () => (await spent(house)).outbox === before.outbox + 1)

  expect(await held(house)).toBe(true)
  expect(await pauseRow(house)).toEqual({ held: true, generation: 1, actor: 'mara' })
  expect(await spent(house)).toEqual({ ...before, outbox: before.outbox + 1 })
})

test.runIf((await sandboxMode()) === 'bubblewrap')(
  '[F196, I1] code in the sandbox reaches neither the resume command nor the panel, Temporal or the database, and finds no credential: the pause stays',
  async () => {
    let command = ''
    const tries = { answer: () => ({ calls: [{ name: 'shell', input: { command, timeoutSeconds: 60 } }] }) }
    const house = await openHouse({ world, scenario: rescript(fixFailingTest, { lines: { 'plans and reproduces': tries } }) })
    const { db } = house.ledger
    const doors = [house.panelUrl, house.webhookUrl, house.databaseUrl, `tcp://${house.temporalAddress}`, house.github.url]
    command = [
      ...doors.map((url) => `(exec 3<>/dev/tcp/127.0.0.1/${new URL(url).port}) 2>/dev/null && echo "reached ${new URL(url).port}"`),
      `switchyard resume main; node ${COMMAND_LINE} resume main`,
      'env | grep -iE "database|temporal|token|secret|private" && echo "a credential"',
      'node --test',
    ].join('; ')
    await house.openIssue()
    await eventually('T-1 is started', () => db.selectFrom('ticket').select('id').executeTakeFirst())
    await house.command('pause', 'main')
    await eventually('the Ticket has tried', () =>
      db.selectFrom('toolCall').select('call').where('tool', '=', 'shell').where('endedAt', 'is not', null).executeTakeFirst(),
    )
    const results = await db.selectFrom('sessionLog').select('body').where('session', '=', 't1-1').where('kind', '=', 'result').execute()
    const output = results.map(({ body }) => body).find((body) => body?.includes('switchyard: command not found'))
    expect(output).toContain('Cannot find module')
    expect(output).not.toMatch(/reached|a credential/)
    const row = await db.selectFrom('pause').select(['held', 'generation']).where('scope', '=', 'main').executeTakeFirst()
    expect(row).toEqual({ held: true, generation: 1 })
  },
)

/** The Ticket has acknowledged and waits for a word. */
async function waiting(house: House): Promise<number> {
  const issue = await house.openIssue()
  await eventually('the receipt is posted', () =>
    house.ledger.db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await idle(house)
  return issue
}

function say(house: House, as: string, body: string): Promise<unknown> {
  return house.operate('comment', { repository, number: 1, as, body })
}

/** Everything that GitHub raised is posted and decided. */
async function decided({ ledger, operate }: House): Promise<void> {
  await operate('delivered')
  await eventually(
    'everything is decided',
    async () => !(await ledger.db.selectFrom('delivery').select('id').where('state', '=', 'pending').executeTakeFirst()),
  )
}

const held = async ({ client }: House): Promise<boolean> => (await client.workflow.getHandle('ticket-1').query(status)).held

async function running({ client }: House): Promise<number> {
  const { raw } = await client.workflow.getHandle('ticket-1').describe()
  return raw.pendingActivities?.length ?? 0
}

const stopped = (house: House) =>
  eventually('T-1 is held and nothing of it runs', async () => (await held(house)) && (await running(house)) === 0)

const pauseRow = ({ ledger }: House) =>
  ledger.db.selectFrom('pause').select(['held', 'generation', 'actor']).where('scope', '=', 'ticket-1').executeTakeFirstOrThrow()

/** What was asked of models, and what was said or done outside. */
async function spent({ ledger: { db } }: House): Promise<{ requests: number; outbox: number }> {
  const requests = await db.selectFrom('request').select('id').where('session', 'like', 't1-%').execute()
  const outbox = await db.selectFrom('outbox').select('id').execute()
  return { requests: requests.length, outbox: outbox.length }
}

async function agentsWords(house: House, issue: number): Promise<string[]> {
  const { issue: thread, agent } = await house.end(issue)
  return thread.comments.filter(({ author }) => author === agent).map(({ body }) => body)
}

const homeOfTicket = ({ home }: House): string => join(home, 'workspaces', 't-1', '@home')

function runsIn(house: House): number {
  const file = join(homeOfTicket(house), 'runs')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
}

const commandRuns = (house: House, nth: number) => eventually(`the command runs for the ${nth}. time`, async () => runsIn(house) === nth)
