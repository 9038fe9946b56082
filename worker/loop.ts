/** A piece of work that is done again and again: at once while there is some, then at a hint or after a pause. */
import type { Logger } from 'pino'

export interface Loop {
  hint(): void
  stop(): Promise<void>
}

/** `work` says how much it did; 0 means wait. What it throws is logged, and it is tried again after growing pauses up to 5 s. */
export function startLoop({
  name,
  work,
  idleMs,
  log,
}: {
  name: string
  work: (signal: AbortSignal) => Promise<number>
  idleMs: number
  log: Logger
}): Loop {
  const stopping = new AbortController()
  let wake = Promise.withResolvers<void>()
  const wait = async (ms: number) => {
    const timer = setTimeout(wake.resolve, ms)
    await wake.promise
    clearTimeout(timer)
  }
  const run = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        const done = await work(stopping.signal)
        failures = 0
        if (done === 0) await wait(idleMs) // a hint that came while we worked ends the wait at once
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        const pause = Math.min(100 * 2 ** failures, 5_000)
        log.warn({ err: error, loop: name, pause }, `${name} failed; it goes on`)
        await wait(pause)
      }
      wake = Promise.withResolvers()
    }
  }
  const ended = run()
  return {
    hint: () => wake.resolve(),
    async stop() {
      stopping.abort()
      wake.resolve()
      await ended
    },
  }
}
