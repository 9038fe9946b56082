import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ParsedSettings, Settings } from '../core/deployment/settings.ts'
import { homeFolder, ROOT, readSettings } from './environment.ts'

/** A project's folder with these files. */
function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-environment-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
const read = (environment: Record<string, string>, files: Record<string, string> = {}) => readSettings(environment, folderWith(files))
const settingsOf = (parsed: ParsedSettings): Settings => {
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  return parsed.settings
}
const faultsOf = (parsed: ParsedSettings) => {
  if ('faults' in parsed) return parsed.faults
  throw new Error('no fault was found')
}
const MODEL = { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'm', MODEL_BASE_URL: 'http://127.0.0.1:1/v1' }

test('an empty folder and an empty environment are the defaults', () => {
  expect(settingsOf(read({}))).toMatchObject({ host: '127.0.0.1', panelPort: { port: 8787, chosen: false } })
})

test("an .env file is read, and the process's own variables are stronger", () => {
  const files = { '.env': 'SWITCHYARD_PORT=9001\nSWITCHYARD_HOST="127.0.0.2"\n# a comment\n' }
  expect(settingsOf(read({ SWITCHYARD_PORT: '9002' }, files))).toMatchObject({ panelPort: { port: 9002, chosen: true }, host: '127.0.0.2' })
})

test("a secret may be given as a file's path, with or without a line feed at its end", () => {
  const { model } = settingsOf(read({ ...MODEL, MODEL_API_KEY_FILE: 'key.txt' }, { 'key.txt': 'the key\n' }))
  expect(model?.apiKey).toBe('the key')
})

test('a secret given twice, and one whose file is missing, are faults by name', () => {
  expect(faultsOf(read({ ...MODEL, MODEL_API_KEY: 'a', MODEL_API_KEY_FILE: 'key.txt' }, { 'key.txt': 'b' }))).toContainEqual({
    name: 'MODEL_API_KEY_FILE',
    message: 'set beside MODEL_API_KEY: leave one of them out',
  })
  expect(faultsOf(read({ ...MODEL, MODEL_API_KEY_FILE: 'gone.txt' }))).toContainEqual({
    name: 'MODEL_API_KEY_FILE',
    message: '"gone.txt" cannot be read',
  })
})

test("[M8] the words of a secret's file stand in no fault", () => {
  const faults = faultsOf(
    read(
      { GITHUB_APP_ID: '7', GITHUB_APP_PRIVATE_KEY_FILE: 'key.pem', SWITCHYARD_PORT: 'x' },
      { 'key.pem': `no pem ${'s3cret'.repeat(9)}` },
    ),
  )
  expect(JSON.stringify(faults)).not.toContain('s3crets3cret')
})

test('switchyard.yaml is read where it stands, or where SWITCHYARD_CONFIG says', () => {
  const yaml = 'worker:\n  rollAfter: 321\n'
  expect(settingsOf(read({}, { 'switchyard.yaml': yaml })).file.worker.rollAfter).toBe(321)
  expect(settingsOf(read({ SWITCHYARD_CONFIG: 'other.yaml' }, { 'other.yaml': yaml })).file.worker.rollAfter).toBe(321)
})

test('a configuration file that was named and is not there is a fault; one that nobody named is not', () => {
  expect(faultsOf(read({ SWITCHYARD_CONFIG: 'gone.yaml' }))).toEqual([{ name: 'SWITCHYARD_CONFIG', message: '"gone.yaml" cannot be read' }])
})

test("all faults are told at once: of the environment, of a secret's file and of the YAML", () => {
  const faults = faultsOf(
    read({ SWITCHYARD_PORT: '80a', MODEL_API_KEY_FILE: 'gone.txt', SANDBOX: 'maybe' }, { 'switchyard.yaml': 'worker: [1\n' }),
  )
  expect(faults.map(({ name }) => name).sort()).toEqual(
    expect.arrayContaining(['MODEL_API_KEY_FILE', 'SANDBOX', 'SWITCHYARD_PORT', 'switchyard.yaml']),
  )
  expect(faults.find(({ name }) => name === 'SWITCHYARD_PORT')?.message).toBe('"80a" is not a port: a number from 1 to 65535')
})

test('an unknown key in the YAML is a fault, not ignored', () => {
  expect(faultsOf(read({}, { 'switchyard.yaml': 'wroker:\n  rollAfter: 1\n' }))).not.toEqual([])
})

test('an empty YAML file is no configuration', () => {
  expect(settingsOf(read({}, { 'switchyard.yaml': '# nothing yet\n' }))).toBeDefined()
})

test('the state folder is .switchyard in the project unless it is said', () => {
  expect(homeFolder(null)).toBe(join(ROOT, '.switchyard'))
  expect(homeFolder('/somewhere/else')).toBe('/somewhere/else')
  expect(isAbsolute(homeFolder('relative'))).toBe(true)
})
