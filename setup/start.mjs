/**
 * `npm start`: set-up, then the program with its arguments, its signals and its exit code. The program is told through a channel
 * when this process is gone, and this process looks whether npm is: a kill -9 of either leaves nothing behind.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, ROOT, spawnNode } from './install.mjs'

const say = (line) => console.log(`switchyard: ${line}`)
const problem = await ensureInstalled({ say })
if (problem) {
  console.error(`switchyard: ${problem}`)
  process.exit(1)
}

const child = spawnNode([join(ROOT, 'cli', 'main.ts'), 'start', ...process.argv.slice(2)], {
  cwd: process.cwd(),
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
})

process.on('SIGTERM', () => child.kill('SIGTERM'))
process.on('SIGHUP', () => child.kill('SIGHUP'))
// A terminal sends Ctrl-C to the child as well; sent on it would arrive twice, which asks for a stop without grace.
process.on('SIGINT', () => {
  if (!process.stdin.isTTY) child.kill('SIGINT')
})

const above = processesAbove()
const watch = setInterval(() => {
  if (processesAbove() === above) return
  clearInterval(watch)
  child.kill('SIGTERM')
}, 1000)

child.once('error', (error) => {
  console.error(`switchyard: the program cannot be started: ${error.message}`)
  process.exit(1)
})
child.once('exit', (code, signal) => {
  clearInterval(watch)
  if (!signal) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})

/**
 * The ids of the processes between us and npm, and npm's own: when one dies, an orphan gets another parent. Only what npm started
 * ends with npm; a start by hand may outlive its shell.
 */
function processesAbove() {
  if (process.env.npm_lifecycle_event === undefined) return ''
  const shell = readProc('cmdline').includes('setup/start.mjs') // npm runs the script in a shell, which may or may not stay
  return shell ? `${process.ppid} ${readProc('stat').split(') ').at(-1)?.split(' ')[1]}` : `${process.ppid}`
}

function readProc(file) {
  try {
    return readFileSync(`/proc/${process.ppid}/${file}`, 'utf8')
  } catch {
    return '' // no such files on this system, or the parent died this very moment: its successor is another one
  }
}
