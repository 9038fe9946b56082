import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { raiseAlarm } from '../ledger/alarms.ts'
import { confirmCommand } from '../ledger/commands.ts'
import { transaction } from '../ledger/database.ts'
import { hear, openLedger } from '../ledger/fixture.ts'
import { appendLog } from '../ledger/session-log.ts'
import { startTicket } from '../ledger/tickets.ts'
import { freshNamespace, testFolder } from '../test/services.ts'
import { createDatabase, dropDatabase } from '../worker/embedded/postgres-roles.ts'
import { ensureNamespace } from '../worker/embedded/temporal-namespace.ts'
import { type Ended, switchyard } from './process.test-help.ts'

let ledger: Awaited<ReturnType<typeof openLedger>>
let env: Record<string, string>
beforeAll(async () => {
  ledger = await openLedger()
  env = { DATABASE_URL: ledger.appUrl, SWITCHYARD_HOME: testFolder('cli-') }
})
afterAll(() => ledger.drop())

async function started(number: number): Promise<number> {
  const { trigger } = await hear(ledger.db, { number })
  const { id: candidate } = await ledger.db.selectFrom('candidate').select('id').where('trigger', '=', trigger).executeTakeFirstOrThrow()
  const result = await transaction(ledger.db, (tx) => startTicket(tx, { candidate, title: `Fix ${number}`, note: '', decidedBy: 'main-1' }))
  if ('refused' in result) throw new Error(result.refused)
  return result.ticket
}

/** Runs a command beside what the dispatcher does once the workflow has answered. */
async function heard(args: string[]): Promise<Ended> {
  const { last } = await ledger.db
    .selectFrom('command')
    .select((of) => of.fn.max('id').as('last'))
    .executeTakeFirstOrThrow()
  let running = true
  const ended = switchyard(args, env).finally(() => {
    running = false
  })
  while (running) {
    const row = await ledger.db
      .selectFrom('command')
      .select('id')
      .where('id', '>', last ?? 0)
      .executeTakeFirst()
    if (row) await confirmCommand(ledger.db, row.id)
    await sleep(20)
  }
  return ended
}

const oneSentence = ({ err }: Ended) => {
  expect(err).toMatch(/^switchyard: .+\n$/)
  expect(err).not.toContain('    at ')
}

