import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Command, createSandbox, type Sandbox } from './sandbox.ts'

const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version')
const bubblewrap = createSandbox({ mode: 'bubblewrap', allowedHosts: [] })
const here = await bubblewrap.available()
if (!here.ok) console.warn(`confinement is not tested: ${here.reason}`)

let folder: string
let home: string
let checkout: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync('/var/tmp/switchyard sandbox '))
  home = join(folder, 'state')
  checkout = join(home, 'workspaces', 't-1', 'shop')
  mkdirSync(checkout, { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const run = (sandbox: Sandbox, command: Command['command'], more: Partial<Command> = {}) =>
  sandbox.run({ folder: checkout, command, timeoutMs: 60_000, signal: new AbortController().signal, ...more })

/** Processes that run this program with this argument: unique sleeps, to see that nothing was left. */
function running(argument: string): number[] {
  const isIt = (pid: string) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return words[0]!.endsWith('sleep') && words.includes(argument)
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code!)) return false
      throw error
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter(isIt)
    .map(Number)
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20))
}

const uniqueSleep = () => `${100_000 + Math.floor(Math.random() * 800_000)}`

test.runIf(isRootOnDebian)('[H10] as root on Debian, where the set-up installs it, bubblewrap confines commands', () => {
  expect(here).toEqual({ ok: true })
})

test('[H10] a missing bubblewrap is said with what to install', async () => {
  const { PATH } = process.env
  process.env.PATH = folder
  try {
    expect(await createSandbox({ mode: 'bubblewrap', allowedHosts: [] }).available()).toEqual({
      ok: false,
      reason: expect.stringMatching(/bubblewrap is not installed.*apt-get install/),
    })
  } finally {
    process.env.PATH = PATH
  }
})

