/** The team's configuration while agents run: what a save makes of the next request, and what an assembly that fails does to a Ticket. */
import { expect, test } from 'vitest'
import { type ConfigurationDocument, EMPTY } from '../../core/config/document.ts'
import { pastRequests } from '../../ledger/past-requests.ts'
import { headVersion, saveVersion } from '../../ledger/versions.ts'
import { expected, fixFailingTest, world } from '../../rehearsal/scenarios/fix-failing-test.ts'
import { faultsOf } from '../../rehearsal/scenarios/world.ts'
import { eventually, finished, openHouse } from './house.ts'
import { onlyAcknowledges } from './scripts.ts'

const repository = world.repository.fullName

test('[C9] [D7, F230] a prompt that cannot be built loses no message, says which section and reference, and heals after the next save by itself', {
  timeout: 200_000,
}, async () => {
  const house = await openHouse({ world, scenario: onlyAcknowledges(fixFailingTest) })
  const { db } = house.ledger
  const save = async (text: string | null) => {
    const { number: base } = await headVersion(db, 'prompts')
    const overrides: ConfigurationDocument['overrides'] = text === null ? {} : { 'runtime/worker': { text, base: 'the built-in text' } }
    await saveVersion(db, 'prompts', { base, document: { ...EMPTY, overrides }, origin: 'cli', actor: 'mara', note: null })
  }
  const issue = await house.openIssue()
  await eventually('T-1 waits', () => db.selectFrom('ticket').select('id').where('state', '=', 'waiting').executeTakeFirst())
  const asked = (await db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()).length

  // an Executor has a checkout, so the reference is legal; this Ticket loses its own
  await save('You work in {{cwd}}.')
  await db.updateTable('ticket').set({ repository: null }).where('id', '=', 1).execute()
  await house.operate('comment', { repository, number: issue, as: 'mara', body: 'Also on the last page, please.' })
  const alarm = await eventually('an alarm is raised', () =>
    db.selectFrom('alarm').selectAll().where('kind', '=', 'assembly').where('endedAt', 'is', null).executeTakeFirst(),
  )
  expect(alarm).toMatchObject({
    subject: 'ticket-1',
    body: expect.stringMatching(/runtime\/worker, line 1, column 13: "\{\{cwd\}\}": the variable has no value/),
  })
  const waiting = () => db.selectFrom('inbox').select('id').where('address', '=', 'ticket-1').where('session', 'is', null).execute()
  expect(await waiting()).toHaveLength(1)
  expect((await db.selectFrom('request').select('id').where('session', '=', 't1-1').execute()).length).toBe(asked)

  await save(null)
  await eventually('the message is read', async () => (await waiting()).length === 0, 120_000)
  await eventually('the alarm has ended', () =>
    db.selectFrom('alarm').select('id').where('id', '=', alarm.id).where('endedAt', 'is not', null).executeTakeFirst(),
  )
})

test('[B4] [B6, F224] after an upgrade the agents go on: an older override is in use, an invalid one gives way to the built-in text, and the log says so', {
  timeout: 120_000,
}, async () => {
  const house = await openHouse({ world, scenario: fixFailingTest })
  const { db } = house.ledger
  const overrides = {
    'runtime/work': { text: 'Work as this team does.', base: 'the text of an older release' },
    'runtime/environment': { text: 'Here you are.', base: 'a text that needed no placeholder' },
    'runtime/gone': { text: 'Of a part that is no more.', base: 'x' },
  }
  await saveVersion(db, 'prompts', { base: 1, document: { ...EMPTY, overrides }, origin: 'cli', actor: 'mara', note: null })
  const issue = await house.openIssue()
  await finished(house)
  expect(faultsOf(expected, await house.end(issue))).toEqual([])
  const [request] = await pastRequests(db, 't1-1')
  const textOf = (name: string) => request!.sections.find((section) => section.name === name)?.text
  expect(textOf('runtime/work')).toBe('Work as this team does.')
  expect(textOf('runtime/environment')).toMatch(/^# Environment\n\n- Ticket: T-1/)
  expect(house.logged()).toMatch(/"part":"runtime\/environment".*an override is invalid in this version: the built-in text is used/)
  expect(house.logged()).toMatch(/"part":"runtime\/gone".*it is dropped at the next save/)
})
