/** The failure of everything at once, for a span: connections are refused, or answered 503; webhooks wait for its end. */

/** The listening socket: closed, and opened again at the same port. */
export interface Line {
  cut(): void
  restore(): Promise<void>
}

export interface Outage {
  begin(ms: number, answer: '503' | 'refused'): void
  /** Before its span is over; the line is there again when it resolves. */
  end(): Promise<void>
  isOn(): boolean
  over(): Promise<void>
  /** The offline GitHub closes: nothing is restored any more. */
  stop(): void
}

interface Running {
  answer: '503' | 'refused'
  timer: NodeJS.Timeout
  over: PromiseWithResolvers<void>
}

export function createOutage(line: Line, loud: (line: string) => void): Outage {
  let running: Running | null = null

  async function end(): Promise<void> {
    const ended = stopped()
    if (ended?.answer === 'refused') await line.restore()
    ended?.over.resolve()
  }

  function stopped(): Running | null {
    const ended = running
    running = null
    if (ended) clearTimeout(ended.timer)
    return ended
  }

  return {
    begin(ms, answer) {
      const timer = setTimeout(() => {
        end().catch((error: unknown) => loud(`offline GitHub: its line cannot be restored after the outage: ${String(error)}`))
      }, ms)
      running = { answer, timer, over: Promise.withResolvers() }
      if (answer === 'refused') line.cut()
    },
    end,
    isOn: () => running !== null,
    over: () => running?.over.promise ?? Promise.resolve(),
    stop: () => stopped()?.over.resolve(),
  }
}
