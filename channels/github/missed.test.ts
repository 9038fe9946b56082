import { describe, expect, test } from 'vitest'
import { GithubError, type GithubFailure } from './failure.ts'
import { type Ask, deliveryLog } from './missed.ts'

const item = { id: 12_077_215_967n, guid: 'g-1', event: 'issue_comment', action: 'created', delivered_at: '2026-11-30T12:00:00Z' }
const headers = {
  Accept: '*/*',
  'content-type': 'application/json',
  'User-Agent': 'GitHub-Hookshot/b8c71d8',
  'X-GitHub-Delivery': 'g-1',
  'X-GitHub-Event': 'issue_comment',
  'X-GitHub-Hook-ID': '42',
  'X-Hub-Signature': 'sha1=aa',
  'X-Hub-Signature-256': 'sha256=bb',
}
const entry = { id: '12077215967', guid: 'g-1', event: 'issue_comment', at: new Date('2026-11-30T12:00:00Z') }

/** GitHub's answers in the order in which they are asked for, and what was asked. */
function answers(...given: ({ data: unknown; link?: string } | GithubFailure)[]) {
  const asked: unknown[] = []
  const ask: Ask = async (route, parameters) => {
    asked.push([route, parameters])
    const answer = given[asked.length - 1]!
    if ('kind' in answer) throw new GithubError(answer)
    return { data: answer.data, headers: { link: answer.link } }
  }
  return { log: deliveryLog(ask), asked }
}

describe('a page', () => {
  test('[M3] names its deliveries and the cursor that leads on', async () => {
    const link =
      '<https://api.github.com/app/hook/deliveries?per_page=100&cursor=v0_9>; rel="prev", <https://api.github.com/app/hook/deliveries?per_page=100&cursor=v1_12077215967>; rel="next"'
    const { log, asked } = answers({ data: [item], link }, { data: [] })
    expect(await log.page(null)).toEqual({ deliveries: [entry], next: 'v1_12077215967' })
    expect(await log.page('v1_12077215967')).toEqual({ deliveries: [], next: null })
    expect(asked).toEqual([
      ['GET /app/hook/deliveries', { per_page: 100 }],
      ['GET /app/hook/deliveries', { per_page: 100, cursor: 'v1_12077215967' }],
    ])
  })

  test.each(['id', 'guid', 'event', 'delivered_at'])('[M3] with an entry that lacks its %s is not passed over', async (field) => {
    await expect(answers({ data: [{ ...item, [field]: null }] }).log.page(null)).rejects.toThrow('is not whole')
  })
})

describe('a whole delivery', () => {
  const whole = (payload: unknown, sent: unknown = headers) =>
    answers({ data: { ...item, request: { headers: sent, payload } } }).log.whole(entry)

  test('[M3, M2] has the key, place and headers of the webhook, and no signature', async () => {
    expect(await whole({ action: 'created', issue: { number: 7 }, repository: { id: 9001 } })).toEqual({
      source: 'github',
      transport: 'deliveries-api',
      hook: '42',
      guid: 'g-1',
      event: 'issue_comment',
      headers: {
        'user-agent': 'GitHub-Hookshot/b8c71d8',
        'x-github-delivery': 'g-1',
        'x-github-event': 'issue_comment',
        'x-github-hook-id': '42',
      },
      body: '{"action":"created","issue":{"number":7},"repository":{"id":9001}}',
      place: 'github:9001#7',
    })
  })

  test('[F052] keeps long ids as the numbers that they were', async () => {
    expect(await whole({ comment: { id: 9_007_199_254_740_993n } })).toMatchObject({
      body: '{"comment":{"id":9007199254740993}}',
      place: null,
    })
  })

  test('[F119] is lost where GitHub has it no more, or only its shell', async () => {
    expect(await answers({ kind: 'not-found', status: 404, message: 'gone away' }).log.whole(entry)).toEqual({ lost: 'gone away' })
    expect(await answers({ kind: 'gone', status: 410, message: 'expired' }).log.whole(entry)).toEqual({ lost: 'expired' })
    expect(await whole(null)).toHaveProperty('lost')
    expect(await whole({}, null)).toHaveProperty('lost')
  })

  test('[F119] is not lost because GitHub fails', async () => {
    await expect(answers({ kind: 'server', status: 500, message: 'oops' }).log.whole(entry)).rejects.toThrow('oops')
  })
})
