/** Server, worker and dispatcher as processes of their own (spec O8): what each needs, how each ends, and one Ticket through all three. */
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { switchyard } from '../../cli/process.test-help.ts'
import { connect } from '../../ledger/database.ts'
import { expected, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { openIssue, operateOver, pointHook, readEnd, setStage } from '../../rehearsal/stage.ts'
import { freePort } from '../../worker/embedded/process.ts'
import { startOutside } from '../../worker/outside.ts'
import { PARTS, type Part } from '../../worker/program.ts'
import { eventually } from '../end-to-end/house.ts'
import { gateBefore, openGate, through } from '../gate.ts'
import { freshDatabase, freshNamespace, testFolder } from '../services.ts'
import { startDoorkeeper } from './doorkeeper.ts'
import { environment, spawnPart } from './processes.ts'

vi.setConfig({ testTimeout: 180_000 })

const SECRET = 'a-secret-for-webhooks'

test('[O8] an issue becomes a pull request through three processes; SIGTERM ends each with 0', async () => {
  const { folder, outside, databaseUrl, env, webhookPort } = await stage()
  const operate = operateOver(outside.github.url)
  await pointHook(operate, world, `http://127.0.0.1:${webhookPort}`, SECRET)
  const children = PARTS.map((part) => ({ part, child: spawnPart(part, env, folder) }))
  onTestFinished(() => {
    for (const { child } of children) child.kill('SIGKILL')
  })
  for (const part of PARTS) await ready(folder, part)

  const ledger = connect(databaseUrl, { size: 2, onLost: () => undefined })
  onTestFinished(ledger.close)
  const { number } = await openIssue(operate, world)
  const report = await eventually('the Ticket reports done', () =>
    ledger.db
      .selectFrom('report')
      .innerJoin('pullRequest', 'pullRequest.id', 'report.pullRequest')
      .select(['report.status', 'pullRequest.number as pullRequest'])
      .where('report.status', '=', 'done')
      .executeTakeFirst(),
  )
  expect(faultsOf(expected, await readEnd(operate, world, outside.github.apiUrl, number, [report]))).toEqual([])

  for (const { part, child } of children.reverse()) {
    child.kill('SIGTERM')
    expect([part, ...(await once(child, 'exit'))]).toEqual([part, 0, null])
  }
})

test('[O8] a process of its own says in one sentence what it lacks', async () => {
  const { code, err } = await switchyard(['worker'], { SWITCHYARD_HOME: testFolder('process-') })
  expect(err).toBe(
    'switchyard: switchyard worker runs beside services of your own: set DATABASE_URL and TEMPORAL_ADDRESS and MODEL_PROVIDER, or start everything with npm start\n',
  )
  expect(code).toBe(1)
  const server = await switchyard(['server'], { DATABASE_URL: 'postgres://u@127.0.0.1:1/x', TEMPORAL_ADDRESS: '127.0.0.1:1' })
  expect(server).toMatchObject({ code: 1, out: '' })
  expect(server.err).toContain('set GITHUB_APP_ID or GITHUB_TOKEN, or start')
  const dispatcher = await switchyard(['dispatcher'], { DATABASE_URL: 'postgres://u@127.0.0.1:1/x', TEMPORAL_ADDRESS: '127.0.0.1:1' })
  expect(dispatcher.code).toBe(1)
  expect(dispatcher.err).toMatch(/^switchyard: TEMPORAL_ADDRESS: 127\.0\.0\.1:1 does not answer .+\n$/)
})

test('[F337] [M4] a worker and a dispatcher whose Temporal does not answer, or accepts and says nothing, end with an error and never say that they are ready', async () => {
  const { env } = await stage()
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const mute = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const ended = await Promise.all(
    (['worker', 'dispatcher'] as const).flatMap((part) =>
      ['127.0.0.1:1', mute].map(async (address) => ({ address, ...(await switchyard([part], { ...env, TEMPORAL_ADDRESS: address })) })),
    ),
  )
  for (const { address, code, err } of ended) {
    expect(err).toMatch(new RegExp(`^switchyard: TEMPORAL_ADDRESS: ${address} does not answer .+\\n$`))
    expect(code).toBe(1)
  }
})

test.each(['worker', 'dispatcher'] as const)(
  '[O8] a %s of its own answers for its health, and says which service it lacks while that hangs',
  async (part) => {
    const { folder, env, ledgerGate, temporalGate } = await stage()
    const child = spawnPart(part, env, folder)
    onTestFinished(() => void child.kill('SIGKILL'))
    await ready(folder, part)
    const health = /health (\S+)/.exec(said(folder, part))![1]!
    const answers = (status: number, reason: string) =>
      eventually(`${status} ${reason}`, async () => {
        const answer = await fetch(health)
        return answer.status === status && (await answer.text()).includes(reason)
      })

    await answers(200, 'ok')
    for (const [gate, reason] of [
      [ledgerGate, 'the ledger: '],
      [temporalGate, 'Temporal: '],
    ] as const) {
      gate.hang()
      await answers(503, reason)
      gate.open()
      await answers(200, 'ok')
    }
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  },
)

test('[O8] a worker that Temporal gives no more work ends with 1 and says why, so that it is started again', async () => {
  const { folder, env, temporal } = await stage()
  const door = await startDoorkeeper(temporal.address)
  onTestFinished(door.close)
  const child = spawnPart('worker', { ...env, TEMPORAL_ADDRESS: door.address }, folder)
  onTestFinished(() => void child.kill('SIGKILL'))
  await ready(folder, 'worker')
  door.refuse()
  expect(await once(child, 'exit')).toEqual([1, null]) // Temporal's library tries for a minute
  expect(said(folder, 'worker')).toMatch(/^switchyard: the worker ends: its workers gave up: revoked$/m)
})

async function stage() {
  const folder = testFolder('processes-')
  mkdirSync(join(folder, 'home'))
  const outside = await startOutside(join(folder, 'rehearsal'))
  onTestFinished(outside.stop)
  const [{ appUrl }, temporal] = [await freshDatabase('processes'), await freshNamespace('processes')]
  const github = await setStage(operateOver(outside.github.url), world, outside.github, SECRET)
  const webhookPort = await freePort()
  const ledgerGate = await gateBefore(appUrl)
  onTestFinished(ledgerGate.close)
  const temporalGate = await openGate(temporal.address)
  onTestFinished(temporalGate.close)
  const env = await environment({
    home: join(folder, 'home'),
    databaseUrl: through(ledgerGate, appUrl),
    temporal: { ...temporal, address: temporalGate.address },
    github,
    modelUrl: outside.modelUrl,
    webhookPort,
  })
  return { folder, outside, databaseUrl: appUrl, temporal, webhookPort, ledgerGate, temporalGate, env }
}

const said = (folder: string, part: Part): string => readFileSync(join(folder, `${part}.log`), 'utf8')

function ready(folder: string, part: Part): Promise<true> {
  return eventually(`the ${part} says that it is ready`, async () => said(folder, part).includes('is ready'))
}
