/**
 * `npm test`: set-up, then format and lint, types, and every test; all three run, and one that fails makes the whole fail.
 * Arguments go to the tests alone: `npm test -- ledger/claims.test.ts`.
 */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, ROOT, spawnNode } from './install.mjs'

const REPORT = join(ROOT, 'reports', 'tests.json')

const say = (line) => console.log(`switchyard: ${line}`)
const problem = await ensureInstalled({ say })
if (problem) {
  console.error(`switchyard: ${problem}`)
  process.exit(1)
}

const only = process.argv.slice(2)
const modules = join(ROOT, 'node_modules')
const checks = [
  { name: 'format and lint', args: [join(modules, '@biomejs', 'biome', 'bin', 'biome'), 'check', '.'] },
  { name: 'types', args: [join(modules, 'typescript', 'bin', 'tsc'), '-p', '.'] },
]
const tests = { name: 'tests', args: [join(modules, 'vitest', 'vitest.mjs'), 'run', ...only] }

// An old report must not speak for a run that died before it wrote its own.
rmSync(REPORT, { force: true })
const failed = []
for (const { name, args } of only.length > 0 ? [tests] : [...checks, tests]) {
  say(`${name} …`)
  const outcome = await finished(args)
  if (outcome !== null) failed.push(`${name} (${outcome})`)
}
say(failed.length === 0 ? 'everything passed' : `failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/** Null when it passed. A signal to us goes to the step that runs, and ends the steps after it. */
function finished(args) {
  return new Promise((resolve) => {
    const child = spawnNode(args)
    const forward = (signal) => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
      child.once('exit', () => process.exit(1))
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, forward)
    const watch = setInterval(() => endHanging(child), 5000)
    const done = (outcome) => {
      clearInterval(watch)
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, forward)
      resolve(outcome)
    }
    child.once('error', (error) => done(error.message))
    child.once('exit', (code, signal) => done(code === 0 ? null : signal ? `ended by ${signal}` : `exit code ${code}`))
  })
}

/** Vitest never ends while a process that a test left behind holds its output, although every result is written. */
function endHanging(child) {
  if (!existsSync(REPORT) || Date.now() - statSync(REPORT).mtimeMs < 60_000) return
  say('the tests wrote their report a minute ago and do not end: a test left a process behind; they are ended')
  child.kill('SIGKILL')
}
