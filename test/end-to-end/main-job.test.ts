/** The main job, and what must be true of every place where something of it is kept. */
import { expect, test, vi } from 'vitest'
import { DEFAULT_OPENING } from '../../core/message/opening.ts'
import { edit, expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf, filesOf } from '../../rehearsal/scenarios/world.ts'
import { listed, record, runsOf, summaryOf, wordsOf } from './histories.ts'
import { finished, type House, openHouse, SECRET } from './house.ts'
import { rescript } from './scripts.ts'

vi.setConfig({ testTimeout: 120_000 })

const MODEL_KEY = 'a key for the model server'
const CANARY = 'a credential of the host'

/** The first command also shows all that a curious command can see (F353). */
const curious = rescript(fixFailingTest, {
  lines: {
    'plans and reproduces': {
      answer: {
        calls: [{ name: 'shell', input: { command: 'env; git config --list --show-origin; cat .git/config; ls -A ~; node --test' } }],
      },
    },
  },
})

test('[H2] [H5] [M7] a GitHub issue becomes a pull request that is correct and reported', async () => {
  process.env.SWITCHYARD_TEST_CANARY = CANARY
  const house = await openHouse({ world, scenario: curious, modelKey: MODEL_KEY, environment: { MODEL_API_KEY: MODEL_KEY } })
  const issue = await house.openIssue()
  await finished(house)

  const end = await house.end(issue)
  expect(faultsOf(expected, end)).toEqual([])
  expect(house.model.unexpected()).toEqual([])
  expect(house.github.contractFaults).toEqual([])
  expect(house.github.unserved).toEqual([])

  await acknowledgedBeforeWork(house)
  const words = [...end.issue.comments, ...end.pullRequests].filter(({ author }) => author === end.agent).map(({ body }) => body)
  expect(words).toHaveLength(3)
  for (const body of words) {
    expect(body.startsWith(DEFAULT_OPENING)).toBe(true)
    expect(body.split(DEFAULT_OPENING)).toHaveLength(2)
  }
  await committedByTheAgent(house)
  await executorsReadTheRepositorysRules(house)
  await historiesAreSmallAndSilent(house)
  await visibleToOps(house)
  await noSecretAnywhere(house)
  await record(house, 'main', 'main-job')
  await record(house, 'ticket-1', 'main-job')
})

async function acknowledgedBeforeWork({ ledger }: House): Promise<void> {
  const receipts = await ledger.db.selectFrom('outbox').select('settledAt').where('key', 'like', '%acknowledge%').execute()
  expect(receipts).toHaveLength(1)
  const { first } = await ledger.db
    .selectFrom('toolCall')
    .select((of) => of.fn.min('startedAt').as('first'))
    .where('nature', 'in', ['work', 'once', 'effect'])
    .executeTakeFirstOrThrow()
  expect(receipts[0]!.settledAt!.getTime()).toBeLessThanOrEqual(first!.getTime())
}

