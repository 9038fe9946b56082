/**
 * Ending what was started (facts on cancellation: own process group, SIGTERM, five seconds, SIGKILL). Linux: reads /proc.
 */
import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

export const GRACE_MS = 5_000

/** A run carries this variable, so that what it left behind is known even outside its process group: host process and folder. */
export const MARK = 'SWITCHYARD_COMMAND'

/** Ends a detached child and its whole group; returns when it has exited. `spare` keeps its leader out of SIGTERM. */
export async function endGroup(child: ChildProcess, { spareLeader = false } = {}): Promise<void> {
  const group = child.pid
  if (group === undefined) return
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
  if (spareLeader) for (const pid of await membersOf(group)) if (pid !== group) send(pid, 'SIGTERM')
  if (!spareLeader) send(-group, 'SIGTERM')
  await Promise.race([ended, sleep(GRACE_MS, undefined, { ref: false })])
  send(-group, 'SIGKILL')
  await ended
}

/** Kills the group at once: what a finished command left running. */
export function killGroup(group: number): void {
  send(-group, 'SIGKILL')
}

/** Kills processes that carry one of our marks: those that left their group, and those of a host process that is dead (F328). */
export async function killMarked(isOurs: (mark: string) => boolean | Promise<boolean>): Promise<void> {
  for (const pid of await processes()) {
    const mark = await markOf(pid)
    if (mark !== null && pid !== process.pid && (await isOurs(mark))) send(pid, 'SIGKILL')
  }
}

/** A process by number and start time: a number alone may have a new owner. Null: no such process. */
export async function identityOf(pid: number): Promise<string | null> {
  const fields = await statOf(pid)
  return fields === null || fields[0] === 'Z' ? null : `${pid}.${fields[19]}`
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // gone already: what was wanted
  }
}

async function membersOf(group: number): Promise<number[]> {
  const members: number[] = []
  for (const pid of await processes()) if ((await statOf(pid))?.[2] === `${group}`) members.push(pid)
  return members
}

async function processes(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
}

/** Fields of /proc/<pid>/stat after the command's name, which may hold anything: state, parent, group, … start time (index 19). */
async function statOf(pid: number): Promise<string[] | null> {
  const stat = await readProcess(`/proc/${pid}/stat`)
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

async function markOf(pid: number): Promise<string | null> {
  const environment = await readProcess(`/proc/${pid}/environ`)
  const entry = environment?.split('\0').find((line) => line.startsWith(`${MARK}=`))
  return entry === undefined ? null : entry.slice(MARK.length + 1)
}

async function readProcess(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return null // ended meanwhile, or another user's
    throw error
  }
}
