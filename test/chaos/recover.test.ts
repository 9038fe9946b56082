/** Temporal's data are lost in the middle: `switchyard recover` starts every workflow again from the ledger (spec O5). */
import { WorkflowNotFoundError } from '@temporalio/client'
import { expect, test, vi } from 'vitest'
import { switchyard } from '../../cli/process.test-help.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { status } from '../../workflows/protocol.ts'
import { eventually, finished, type House, openHouse } from '../end-to-end/house.ts'
import { rescript } from '../end-to-end/scripts.ts'
import { freshDatabase, testFolder } from '../services.ts'

vi.setConfig({ testTimeout: 180_000 })

/** The model thinks after the acknowledgement, so that the loss falls in the middle of a step. */
const slow = rescript(fixFailingTest, { lines: { 'plans and reproduces': { delayMs: 4_000 } } })

test('[O5] [M4] Temporal is lost after the acknowledgement: recover, and it comes to the same end with nothing said or done twice', async () => {
  const house = await openHouse({ world, scenario: slow })
  const issue = await house.openIssue()
  await acknowledged(house)
  await house.loseTemporal()
  await expect(house.client.workflow.getHandle('ticket-1').describe()).rejects.toThrow(WorkflowNotFoundError)

  expect(await recover(house)).toEqual({
    code: 0,
    err: '',
    out: ['the main Session: started', 'T-1: started', '2 workflows started from the ledger.'],
  })
  const ids = await runIds(house)
  expect(await recover(house)).toEqual({
    code: 0,
    err: '',
    out: ['the main Session: running, untouched', 'T-1: running, untouched', 'Temporal has every workflow; nothing was changed.'],
  })
  expect(await runIds(house)).toEqual(ids)

  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  expect(await house.ledger.db.selectFrom('outbox').select('key').where('state', '!=', 'confirmed').execute()).toEqual([])
})

test('[O5] [I1] a paused Ticket stays paused over the loss, and comes to its end when it is resumed', async () => {
  const house = await openHouse({ world, scenario: slow })
  const { db } = house.ledger
  const issue = await house.openIssue()
  await acknowledged(house)
  await house.command('pause', 'ticket-1', 'wait for the release')
  await house.loseTemporal()

  const { out } = await recover(house)
  expect(out).toEqual(['the main Session: started', 'T-1: started; paused by mara, and stays so', '2 workflows started from the ledger.'])
  const ticket = house.client.workflow.getHandle('ticket-1')
  await eventually('the workflow knows of the hold', async () => (await ticket.query(status)).held)
  const requests = () => db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()
  const before = await requests()
  expect((await recover(house)).out).toContain('T-1: running, untouched; paused by mara, and stays so')
  await house.restart()
  await eventually('the workflow answers again', async () => (await ticket.query(status)).held)
  expect(await requests()).toEqual(before)

  await house.command('resume', 'ticket-1')
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
})

test('[O5] without a Temporal it is one sentence', async () => {
  const home = testFolder('recover-')
  const env = { DATABASE_URL: (await freshDatabase('recover')).appUrl, SWITCHYARD_HOME: home }
  const embedded = await switchyard(['recover'], env)
  expect(embedded).toMatchObject({ code: 1, out: '' })
  expect(embedded.err).toBe(
    `switchyard: no Temporal answers for ${home}: start it with npm start, or set TEMPORAL_ADDRESS, then run switchyard recover again\n`,
  )
  const configured = await switchyard(['recover'], { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' })
  expect(configured.code).toBe(1)
  expect(configured.err).toMatch(/^switchyard: TEMPORAL_ADDRESS: 127\.0\.0\.1:1 does not answer .+\n$/)
})

function acknowledged({ ledger }: House): Promise<unknown> {
  return eventually('the acknowledgement is posted', () =>
    ledger.db.selectFrom('outbox').select('id').where('kind', '=', 'comment').where('state', '=', 'confirmed').executeTakeFirst(),
  )
}

async function recover(house: House): Promise<{ code: number | null; err: string; out: string[] }> {
  const env = { DATABASE_URL: house.databaseUrl, TEMPORAL_ADDRESS: house.temporalAddress, TEMPORAL_NAMESPACE: house.namespace }
  const { code, err, out } = await switchyard(['recover'], env)
  return { code, err, out: out.trimEnd().split('\n') }
}

async function runIds({ client }: House): Promise<string[]> {
  const described = await Promise.all(['main', 'ticket-1'].map((id) => client.workflow.getHandle(id).describe()))
  return described.map(({ runId }) => runId)
}
