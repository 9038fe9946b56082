/** Reads what the settings are made of: the environment, an `.env` file, `<SECRET>_FILE`s, `switchyard.yaml` (design §8). */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { parseDocument } from 'yaml'
import { type Fault, type ParsedSettings, parseSettings, SECRETS } from '../core/deployment/settings.ts'

/** The project's own folder: where `.env`, `switchyard.yaml` and the default state folder stand. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export type Environment = Readonly<Record<string, string | undefined>>

/** The process's variables over those of the `.env` file. */
export function readEnvironment(given: Environment = process.env, folder = ROOT): Record<string, string | undefined> {
  return { ...readEnvFile(folder), ...given }
}

export function readSettings(given: Environment = process.env, folder = ROOT): ParsedSettings {
  const faults: Fault[] = []
  const environment = readEnvironment(given, folder)
  for (const name of SECRETS) {
    const path = environment[`${name}_FILE`]
    if (!path) continue
    if (environment[name]) faults.push({ name: `${name}_FILE`, message: `set beside ${name}: leave one of them out` })
    else {
      const text = readFile(path, folder)
      if (text === null) faults.push({ name: `${name}_FILE`, message: `"${path}" cannot be read` })
      else environment[name] = text.trimEnd()
    }
  }
  const document = readYaml(environment.SWITCHYARD_CONFIG, folder)
  if ('fault' in document) faults.push(document.fault)
  const parsed = 'fault' in document ? parseSettings(environment) : parseSettings(environment, document.value, document.name)
  if (faults.length === 0) return parsed
  return { faults: [...faults, ...('faults' in parsed ? parsed.faults : [])] }
}

/** `SWITCHYARD_HOME`, or `.switchyard` in the project. */
export function homeFolder(home: string | null): string {
  if (home === null) return join(ROOT, '.switchyard')
  return isAbsolute(home) ? home : join(process.cwd(), home)
}

function readEnvFile(folder: string): Record<string, string | undefined> {
  const text = readFile('.env', folder)
  return text === null ? {} : parseEnv(text)
}

function readYaml(given: string | undefined, folder: string): { name: string; value: unknown } | { fault: Fault } {
  const path = given || undefined // empty counts as not set, as for every variable
  const name = path ?? 'switchyard.yaml'
  const text = readFile(name, folder)
  if (text === null)
    return path === undefined ? { name, value: {} } : { fault: { name: 'SWITCHYARD_CONFIG', message: `"${path}" cannot be read` } }
  const document = parseDocument(text)
  const [error] = document.errors
  return error ? { fault: { name, message: error.message.split('\n')[0]! } } : { name, value: document.toJS() ?? {} }
}

function readFile(path: string, folder: string): string | null {
  const whole = isAbsolute(path) ? path : join(folder, path)
  return statSync(whole, { throwIfNoEntry: false })?.isFile() ? readFileSync(whole, 'utf8') : null
}
