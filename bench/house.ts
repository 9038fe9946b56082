/** What every benchmark needs: services of its own, figures, and one table. Nothing is asserted; the reader compares the columns. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate } from '../ledger/migrate.ts'
import { type EmbeddedPostgres, startPostgres } from '../worker/embedded/postgres.ts'
import { APP_ROLE, createDatabase, type DatabaseUrls } from '../worker/embedded/postgres-roles.ts'
import { type EmbeddedTemporal, startTemporal } from '../worker/embedded/temporal.ts'

/** `RUNS=1` is quick and rough. */
export const RUNS = Number(process.env.RUNS ?? 3)

export const note = (line: string): void => void process.stderr.write(`${line}\n`)

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  if (sorted.length === 0) throw new Error('there is no figure to take a median of')
  const at = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (high - low) * (at - Math.floor(at))
}

export function printTable(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const load = loadavg()[0]!.toFixed(1)
  console.log(
    [
      `${title}; ${RUNS} runs, medians; ${availableParallelism()} cores, load ${load} at the end, Node ${process.versions.node}`,
      '',
      line(head),
      line(head.map(() => '---')),
      ...rows.map(line),
    ].join('\n'),
  )
}

// what must end with this process ends in its exit handlers
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** A folder that the user who runs Postgres can pass through; gone with the process. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-bench-'))
  chmodSync(folder, 0o711)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface BenchPostgres extends EmbeddedPostgres {
  /** Migrated and empty, with the app's few rights. */
  database(name: string): Promise<DatabaseUrls>
}

/** Durable as in production: fsync and synchronous_commit are on. */
export async function benchPostgres(home: string): Promise<BenchPostgres> {
  const postgres = endsWithUs(await startPostgres({ home, say: note }))
  return {
    ...postgres,
    async database(name) {
      const urls = await createDatabase(postgres, name)
      await migrate({ adminUrl: urls.ownerUrl, appRole: APP_ROLE })
      return urls
    },
  }
}

export async function benchTemporal(home: string): Promise<EmbeddedTemporal> {
  return endsWithUs(await startTemporal({ home, say: note }))
}

/** Also when the benchmark fails. Both servers end at once at a SIGQUIT. */
function endsWithUs<Service extends { pid: number; stop(): Promise<void> }>(service: Service): Service {
  const quit = () => process.kill(service.pid, 'SIGQUIT')
  process.once('exit', quit)
  const stop = async () => {
    await service.stop()
    process.off('exit', quit)
  }
  return { ...service, stop }
}

export interface Helper {
  ask<Answer>(message: object): Promise<Answer>
  end(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** Another file of this folder as a process of its own, which answers one message with one message. */
export async function helper(file: string): Promise<Helper> {
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)))
  const exited = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  return {
    async ask<Answer>(message: object) {
      const died = exited.then(([code]) => {
        throw new Error(`${file} ended with ${code} instead of answering`)
      })
      child.send(message)
      const [answer] = (await Promise.race([once(child, 'message'), died])) as [Answer]
      return answer
    },
    async end() {
      child.disconnect()
      await exited
      process.off('exit', kill)
    },
    async kill() {
      kill()
      await exited
      process.off('exit', kill)
    },
  }
}
