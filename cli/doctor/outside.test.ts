import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseSettings } from '../../core/deployment/settings.ts'
import type { Given } from './finding.ts'
import { github, model } from './outside.ts'

/** Answers what the path says: `/401/…` with 401; `key` and `token` are the only ones that it knows. */
const server = createServer((request, response) => {
  const status = Number(/^\/(\d{3})\//.exec(request.url ?? '')?.[1] ?? 200)
  const known = /^Bearer (key|token)$/i.test(request.headers.authorization ?? '')
  const bodies: Record<string, unknown> = {
    '/models': { data: [{ id: 'kimi' }, { id: 'kimi-large' }] },
    '/bare/models': '<html>',
    '/user': { id: 1, login: 'switchyard' },
  }
  const body = bodies[request.url ?? ''] ?? { message: 'No' }
  response.writeHead(known ? status : 401, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(known ? body : { message: 'Bad credentials' }))
})
let root: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

function given(environment: Record<string, string>): Given {
  const parsed = parseSettings(environment)
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  return { settings: parsed.settings, home: '/nowhere' }
}

describe('the model', () => {
  const asked = (changes: Record<string, string> = {}) =>
    model(given({ MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'kimi', MODEL_API_KEY: 'key', MODEL_BASE_URL: root, ...changes }))

  test('that is listed is well', async () => {
    expect(await asked()).toEqual({ state: 'ok', says: `${root} answers and knows kimi` })
    expect(await asked({ MODEL_BASE_URL: `${root}/`, MODEL_MAIN_NAME: 'kimi-large' })).toMatchObject({ state: 'ok' })
  })

  test('[O2] that is not listed, or whose key is refused, is a problem with its fix', async () => {
    expect(await asked({ MODEL_NAME: 'kimmi' })).toEqual({
      state: 'problem',
      says: `${root} does not know kimmi`,
      fix: 'set MODEL_NAME to one of: kimi, kimi-large',
    })
    expect(await asked({ MODEL_API_KEY: 'old' })).toMatchObject({ state: 'problem', fix: 'correct MODEL_API_KEY' })
    expect(await asked({ MODEL_BASE_URL: `${root}/503` })).toMatchObject({ state: 'problem', says: `${root}/503 answers with 503` })
    const away = await asked({ MODEL_BASE_URL: 'http://127.0.0.1:1/v1' })
    expect(away).toMatchObject({ state: 'problem', fix: 'start its server, or correct MODEL_BASE_URL' })
  })

  test('of a server that lists none is not confirmed, which is no problem', async () => {
    expect(await asked({ MODEL_BASE_URL: `${root}/404` })).toMatchObject({ state: 'ok', says: expect.stringContaining('not confirmed') })
    expect(await asked({ MODEL_BASE_URL: `${root}/bare` })).toMatchObject({ state: 'ok', says: expect.stringContaining('not confirmed') })
  })

  test('of another provider is not asked; of none is off', async () => {
    const said = await asked({ MODEL_PROVIDER: 'anthropic', MODEL_BASE_URL: '' })
    expect(said).toEqual({ state: 'ok', says: 'anthropic, kimi: configured, not asked' })
    expect(await model(given({}))).toMatchObject({ state: 'off' })
  })
})

describe('GitHub', () => {
  const asked = (token: string, api = root) =>
    github(
      given({
        GITHUB_TOKEN: token,
        GITHUB_WEBHOOK_SECRET: 'one two',
        GITHUB_API_URL: api,
        GITHUB_GRAPHQL_URL: `${root}/graphql`,
        GITHUB_GIT_URL: root,
      }),
    )

  test('says who the agent is there', async () => {
    expect(await asked('token')).toEqual({
      state: 'ok',
      says: `switchyard at ${root}, serves every repository that it sees, 2 webhook secrets`,
    })
  })

  test('[M8] a refused token is a problem with its fix, and is not shown', async () => {
    const found = await asked('ghp_thisIsNotTheRightOne')
    expect(found).toMatchObject({ state: 'problem', fix: 'correct GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, or GITHUB_TOKEN' })
    expect(JSON.stringify(found)).not.toContain('ghp_')
  })

  test('an address that is not GitHub is a problem with its fix', async () => {
    expect(await asked('token', `${root}/404`)).toMatchObject({ state: 'problem', fix: expect.stringContaining('correct GITHUB_API_URL') })
  })

  test('without app and token is off', async () => expect(await github(given({}))).toMatchObject({ state: 'off' }))
})
