/** People's holds on running workflows: by a command's row, by a raw Temporal update, and over a restart (spec I). */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { WorkflowUpdateFailedError } from '@temporalio/client'
import { expect, test, vi } from 'vitest'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { type Command, close, pause, QUEUES, resume, status, wake } from '../../workflows/protocol.ts'
import { listed, record, runsOf } from './histories.ts'
import { eventually, finished, type House, idle, openHouse } from './house.ts'
import { longFirstTest, onlyAcknowledges, rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 180_000 })

const repository = world.repository.fullName

test('[I1] [I2] [M4] a pause cuts a running command off; messages wait; after a restart and resume it comes to the same end', async () => {
  const house = await openHouse({ world, scenario: rescript(fixFailingTest, { lines: { 'plans and reproduces': longFirstTest } }) })
  const { db } = house.ledger
  const issue = await house.openIssue()
  await eventually('the command runs', async () => existsSync(join(house.home, 'workspaces', 't-1', '@home', 'waited')))

  await house.command('pause', 'ticket-1')
  await eventually('what ran has ended', async () => (await held(house, 'ticket-1')) && (await running(house, 'ticket-1')) === 0)
  await eventually('ops people see it', async () => (await listed(house.client, 'SyPaused = true')).length === 1)
  const requests = await db.selectFrom('request').select('id').execute()

  await house.operate('comment', { repository, number: issue, as: 'mara', body: 'The README is right, by the way.' })
  await eventually('the follow-up is the waiting message of the Ticket', () => unread(house, 'ticket-1'))
  await house.restart()
  await house.client.workflow.getHandle('ticket-1').signal(wake)
  expect(await held(house, 'ticket-1')).toBe(true)
  expect(await running(house, 'ticket-1')).toBe(0)
  expect(await db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()).toHaveLength(
    requests.length - (await db.selectFrom('request').select('id').where('session', '=', 'main-1').execute()).length,
  )
  expect(await unread(house, 'ticket-1')).toBeTruthy()

  await house.command('resume', 'ticket-1')
  await finished(house)
  const end = await house.end(issue)
  const notices = end.issue.comments.filter(({ body }) => body.includes('T-1 is paused by mara'))
  expect(notices).toHaveLength(1)
  const comments = end.issue.comments.filter((comment) => !notices.includes(comment))
  expect(faultsOf(expected, { ...end, issue: { ...end.issue, comments } })).toEqual([])
  const cutOff = await db.selectFrom('toolCall').select('tool').where('outcome', '=', 'interrupted').execute()
  expect(cutOff).toEqual([{ tool: 'shell' }])
  const claims = await db.selectFrom('claim').select('state').orderBy('trigger').execute()
  expect(claims).toEqual([{ state: 'claimed' }, { state: 'claimed' }])
  await record(house, 'ticket-1', 'pause')
})

test('[I3] [I4] a raw update writes its row once, and a wrong one leaves no trace', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  await waiting(house)
  const ticket = house.client.workflow.getHandle('ticket-1')
  const commands = () => house.ledger.db.selectFrom('command').select(['kind', 'scope', 'actor', 'transport']).orderBy('id').execute()

  const { historyLength } = await ticket.describe()
  for (const wrong of [[], [{ by: 1, reason: 'no name' }], [{ by: 'ops', reason: 'x', mark: { scope: 'main', generation: 1 } }]]) {
    for (const update of [pause, resume, close]) {
      await expect(ticket.executeUpdate(update, { args: wrong as unknown as [Command] })).rejects.toThrow(WorkflowUpdateFailedError)
    }
  }
  expect((await ticket.describe()).historyLength).toBe(historyLength)
  expect(await commands()).toEqual([])

  const given: { args: [Command]; updateId: string } = { args: [{ by: 'ops', reason: 'to look at it' }], updateId: 'first' }
  const mark = { scope: 'ticket-1', generation: 1 }
  expect(await ticket.executeUpdate(pause, given)).toEqual(mark)
  expect(await ticket.executeUpdate(pause, given)).toEqual(mark)
  expect(await commands()).toEqual([{ kind: 'pause', scope: 'ticket-1', actor: 'ops', transport: 'temporal' }])
  expect(await held(house, 'ticket-1')).toBe(true)
  expect(await ticket.executeUpdate(resume, { args: [{ by: 'ops', reason: 'done' }] })).toEqual({ ...mark, generation: 2 })
  expect(await held(house, 'ticket-1')).toBe(false)
  expect(await commands()).toHaveLength(2)
})

test('[I4] [R3] a pause of everything reaches all; a held Ticket can be closed, and a late wake starts nothing', async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  await waiting(house)
  await house.command('pause', 'all')
  for (const workflow of ['main', 'ticket-1']) await eventually(`${workflow} is held`, () => held(house, workflow))
  await house.command('resume', 'all')
  for (const workflow of ['main', 'ticket-1']) await eventually(`${workflow} goes on`, async () => !(await held(house, workflow)))

  await house.command('pause', 'ticket-1')
  await eventually('the Ticket is held', () => held(house, 'ticket-1'))
  const ticket = house.client.workflow.getHandle('ticket-1')
  expect(await ticket.executeUpdate(close, { args: [{ by: 'ops', reason: 'not wanted' }] })).toEqual({ scope: 'ticket-1', generation: 1 })
  await ticket.result()
  expect(await db.selectFrom('ticket').select(['state', 'closedReason']).execute()).toEqual([{ state: 'closed', closedReason: 'stopped' }])

  const requests = await db.selectFrom('request').select('id').execute()
  const late = await house.client.workflow.signalWithStart('ticket', {
    workflowId: 'ticket-1',
    taskQueue: QUEUES.workflows,
    args: [{ ticket: 1 }],
    signal: wake,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  })
  await late.result()
  expect(await db.selectFrom('request').select('id').execute()).toHaveLength(requests.length)
  const [, second] = await runsOf(house, 'ticket-1')
  expect(second!.filter(({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED')).toHaveLength(1) // it looked, and that was all
})

/** The Ticket has acknowledged and waits for a word. */
async function waiting(house: House): Promise<void> {
  await house.openIssue()
  await eventually('the receipt is posted', () =>
    house.ledger.db.selectFrom('outbox').select('id').where('state', '=', 'confirmed').executeTakeFirst(),
  )
  await idle(house)
  // the last answer stands in the ledger before Temporal has heard of it
  await eventually('its workflow has nothing to do', async () => {
    const { raw } = await house.client.workflow.getHandle('ticket-1').describe()
    return !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length === 0
  })
}

const held = async ({ client }: House, workflow: string): Promise<boolean> => (await client.workflow.getHandle(workflow).query(status)).held

async function running({ client }: House, workflow: string): Promise<number> {
  const { raw } = await client.workflow.getHandle(workflow).describe()
  return raw.pendingActivities?.length ?? 0
}

function unread({ ledger }: House, address: string): Promise<object | undefined> {
  return ledger.db
    .selectFrom('inbox')
    .select('id')
    .where('address', '=', address)
    .where('kind', '=', 'message')
    .where('session', 'is', null)
    .where('dropped', 'is', null)
    .executeTakeFirst()
}