/** [F300] by the account's id, which is another one than the App's. */
async function committedByTheAgent(house: House): Promise<void> {
  const state = await house.operate('state')
  const account = state.accounts.find(({ login }: { login: string }) => login === `${world.app.slug}[bot]`)
  const { sha } = await house.ledger.db.selectFrom('push').select('sha').executeTakeFirstOrThrow()
  const token = await house.operate('createToken', { login: 'mara' })
  const response = await fetch(`${house.github.apiUrl}/repos/${world.repository.fullName}/commits/${sha}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { commit } = (await response.json()) as { commit: { author: { email: string }; committer: { email: string } } }
  const address = `${account.id}+${world.app.slug}[bot]@users.noreply.${new URL(house.github.url).hostname}`
  expect([commit.author.email, commit.committer.email]).toEqual([address, address])
}

/** [C2] [N12] an Executor reads AGENTS.md, the main Session does not. */
async function executorsReadTheRepositorysRules({ ledger }: House): Promise<void> {
  const rules = (await filesOf(world.repository.files))['AGENTS.md']!.trim()
  const requests = await ledger.db.selectFrom('request').select(['session', 'sections']).execute()
  for (const { session, sections } of requests) {
    const shas = (sections as unknown as { name: string; sha: string }[]).map(({ sha }) => Buffer.from(sha, 'hex'))
    const texts = await ledger.db.selectFrom('text').select('body').where('sha', 'in', shas).execute()
    expect(texts.length).toBe(new Set(shas.map(String)).size)
    expect({ session, reads: texts.some(({ body }) => body!.includes(rules)) }).toEqual({ session, reads: session !== 'main-1' })
  }
}

/** [M7] ids, counters and outcomes only, and so little of them that a long life fits. */
async function historiesAreSmallAndSilent(house: House): Promise<void> {
  for (const workflow of ['main', 'ticket-1']) {
    const [events] = await runsOf(house, workflow)
    const words = wordsOf(events!)
    expect(words).toContain('"session"')
    for (const said of ['catalogue', 'pageCount', 'pages.js', 'mara', 'acme', 'Math.', 'node --test']) expect(words).not.toContain(said)
    for (const event of events!) expect(JSON.stringify(event).length).toBeLessThan(16 * 1024)
  }
  const calls = await house.ledger.db
    .selectFrom('toolCall')
    .select(({ fn }) => ['step', fn.countAll<number>().as('count')])
    .where('session', '=', 't1-1')
    .groupBy('step')
    .execute()
  const [events] = await runsOf(house, 'ticket-1')
  const starts = events!.flatMap((event, index) => (summaryOf(event).startsWith('model step') ? [index] : []))
  const sizes = starts.slice(0, -1).map((start, nth) => starts[nth + 1]! - start)
  const withOneTool = sizes.filter((_, nth) => Number(calls.find(({ step }) => step === nth + 1)?.count) === 1)
  expect(withOneTool.length).toBeGreaterThan(5)
  expect(Math.max(...withOneTool)).toBeLessThanOrEqual(12)
  const { historySize } = await house.client.workflow.getHandle('ticket-1').describe()
  expect(historySize! / starts.length).toBeLessThan(2_500)
}

/** What ops people find without knowing the ledger. */
async function visibleToOps(house: House): Promise<void> {
  const [found, ...more] = await listed(house.client, 'SyTicket = "T-1"')
  expect(more).toEqual([])
  const { key } = await house.ledger.db
    .selectFrom('thread')
    .innerJoin('subscription', 'subscription.thread', 'thread.id')
    .select('thread.key')
    .orderBy('thread.id')
    .executeTakeFirstOrThrow()
  expect(found!.workflowId).toBe('ticket-1')
  expect(found!.searchAttributes).toMatchObject({ SyRole: ['executor'], SyState: ['waiting'], SyTicket: ['T-1'], SyPaused: [false] })
  expect(found!.searchAttributes.SyThreads).toContain(key)
  const main = await listed(house.client, 'SyRole = "main"')
  expect(main.map(({ workflowId }) => workflowId)).toEqual(['main'])
  const words = wordsOf((await runsOf(house, 'ticket-1'))[0]!)
  for (const summary of ['"model step 1"', '"shell"', '"github_pull_request"', '"Ticket T-1"']) expect(words).toContain(summary)
}

/** [M8] the host's secrets, looked for in every row, log line, history and in what the sandbox could see. */
async function noSecretAnywhere(house: House): Promise<void> {
  const state = await house.operate('state')
  const tokens: string[] = state.tokens
    .filter(({ installation }: { installation: unknown }) => installation)
    .map(({ token }: { token: string }) => token)
  const keys: string[] = state.apps.map(({ privateKey }: { privateKey: string }) => privateKey.split('\n')[1]!)
  const secrets = [SECRET, MODEL_KEY, CANARY, ...tokens, ...keys]
  expect(tokens.length).toBeGreaterThan(0)

  const tables = await sqlRows<{ name: string }>(
    house,
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const places: Record<string, string> = { log: house.logged() }
  for (const { name } of tables) places[name] = JSON.stringify(await sqlRows(house, `select * from "${name}"`))
  for (const workflow of ['main', 'ticket-1']) places[workflow] = (await runsOf(house, workflow)).map(wordsOf).join('\n')
  expect(places.session_log).toContain('HOME=')
  expect(places.session_log).toContain('user.email=')
  expect(places.session_log).toContain(edit.new)
  const found = Object.entries(places).flatMap(([place, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => ({ place, secret })),
  )
  expect(found).toEqual([])
}

async function sqlRows<Row>({ ledger }: House, query: string): Promise<Row[]> {
  const { CompiledQuery } = await import('kysely')
  return (await ledger.db.executeQuery(CompiledQuery.raw(query))).rows as Row[]
}
