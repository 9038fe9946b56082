import { expect, test } from 'vitest'
import { parseSettings } from './settings.ts'

const faultsOf = (environment: Record<string, string>, file?: unknown) => {
  const parsed = parseSettings(environment, file)
  return 'faults' in parsed ? parsed.faults.map(({ name, message }) => `${name}: ${message}`) : []
}

test('nothing set is a whole configuration: embedded services, no GitHub, no model', () => {
  const parsed = parseSettings({})
  expect(parsed).toMatchObject({ settings: { database: null, github: null, model: null, webhookPort: { port: 8788, chosen: false } } })
})

test('every fault is listed at once, with the name and what was expected', () => {
  expect(
    faultsOf(
      { SWITCHYARD_PORT: '80a', GITHUB_APP_PRIVATE_KEY: '/run/secrets/key', SANDBOX: 'chroot', DATABASE_URL: 'mysql://x' },
      { sandbx: {} },
    ),
  ).toEqual([
    'DATABASE_URL: not an address such as postgres://user@host/switchyard',
    'SWITCHYARD_PORT: "80a" is not a port: a number from 1 to 65535',
    'GITHUB_APP_PRIVATE_KEY: not a PEM private key (starts with "/run/secrets/k"): give the key itself, or GITHUB_APP_PRIVATE_KEY_FILE',
    'SANDBOX: "chroot" is not known: bubblewrap, off',
    'switchyard.yaml: Unrecognized key: "sandbx"',
  ])
})

test.each([
  [{ GITHUB_APP_ID: '12' }, 'GITHUB_APP_PRIVATE_KEY: missing: GITHUB_APP_ID is set'],
  [{ GITHUB_TOKEN: 't' }, 'GITHUB_WEBHOOK_SECRET: missing: without it no delivery can be verified'],
  [
    { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'm' },
    'MODEL_BASE_URL: missing: the provider openai-compatible needs the address of its server',
  ],
  [{ MODEL_PROVIDER: 'anthropic', MODEL_NAME: 'm' }, 'MODEL_API_KEY: missing: the provider anthropic needs a key'],
  [{ MODEL_NAME: 'm' }, 'MODEL_PROVIDER: missing: MODEL_NAME is set; one of openai-compatible, deepseek, anthropic, openai'],
])('what is wrong together is said too: %o', (environment, fault) => {
  expect(faultsOf(environment)).toContain(fault)
})

test('[F005] several webhook secrets are separated by spaces', () => {
  const parsed = parseSettings({ GITHUB_TOKEN: 't', GITHUB_WEBHOOK_SECRET: 'current previous' })
  expect(parsed).toMatchObject({ settings: { github: { webhookSecrets: ['current', 'previous'] } } })
})
