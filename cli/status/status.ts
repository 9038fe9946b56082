/** `switchyard status [ticket]`: one screen over everything, or one Ticket's story. Reads the ledger alone, so it works with Temporal down. */
import { ticketOf } from '../../core/ticket/scope.ts'
import { overview, ticketStory } from '../../ledger/story.ts'
import { withLedger } from '../ledger.ts'
import { parseScope } from '../scope.ts'
import { complain, type ExitCode, outputStyle, say, sayJson } from '../terminal.ts'
import { renderOverview } from './overview.ts'
import { renderStory } from './story.ts'
import { waitsFor } from './waits-for.ts'

/** `main` and `all` have no story of their own: what there is to say of them stands on the one screen. */
export async function status(written: string | undefined, { json = false }: { json?: boolean }): Promise<ExitCode> {
  const parsed = parseScope(written ?? 'all')
  if ('refused' in parsed) {
    complain(parsed.refused)
    return 2
  }
  const ticket = ticketOf(parsed.scope)
  return withLedger(async (db) => {
    if (ticket === null) {
      const found = await overview(db)
      if (json) sayJson(found)
      else say(renderOverview(found, outputStyle(), new Date()))
      return 0
    }
    const story = await ticketStory(db, ticket)
    if (!story) {
      complain(`there is no Ticket T-${ticket}. Those there are: switchyard status`)
      return 1
    }
    if (json) sayJson({ ...story, now: { ...story.now, waitsFor: waitsFor(ticket, story.now) } })
    else say(renderStory(story, outputStyle(), new Date()))
    return 0
  })
}
