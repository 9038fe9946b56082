import { afterAll, beforeAll, expect, test } from 'vitest'
import { answered, look, newRequest, openLedger, started, type TestLedger } from '../ledger/fixture.ts'
import { storeRecording } from '../ledger/recordings.ts'
import { type OpenedRequest, openRequest } from '../ledger/requests.ts'
import { commitStep } from '../ledger/steps.ts'
import { testFolder } from '../test/services.ts'
import { switchyard } from './process.test-help.ts'

let ledger: TestLedger
let env: Record<string, string>
beforeAll(async () => {
  ledger = await openLedger()
  env = { DATABASE_URL: ledger.appUrl, SWITCHYARD_HOME: testFolder('cli-replay-') }
})
afterAll(() => ledger.drop())

/** A turn that ended with these words, recorded or not. */
async function turn(ticket: number, step: number, words: string, isRecorded: boolean): Promise<void> {
  const at = { session: `t${ticket}-1`, step }
  const view = await look(ledger.db, at)
  const inputs = view.unread.map(({ id }) => ({ inbox: id, text: 'Fix it.' }))
  const row = {
    ...newRequest(view, inputs),
    provider: 'openai-compatible',
    facts: { github: true, cwd: '/workspace/widgets', environment: [] },
  }
  const { id } = (await openRequest(ledger.db, at, view.scope, row, new Set())) as OpenedRequest
  if (isRecorded) await storeRecording(ledger.db, id, { status: 200, contentType: 'text/event-stream', body: streamOf(words) })
  await commitStep(ledger.db, at, `ticket-${ticket}`, answered(id, inputs, words))
}

function streamOf(content: string): string {
  const choice = (delta: object, finish: string | null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  return [JSON.stringify(choice({ content }, null)), JSON.stringify(choice({}, 'stop')), '[DONE]']
    .map((data) => `data: ${data}\n\n`)
    .join('')
}

test('[D9] what was not recorded cannot be replayed: it says how to switch recording on, and ends with 1', async () => {
  const { ticket, session } = await started(ledger.db, 1)
  expect(await switchyard(['replay', session], env)).toEqual({
    code: 1,
    out: '',
    err: `switchyard: ${session} has finished no step yet, so there is nothing to replay\n`,
  })
  await turn(ticket, 1, 'Done.', false)
  expect(await switchyard(['replay', `T-${ticket}`], env)).toEqual({
    code: 1,
    out: '',
    err: `switchyard: nothing of this was recorded: say switchyard record on; what ${session} is answered from then on can be replayed\n`,
  })
})

test('[D9] of a Session that was recorded in part the rest is played, and one turn or step alone can be asked for', async () => {
  const { ticket, session } = await started(ledger.db, 2)
  await turn(ticket, 1, 'First.', false)
  await turn(ticket, 2, 'Second.', true)
  const whole = await switchyard(['replay', session], env)
  expect(whole.code).toBe(1)
  expect(whole.err).toBe('switchyard: 1 of 2 steps could not be played; first step 1: it was not recorded\n')
  expect(whole.out).toMatch(/turn 1, step 1 .*\n(.*\n)* +stopped +it was not recorded\nturn 2, step 2 .*\n(.*\n)* +answer +as then\n/)
  for (const part of [
    ['--turn', '2'],
    ['--step', '2'],
  ]) {
    const { code, out, err } = await switchyard(['replay', session, ...part], env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^turn 2, step 2 /)
    expect(out).toContain('\n1 answer of 1 step played, 1 as then.')
  }
})

test.each([
  [['replay', 't2-1', '--step', '99'], 1, /t2-1 has no such step; its steps: switchyard requests t2-1/],
  [['replay', 't2-1', '--turn', 'x'], 2, /--turn takes a number from 1, not "x"/],
  [['replay', 'nonsense'], 1, /"nonsense" names no Session/],
  [['record', 'maybe'], 2, /Allowed choices are on, off, status/],
])('what cannot be done is said, with what can: %j', async (args, code, expected) => {
  const ended = await switchyard(args, env)
  expect(ended).toMatchObject({ code, out: '' })
  expect(ended.err).toMatch(expected)
})