describe('usage', () => {
  test('help names every command, needs nothing, and ends with 0', async () => {
    const { code, out } = await switchyard(['--help'], { DATABASE_URL: 'not even an address' })
    expect(code).toBe(0)
    const commands = [
      'start',
      'status',
      'pause',
      'resume',
      'close',
      'retry',
      'log',
      'requests',
      'request',
      'record',
      'replay',
      'alarms',
      'migrate',
      'doctor',
      'completion',
    ]
    for (const name of commands) expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
  })

  test.each([
    [['sttus'], /unknown command 'sttus'\n\(Did you mean status\?\)/],
    [['status', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [['pause'], /missing required argument 'scope'/],
    [['completion', 'ksh'], /Allowed choices are bash, zsh, fish/],
    [[], /Usage: switchyard/],
    [['pause', 'T-0'], /"T-0" names nothing that can be held: a Ticket \(T-7, ticket-7 or 7\), main .* or all/],
    [['status', 'everything'], /names nothing that can be held/],
    [['retry', 'all'], /only one thing at a time can be tried again/],
  ])('wrong usage ends with 2 and says what is right: %j', async (args, expected) => {
    const { code, err } = await switchyard(args, env)
    expect(err).toMatch(expected)
    expect(err).not.toContain('    at ')
    expect(code).toBe(2)
  })

  test('every fault of the configuration is listed at once', async () => {
    const { code, err } = await switchyard(['status'], { SWITCHYARD_PORT: '80a', GITHUB_APP_ID: 'x' })
    expect(err).toBe(
      'switchyard: 2 problems in the configuration\n' +
        '  SWITCHYARD_PORT  "80a" is not a port: a number from 1 to 65535\n' +
        '  GITHUB_APP_ID    not an app id: digits only\n',
    )
    expect(code).toBe(1)
  })

  test.each([
    ['nobody listens', 'postgres://u:geheim@127.0.0.1:1/x', /no database answers at 127\.0\.0\.1:1: start it, or correct DATABASE_URL/],
    ['no such host', 'postgres://u:geheim@nowhere.invalid/x', /the host of the database is not known/],
  ])('a database that does not answer is one sentence without its password: %s', async (_, url, expected) => {
    const ended = await switchyard(['status'], { DATABASE_URL: url })
    expect(ended.code).toBe(1)
    expect(ended.err).toMatch(expected)
    expect(ended.err).not.toContain('geheim')
    oneSentence(ended)
  })

  test('without a database it says how to get one', async () => {
    const home = testFolder('cli-empty-')
    const ended = await switchyard(['status'], { SWITCHYARD_HOME: home })
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toBe(
      `switchyard: Switchyard is not running here (no database answers for ${home}). Start it with npm start, or set DATABASE_URL.\n`,
    )
  })
})

describe('commands', () => {
  test('[I4, O7] a pause holds, is heard, and is a row with actor, transport and reason', async () => {
    const ticket = await started(101)
    const { code, out } = await heard(['pause', `T-${ticket}`, '--as', 'mara', '--reason', 'look first'])
    expect(out).toBe(`T-${ticket} is paused. This holds; the workflow has heard it.\n`)
    expect(code).toBe(0)
    const pause = ledger.db.selectFrom('pause').selectAll().where('scope', '=', `ticket-${ticket}`)
    expect(await pause.executeTakeFirst()).toMatchObject({ held: true, actor: 'mara', reason: 'look first' })
    const row = await ledger.db.selectFrom('command').selectAll().where('scope', '=', `ticket-${ticket}`).executeTakeFirst()
    expect(row).toMatchObject({ kind: 'pause', actor: 'mara', transport: 'cli', reason: 'look first' })
  })

  test('[I3] with Temporal away the row holds all the same', async () => {
    const ticket = await started(102)
    const { code, out } = await switchyard(['pause', `${ticket}`], env)
    expect(out).toBe(`T-${ticket} is paused. This holds; the workflow will hear it when Temporal is reachable.\n`)
    expect(code).toBe(0)
  })

  test('[O7] a second pause or resume says who did it, and is no error', async () => {
    const ticket = await started(103)
    await heard(['pause', `T-${ticket}`, '--as', 'mara'])
    const again = await switchyard(['pause', `t-${ticket}`, '--as', 'lin'], env)
    expect(again.out).toMatch(new RegExp(`^T-${ticket} is paused already: paused by mara at 20`))
    await heard(['resume', `T-${ticket}`, '--as', 'mara'])
    const second = await switchyard(['resume', `ticket-${ticket}`, '--as', 'lin'], env)
    expect(second.out).toMatch(new RegExp(`^T-${ticket} is not held: resumed by mara at 20`))
    expect([again.code, second.code]).toEqual([0, 0])
  })

  test('[I4] resuming a Ticket while everything is paused says that it stays held', async () => {
    const ticket = await started(104)
    expect((await heard(['pause', 'all', '--as', 'mara', '--reason', 'freeze'])).out).toMatch(/^Everything is paused\./)
    await heard(['pause', `T-${ticket}`])
    const { out } = await heard(['resume', `T-${ticket}`])
    await heard(['resume', 'all'])
    expect(out).toBe(
      `T-${ticket} is resumed. This holds; the workflow has heard it. But everything is paused by mara (freeze), so T-${ticket} stays held until switchyard resume all.\n`,
    )
  })

  test('a close ends the Ticket; what cannot be closed is refused with 1', async () => {
    const ticket = await started(105)
    expect((await heard(['close', `T-${ticket}`])).out).toMatch(new RegExp(`^T-${ticket} is closed\\.`))
    const refused = await Promise.all(
      [
        ['close', `T-${ticket}`],
        ['close', 'T-999999'],
        ['close', 'main'],
        ['pause', `T-${ticket}`],
      ].map((args) => switchyard(args, env)),
    )
    expect(refused.map(({ code, err }) => [code, err])).toEqual([
      [1, `switchyard: T-${ticket} is closed already (stopped)\n`],
      [1, 'switchyard: there is no Ticket T-999999\n'],
      [1, 'switchyard: only a Ticket can be closed, not main\n'],
      [1, `switchyard: T-${ticket} is closed (stopped); there is nothing to pause\n`],
    ])
  })

  test('[R1] a retry wakes, and says when a pause keeps it from trying', async () => {
    const ticket = await started(106)
    expect((await heard(['retry', `T-${ticket}`])).out).toBe(`T-${ticket} is asked to try again. It is on its way.\n`)
    await heard(['pause', `T-${ticket}`, '--as', 'mara', '--reason', 'wait'])
    const { out } = await heard(['retry', `T-${ticket}`])
    expect(out).toContain(`But T-${ticket} is paused by mara (wait): it tries after switchyard resume T-${ticket}.`)
  })
})

describe('status, log and alarms', () => {
  test('[I2] status is one screen, and one JSON document with the same', async () => {
    const ticket = await started(110)
    await heard(['pause', `T-${ticket}`, '--as', 'mara'])
    const { code, out } = await switchyard(['status'], env)
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`T-${ticket} +working, paused +\\d+ s +acme/widgets#110 +Fix 110 · 1 message waits`))
    const document = JSON.parse((await switchyard(['status', '--json'], env)).out)
    const keys = ['held', 'main', 'tickets', 'closed', 'candidates', 'alarms', 'deliveries', 'ignored', 'unheard']
    expect(Object.keys(document)).toEqual(keys)
    expect(document.held).toContainEqual(expect.objectContaining({ scope: `ticket-${ticket}`, by: 'mara' }))
  })

  test('status of a Ticket tells its story; in JSON too, with what it waits for', async () => {
    const ticket = await started(111)
    const { code, out } = await switchyard(['status', `${ticket}`], env)
    expect(code).toBe(0)
    expect(out).toMatch(/asked +by lin in acme\/widgets#111/)
    expect(out).toMatch(/waits for +its next step, in which it reads 1 new item/)
    const document = JSON.parse((await switchyard(['status', `T-${ticket}`, '--json'], env)).out)
    expect(Object.keys(document)).toEqual(['ticket', 'title', 'tokens', 'sessions', 'entries', 'now'])
    expect(document).toMatchObject({ ticket, now: { state: 'working', waitsFor: 'its next step, in which it reads 1 new item' } })
    const unknown = await switchyard(['status', 'T-999999'], env)
    expect(unknown).toEqual({ code: 1, out: '', err: 'switchyard: there is no Ticket T-999999. Those there are: switchyard status\n' })
  })

  test('log has every word, whole, and nothing that steers the terminal', async () => {
    const ticket = await started(112)
    const session = `t${ticket}-1`
    const long = 'word '.repeat(20_000)
    await transaction(ledger.db, (tx) =>
      appendLog(tx, { session, step: 1 }, [
        { kind: 'input', call: null, body: { text: `first\n\tsecond \u001b[2J\n${long}end` } },
        {
          kind: 'answer',
          call: null,
          body: { text: 'I run it.', reasoning: 'Hm.', calls: [{ id: 'a', name: 'shell', input: { command: 'ls' } }] },
        },
      ]),
    )
    const { code, out } = await switchyard(['log', `T-${ticket}`], env)
    expect(code).toBe(0)
    expect(out).toContain(`first\n\tsecond \\u{1b}[2J\n${long}end\n`)
    expect(out).toMatch(
      /── 2 · answer · step 1 · .*\n\(thinking\)\nHm\.\n\(end of thinking\)\nI run it\.\n→ shell · a\n\{\n {2}"command": "ls"\n\}/,
    )
    const document = JSON.parse((await switchyard(['log', session, '--json'], env)).out)
    expect(document).toMatchObject({ session, role: 'executor', ticket, entries: [{ kind: 'input' }, { kind: 'answer' }] })
    expect(document.entries[0].body.text).toBe(`first\n\tsecond \u001b[2J\n${long}end`)
    expect(await switchyard(['log', session], env, { closeOutput: true })).toMatchObject({ code: 0, err: '' })
  })

  test('log of an unknown Session names those that are known', async () => {
    const ticket = await started(113)
    const ended = await Promise.all(
      [`t${ticket}-9`, 'main-9', 't999999-1', 'T-999999', 'nonsense', 'main'].map((session) => switchyard(['log', session], env)),
    )
    expect(ended.map(({ code, err }) => [code, err])).toEqual([
      [1, `switchyard: there is no Session t${ticket}-9. Those there are: t${ticket}-1\n`],
      [1, 'switchyard: there is no Session main-9. Those there are: main-1\n'],
      [1, 'switchyard: there is no Ticket T-999999. Those there are: switchyard status\n'],
      [1, 'switchyard: there is no Ticket T-999999. Those there are: switchyard status\n'],
      [1, 'switchyard: "nonsense" names no Session: a Session (t7-1, main-1), a Ticket for its newest one (T-7), or main\n'],
      [0, ''],
    ])
    expect(ended.at(-1)?.out).toMatch(/^main-1 · main · since /)
  })

  test('[O1] alarms shows what is open', async () => {
    expect((await switchyard(['alarms'], env)).out).toBe('No alarm is open. Those that are over: switchyard alarms --all\n')
    await raiseAlarm(ledger.db, 'provider', 'main', 'the key is refused')
    expect((await switchyard(['alarms'], env)).out).toMatch(/^provider: main\n {2}since {2}.* ago\)\n {2}what {3}the key is refused\n$/)
    const { alarms } = JSON.parse((await switchyard(['alarms', '--json'], env)).out)
    expect(alarms).toMatchObject([{ kind: 'provider', subject: 'main', body: 'the key is refused', ended: null }])
  })
})