describe.runIf(here.ok)('confined', () => {
  test("[F353] [M8] [H10] neither the host's environment nor its state folder, other Tickets and homes are there", async () => {
    for (const path of ['mirrors/1.git', 'workspaces/t-2/shop', 'postgres', 'workspaces/t-1/shop'])
      mkdirSync(join(home, path), { recursive: true })
    for (const file of ['.env', 'postgres/password', 'workspaces/t-2/shop/theirs.txt', 'mirrors/1.git/config'])
      writeFileSync(join(home, file), 'ghs_secretOfTheHost')
    process.env.SWITCHYARD_TEST_SECRET = 'ghs_secretOfTheHost'
    try {
      const look = `env; git config --list --show-origin; git config credential.helper; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'
        cd '${home}' && find . -not -path './workspaces/t-1/*' | sort; cat .env postgres/password workspaces/t-2/shop/theirs.txt; cat ${process.cwd()}/.env
        ls -A /root /home /var /run /sys /etc/shadow /etc/gitconfig '${process.cwd()}'; find / -xdev -name '*secret*' 2>/dev/null`
      const { output } = await run(bubblewrap, look)
      expect(output).not.toContain('ghs_')
      expect(output).not.toContain('SWITCHYARD_')
      expect(output).toContain('\n.\n./workspaces\n./workspaces/t-1\n')
      expect(output).toMatch(/'?\/etc\/shadow'?: No such file/)
    } finally {
      delete process.env.SWITCHYARD_TEST_SECRET
    }
  })

  test("[H10] the checkout, HOME and /tmp can be written, nothing else; /tmp is the Ticket's own and stays for the next command", async () => {
    const { output, exit } = await run(
      bubblewrap,
      'echo a > file && echo b > ~/file && echo c > /tmp/file; touch /usr/x /etc/x /x "$PWD/../x" "$PWD/../@output/x" 2>&1 | grep -c "Read-only"',
    )
    expect({ output, exit }).toEqual({ output: '5\n', exit: 0 })
    expect(readFileSync(join(checkout, 'file'), 'utf8')).toBe('a\n')
    expect((await run(bubblewrap, 'cat ~/file /tmp/file')).output).toBe('b\nc\n')
    expect(readdirSync(join(home, 'workspaces', 't-1')).sort()).toEqual(['@bundles', '@home', '@output', '@tmp', 'shop'])
    expect(existsSync('/tmp/file')).toBe(false)
  })

  test('[H10] the checkout cannot be replaced by a link that the host would follow', async () => {
    const { exit } = await run(bubblewrap, 'cd .. && (mv shop other || rmdir shop || rm -rf shop) 2>/dev/null && ln -s /etc shop')
    expect(exit).not.toBe(0)
    expect(readdirSync(checkout)).toEqual([])
  })

  test('[H10] there is no network: not to this host, not outside', async () => {
    const server = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const { output } = await run(
      bubblewrap,
      `node -e "fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log, (e) => console.log('none', e.cause.code))"; cat /proc/net/dev | grep -c :`,
    )
    server.close()
    expect(output).toBe('none ECONNREFUSED\n1\n')
  })

  test('[H10] it has processes of its own only, no privileges, and cannot make namespaces', async () => {
    const { output } = await run(
      bubblewrap,
      'kill -9 1; ls /proc | grep -c "^[0-9]"; grep CapEff /proc/self/status; unshare -Ur true 2>/dev/null || echo refused',
    )
    expect(output).toMatch(/^[1-9]\nCapEff:\t0000000000000000\nrefused\n$/)
  })

  test("this project's node is first on PATH, and more folders can be shown read-only", async () => {
    const tools = join(folder, 'tools')
    mkdirSync(join(tools, 'bin'), { recursive: true })
    writeFileSync(join(tools, 'bin', 'hello'), '#!/bin/sh\necho hello\n', { mode: 0o755 })
    expect((await run(bubblewrap, 'node --version')).output).toBe(`${process.version}\n`)
    expect((await run(bubblewrap, `'${tools}/bin/hello'`)).exit).toBe(127)
    const more = createSandbox({ mode: 'bubblewrap', allowedHosts: [], readable: [tools] })
    expect((await run(more, `'${tools}/bin/hello'; touch '${tools}/x' || echo read-only`)).output).toMatch(/^hello\n.*\nread-only\n$/)
  })

  test('[H10] an allowed host is reached through the filter, another one is not', async () => {
    const server = createServer((_, response) => response.end('reached\n')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const online = createSandbox({ mode: 'bubblewrap', allowedHosts: ['localhost'] })
    const ask = (host: string) =>
      `node -e "require('http').get({ host: '127.0.0.1', port: 3128, path: 'http://${host}:${port}/', headers: { host: '${host}', 'proxy-authorization': 'Basic ' + Buffer.from(decodeURIComponent(new URL(process.env.HTTP_PROXY).username + ':' + new URL(process.env.HTTP_PROXY).password)).toString('base64') } }, (r) => { console.log(r.statusCode); r.resume() })"`
    try {
      expect((await run(online, ask('localhost'))).output).toBe('200\n')
      expect((await run(online, ask('example.com'))).output).toBe('403\n')
      expect(() => createSandbox({ mode: 'bubblewrap', allowedHosts: [] })).not.toThrow()
      await expect(run(createSandbox({ mode: 'bubblewrap', allowedHosts: ['example.org'] }), 'true')).rejects.toThrow(
        'network allowlist of this process is "localhost"',
      )
    } finally {
      await online.close()
      server.close()
    }
  })

  test('[F328] it dies with a host process that is killed', async () => {
    const sleep = uniqueSleep()
    const host = startHost('bubblewrap', sleep)
    await until(() => running(sleep).length > 0)
    host.kill('SIGKILL')
    await until(() => running(sleep).length === 0)
  })
})

function startHost(mode: 'bubblewrap' | 'off', sleep: string) {
  const given = JSON.stringify({ folder: checkout, command: `sleep ${sleep}`, timeoutMs: 600_000 })
  const script = `import { createSandbox } from ${JSON.stringify(join(import.meta.dirname, 'sandbox.ts'))}
    await createSandbox({ mode: '${mode}', allowedHosts: [] }).run({ ...${given}, signal: new AbortController().signal })`
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: 'ignore' })
}

