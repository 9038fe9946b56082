/**
 * The life of a Session's workflow, the main one's and a Ticket's alike. It holds no words and no history of its own:
 * everything that matters is read again from the ledger, so start, continue-as-new and recovery are one path.
 */
import { allHandlersFinished, CancellationScope, condition, currentUpdateInfo, proxyActivities, setHandler } from '@temporalio/workflow'
import { ticketOf } from '../core/ticket/scope.ts'
import { createControl } from './control.ts'
import { type Address, type Command, close, type LedgerActivities, pause, QUEUES, resume, status, wake } from './protocol.ts'
import { type TurnEnd, turn } from './turn.ts'
import { createVisible } from './visibility.ts'

const ledger = proxyActivities<LedgerActivities>({
  taskQueue: QUEUES.ledger,
  startToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '1m' },
})

/** What comes after a turn that ended so: the next one at once, the next wake, or a wake or some time, whichever is first. */
const AFTER: Record<Exclude<TurnEnd, 'closed'>, 'at once' | 'wake' | 'wake or time'> = {
  more: 'at once',
  handoff: 'at once',
  stopped: 'at once',
  end: 'wake',
  idle: 'wake',
  budget: 'wake',
  blocked: 'wake',
  error: 'wake',
  unbuilt: 'wake or time',
}

export interface Life {
  /** `main` or `ticket-<n>`: the workflow's id and the scope of its pause. */
  scope: string
  rollAfter?: number
}

/** Returns `closed` when the Session's life is over, and `roll` when it wants to continue as new with the same input. */
export async function live({ scope, rollAfter }: Life): Promise<'closed' | 'roll'> {
  const control = createControl(rollAfter)
  const ticket = ticketOf(scope)
  let woken = true
  let at: Address | null = null
  let opening = Number.POSITIVE_INFINITY
  let closing = 0
  const closed = () => closing >= opening

  // Handlers stand before the first await: an update without one would be rejected.
  setHandler(wake, () => {
    woken = true
  })
  setHandler(status, () => ({ at, held: control.held }))
  const validator = validCommand(scope)
  // A command with a mark is in the ledger already. A raw pause holds first and is written then; the others are written first.
  setHandler(
    pause,
    async ({ mark, by, reason }) => {
      if (mark) {
        control.pause(mark)
        return mark
      }
      const { id } = currentUpdateInfo()!
      const unwritten = { scope: `raw-${id}`, generation: 1 }
      control.pause(unwritten)
      try {
        const written = await CancellationScope.nonCancellable(() => ledger.recordPause({ scope, id, by, reason }))
        control.pause(written)
        return written
      } finally {
        control.resume(unwritten) // also when the row was refused: nobody could lift it
      }
    },
    { validator, description: 'Hold this Session: {"by": "<who>", "reason": "<why>"}' },
  )
  setHandler(
    resume,
    async ({ mark, by, reason }) => {
      const written = mark ?? (await ledger.recordResume({ scope, id: currentUpdateInfo()!.id, by, reason }))
      control.resume(written)
      woken = true
      return written
    },
    { validator, description: 'Lift the hold: {"by": "<who>", "reason": "<why>"}' },
  )
  if (ticket !== null) {
    setHandler(
      close,
      async ({ mark, by, reason }) => {
        const written = mark ?? (await ledger.recordClose({ scope, id: currentUpdateInfo()!.id, by, reason }))
        closing = Math.max(closing, written.generation)
        if (closed()) control.cut()
        return written
      },
      { validator, description: 'Close this Ticket: {"by": "<who>", "reason": "<why>"}' },
    )
  }

  const opened = await ledger.openSession({ scope })
  if (!opened) {
    await condition(allHandlersFinished)
    return 'closed'
  }
  at = opened.at
  opening = opened.opening
  for (const hold of opened.holds) control.pause(hold)
  const visible = createVisible(ticket === null ? 'main' : 'executor', ticket, opened.threads)

  let blocked = false
  for (let unbuilt = 0; ; ) {
    if (!woken || control.held) visible.show(blocked ? 'blocked' : 'waiting', control.held, at)
    await condition(() => closed() || (!control.held && woken))
    if (closed()) break
    woken = false
    visible.show('working', false, at)
    const end = await turn(at, control)
    if (end === 'closed') break
    if (end === 'handoff' || control.rolling) {
      await condition(allHandlersFinished)
      return 'roll'
    }
    blocked = end === 'blocked' || end === 'budget' || end === 'error'
    unbuilt = end === 'unbuilt' ? unbuilt + 1 : 0
    if (AFTER[end] === 'wake or time') await waitOrWake(unbuilt, () => closed() || woken)
    if (AFTER[end] !== 'wake') woken = true
  }
  visible.show('closed', false, null)
  await condition(allHandlersFinished)
  return 'closed'
}

/** A prompt that could not be built is tried again after 1, 2, 4, … 15 minutes, or at the next wake (spec C9). */
async function waitOrWake(unbuilt: number, happened: () => boolean): Promise<void> {
  await condition(happened, Math.min(2 ** (unbuilt - 1), 15) * 60_000)
}

/** Synchronous, as validators must be. What it lets through must not make a handler throw: that would stop the whole workflow. */
const validCommand =
  (scope: string) =>
  (command: Command): void => {
    const { by, reason, mark } = command ?? {}
    if (typeof by !== 'string' || typeof reason !== 'string') throw new Error('expected {"by": "<who>", "reason": "<why>"}')
    const known = mark === undefined || ([scope, 'all'].includes(mark?.scope) && Number.isSafeInteger(mark.generation))
    if (!known) throw new Error('leave `mark` out: only a command that is in the ledger has one')
  }