describe('migrate and doctor', () => {
  test('migrate runs what is missing, once, and gives the app its few rights; before that every command says what to do', async () => {
    const server = inject('postgres')
    const name = `cli_empty_${process.pid}`
    const { ownerUrl, appUrl } = await createDatabase(server, name)
    const given = { DATABASE_URL: appUrl, DATABASE_ADMIN_URL: ownerUrl, SWITCHYARD_HOME: env.SWITCHYARD_HOME! }
    const before = await switchyard(['status'], given)
    expect(before).toMatchObject({
      code: 1,
      err: expect.stringMatching(/lacks what this version of Switchyard needs: run switchyard migrate\n$/),
    })
    expect((await switchyard(['doctor'], given)).out).toMatch(/^Postgres +problem +.* lacks \d+ migrations? \(0001_ledger/m)
    expect((await switchyard(['migrate'], given)).out).toMatch(/ran in the database .*: 0001_ledger.*\nThe role .* may read and add/)
    expect((await switchyard(['migrate'], given)).out).toMatch(/^The database .* is up to date\.\n/)
    expect((await switchyard(['status'], given)).code).toBe(0)
    await dropDatabase(server, name)
  })

  test('doctor: every service is well', async () => {
    const { address, namespace } = await freshNamespace('doctor')
    const { code, out } = await switchyard(['doctor'], { ...env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace })
    expect(out).toMatch(/^Node +ok +24\./m)
    expect(out).toMatch(/^Postgres +ok +.*, version \d+\.\d+, migrated$/m)
    expect(out).toMatch(new RegExp(`^Temporal +ok +${address}, namespace ${namespace}, search attributes registered$`, 'm'))
    expect(out).toMatch(/^GitHub +off/m)
    expect(out).toMatch(/^model +off/m)
    expect(out).toMatch(/\nNothing is wrong\.\n$/)
    expect(code).toBe(0)
  })

  test('doctor: each thing that is wrong is named with what to do, and makes 1', async () => {
    const { address } = inject('temporal')
    const { code, out } = await switchyard(['doctor'], {
      ...env,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: 'nowhere',
      SWITCHYARD_HOST: '127.0.0.1',
      SWITCHYARD_PORT: new URL(ledger.appUrl).port,
      SANDBOX: 'off',
    })
    expect(out).toMatch(/^Temporal +problem +.* has no namespace nowhere\n +→ .*temporal operator namespace create\s+nowhere/m)
    expect(out).toMatch(/^sandbox +off +SANDBOX=off/m)
    expect(out).toMatch(/^ports +problem +.* is in use by another program\n +→ end that, or set SWITCHYARD_PORT to another port$/m)
    expect(out).toMatch(/\n2 things are wrong\.\n$/)
    expect(code).toBe(1)
  })

  test('doctor: search attributes that a namespace lacks are named, and are not registered by looking', async () => {
    const { address } = inject('temporal')
    const namespace = `doctor_bare_${process.pid}`
    const connection = await Connection.connect({ address })
    await ensureNamespace(connection, namespace, { SyRole: 'Keyword', SyState: 'Bool' })
    const look = () => switchyard(['doctor'], { ...env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, SANDBOX: 'off' })
    const [first, second] = [await look(), await look()]
    await connection.close()
    for (const { code, out } of [first, second]) {
      expect(out.replace(/\s+/g, ' ')).toContain('SyState, SyTicket, SyPaused, SyWaitingSince, SyThreads are missing or of another type')
      expect(out.replace(/\s+/g, ' ')).toContain(`search-attribute create --namespace ${namespace} --name SyPaused --type Bool`)
      expect(code).toBe(1)
    }
  })

  test('[M8] doctor --config shows what is in effect and whence, and of a secret only that it is set', async () => {
    const secrets = {
      GITHUB_TOKEN: 'ghp_secret',
      GITHUB_WEBHOOK_SECRET: 'hook_secret',
      MODEL_API_KEY: 'sk_secret',
      MODEL_BASE_URL: 'https://u:url_secret@models.example/v1?key=query_secret',
    }
    const { code, out } = await switchyard(['doctor', '--config'], {
      ...env,
      ...secrets,
      MODEL_PROVIDER: 'openai-compatible',
      MODEL_NAME: 'kimi',
    })
    expect(code).toBe(0)
    expect(out).not.toMatch(/secret/)
    expect(out).not.toContain(new URL(ledger.appUrl).password)
    for (const name of ['DATABASE_URL', 'GITHUB_TOKEN', 'GITHUB_WEBHOOK_SECRET', 'MODEL_API_KEY']) {
      expect(out).toMatch(new RegExp(`^${name} +environment +set$`, 'm'))
    }
    expect(out).toMatch(/^MODEL_BASE_URL +environment +https:\/\/…@models\.example\/v1\?…$/m)
    expect(out).toMatch(/^MODEL_NAME +environment +kimi$/m)
    expect(out).toMatch(/^TEMPORAL_NAMESPACE +default +default$/m)
    expect(out).toMatch(/^worker\.rollAfter +default +1200$/m)
  })
})