describe.each(here.ok ? (['bubblewrap', 'off'] as const) : (['off'] as const))('%s', (mode) => {
  const sandbox = createSandbox({ mode, allowedHosts: [] })

  test('[M8] the environment is the short list and what the caller adds', async () => {
    process.env.SWITCHYARD_TEST_SECRET = 'x'
    const { output } = await run(sandbox, ['env'], { env: { EXTRA: 'yes' } })
    delete process.env.SWITCHYARD_TEST_SECRET
    const names = output
      .split('\n')
      .map((line) => line.split('=')[0])
      .filter((name) => name && !['PWD', 'SWITCHYARD_COMMAND', 'LC_ALL', 'LC_CTYPE', 'TZ'].includes(name))
    expect(names.sort()).toEqual([
      'CI',
      'EXTRA',
      'GIT_EDITOR',
      'GIT_PAGER',
      'GIT_TERMINAL_PROMPT',
      'HOME',
      'LANG',
      'LOGNAME',
      'NO_COLOR',
      'PAGER',
      'PATH',
      'SHELL',
      'TERM',
      'TMPDIR',
      'USER',
    ])
  })

  test('[F346] a program with arguments meets no shell; a line for the shell does', async () => {
    expect((await run(sandbox, ['printf', '%s\n', '$(id)', '*'])).output).toBe('$(id)\n*\n')
    expect(await run(sandbox, 'echo $((1 + 1)) | cat; false | true; exit 7')).toMatchObject({
      output: '2\n',
      exit: 7,
      stopped: null,
      cut: null,
    })
  })

  test('both streams come in their order, also by name', async () => {
    expect(
      (await run(sandbox, 'for n in 1 2 3; do echo "out $n"; echo "err $n" >&2; done; echo named > /dev/stderr; echo end')).output,
    ).toBe('out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nnamed\nend\n')
  })

  test('[F332] [F334] a flood is bounded, whole in a file that the host alone wrote, and its text legible', async () => {
    const heard: string[] = []
    const ended = await run(sandbox, 'printf "a\\0b\\n"; seq 1 400000; printf "\\377 the end"', { onOutput: (text) => heard.push(text) })
    expect(ended.output.length).toBeLessThan(49_000)
    expect(ended.output.startsWith('a\\x00b\n1\n2\n')).toBe(true)
    expect(ended.output.endsWith('\\xff the end')).toBe(true)
    expect(ended.cut).toEqual({ shown: 48_000, total: ended.outputBytes, file: expect.stringContaining('@output') })
    expect(readFileSync(ended.cut!.file)).toHaveLength(ended.outputBytes)
    expect(heard.join('').length).toBe(ended.outputBytes)
  })

  test('a command that takes too long gets time to clean up', async () => {
    const ended = await run(sandbox, 'trap "echo cleaned; exit 3" TERM; echo started; sleep 1000 & wait', { timeoutMs: 300 })
    expect(ended).toMatchObject({ exit: 3, timedOut: true, stopped: 'timeout', output: 'started\ncleaned\n' })
  })

  test('one that ignores signals is killed, and so is everything that it started', async () => {
    const sleep = uniqueSleep()
    const abort = new AbortController()
    const ended = run(sandbox, `trap "" TERM INT HUP; sleep ${sleep} & (setsid sleep ${sleep} &); echo ready; wait`, {
      signal: abort.signal,
      onOutput: () => abort.abort(),
    })
    expect(await ended).toMatchObject({ exit: null, signal: 'SIGKILL', stopped: 'aborted', timedOut: false })
    await until(() => running(sleep).length === 0)
  }, 30_000)

  test('what a finished command left in the background is ended', async () => {
    const sleep = uniqueSleep()
    const ended = await run(sandbox, `sleep ${sleep} & (setsid sleep ${sleep} &); setsid nohup sleep ${sleep} & echo done`)
    expect(ended).toMatchObject({ exit: 0, output: 'done\n' })
    await until(() => running(sleep).length === 0)
  })

  test('an aborted signal starts nothing, a program that is not there is an exit code or an error with its name', async () => {
    await expect(run(sandbox, 'touch x', { signal: AbortSignal.abort(new Error('paused')) })).rejects.toThrow('paused')
    expect(readdirSync(checkout)).toEqual([])
    const missing = run(sandbox, ['no-such-program'])
    if (mode === 'off') await expect(missing).rejects.toThrow('no-such-program could not be started')
    else expect(await missing).toMatchObject({ exit: 1, output: expect.stringContaining('no-such-program') })
  })
})

describe('off', () => {
  test('[F328] what a killed host process left running in the folder is ended before the next command starts there', async () => {
    const sleep = uniqueSleep()
    const host = startHost('off', sleep)
    await until(() => running(sleep).length > 0)
    host.kill('SIGKILL')
    await until(() => host.killed && host.signalCode === 'SIGKILL')
    expect(running(sleep)).toHaveLength(1)
    await run(createSandbox({ mode: 'off', allowedHosts: [] }), 'true')
    await until(() => running(sleep).length === 0)
  })
})
