import { expect, test } from 'vitest'
import { parseSettings, SECRETS } from './settings.ts'

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
    'switchyard.yaml sandbx: no such key: did you mean sandbox?; legal: sandbox, github, personas, worker',
  ])
})

test.each([
  [{ GITHUB_APP_ID: '12' }, 'GITHUB_APP_PRIVATE_KEY: missing: GITHUB_APP_ID is set'],
  [{ GITHUB_TOKEN: 't' }, 'GITHUB_WEBHOOK_SECRET: missing: GITHUB_TOKEN is set; without it no delivery can be verified'],
  [
    { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'm' },
    'MODEL_BASE_URL: missing: MODEL_PROVIDER is set; openai-compatible needs the address of its server',
  ],
  [{ MODEL_PROVIDER: 'anthropic', MODEL_NAME: 'm' }, 'MODEL_API_KEY: missing: MODEL_PROVIDER is set; anthropic needs a key'],
  [{ MODEL_NAME: 'm' }, 'MODEL_PROVIDER: missing: MODEL_NAME is set; one of openai-compatible, deepseek, anthropic, openai'],
])('what is wrong together is said too: %o', (environment, fault) => {
  expect(faultsOf(environment)).toContain(fault)
})

test('[F005] several webhook secrets are separated by spaces', () => {
  const parsed = parseSettings({ GITHUB_TOKEN: 't', GITHUB_WEBHOOK_SECRET: 'current previous' })
  expect(parsed).toMatchObject({ settings: { github: { webhookSecrets: ['current', 'previous'] } } })
})

test('an unknown key of the YAML is told with the keys of its place, under the name of the file that was read', () => {
  const parsed = parseSettings({}, { github: { tellOutsidres: true, colour: 'red' }, worker: { rollAfter: 1 } }, '/etc/house.yaml')
  expect('faults' in parsed && parsed.faults).toEqual([
    { name: '/etc/house.yaml github.tellOutsidres', message: 'no such key: did you mean tellOutsiders?; legal: tellOutsiders' },
    { name: '/etc/house.yaml github.colour', message: 'no such key; legal: tellOutsiders' },
    { name: '/etc/house.yaml worker.rollAfter', message: expect.stringContaining('60') },
  ])
})

test.each([
  ['SWITCHYARD_PROT', 'did you mean SWITCHYARD_PORT?'],
  ['MODEL_API_KEYS', 'did you mean MODEL_API_KEY?'],
  ['MODEL_TEMPERATURE', 'MODEL_PROVIDER, MODEL_NAME, MODEL_MAIN_NAME'],
  ['GITHUB_APPID', 'did you mean GITHUB_APP_ID?'],
  ['GITHUB_WEBHOOK_SECRETS', 'did you mean GITHUB_WEBHOOK_SECRET?'],
  ['SWITCHYARD_HOST_FILE', 'SWITCHYARD_HOST'],
])('the unknown variable %s is a fault that names what was meant, and not what it holds', (name, meant) => {
  const [fault, ...rest] = faultsOf({ [name]: 's3cret' })
  expect(rest).toEqual([])
  expect(fault).toMatch(new RegExp(`^${name}: no such variable`))
  expect(fault).toContain(meant)
  expect(fault).not.toContain('s3cret')
})

test("files of secrets, variables of GitHub's CI, the mark of the agent's commands and what is empty are no faults", () => {
  const files = Object.fromEntries(SECRETS.map((name) => [`${name}_FILE`, '/run/secrets/x']))
  const others = { GITHUB_ACTIONS: 'true', GITHUB_SHA: 'abc', SWITCHYARD_COMMAND: 'c1', SWITCHYARD_CONFIG: 'other.yaml', MODEL_TYPO: '' }
  expect(faultsOf({ ...files, ...others })).toEqual([])
})

test('contradictions are told beside single faults, but for those that rest on a faulty variable', () => {
  const environment = { SWITCHYARD_PORT: '80a', GITHUB_APP_ID: '12', GITHUB_APP_PRIVATE_KEY: 'no key', MODEL_NAME: 'm' }
  expect(faultsOf(environment).map((fault) => fault.split(': ').slice(0, 2).join(': '))).toEqual([
    'SWITCHYARD_PORT: "80a" is not a port',
    expect.stringContaining('GITHUB_APP_PRIVATE_KEY: not a PEM private key'),
    'GITHUB_WEBHOOK_SECRET: missing',
    'MODEL_PROVIDER: missing',
  ])
})
