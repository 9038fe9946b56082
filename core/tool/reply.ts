/** Words to people (spec H3, H4). */
import { z } from 'zod'
import { WORD_LIMITS } from '../message/limits.ts'
import { REPLY_PURPOSES } from '../message/purpose.ts'
import { ledgerNumber } from './ledger-number.ts'
import { tool } from './tool.ts'

export const reply = tool({
  name: 'reply',
  for: ['executor'],
  nature: 'effect',
  place: 'channel',
  description: `Write to people, as a reply under the message that you answer. It notifies them, so choose it only for one of its purposes:

"result": a new pull request is ready for review, or this is the answer that the request asked for.
Only under a message that this Ticket has claimed.
"cannot_complete": the work cannot be finished; say why and what would make it possible. Once for a Ticket.

"text" has at most ${WORD_LIMITS.message} words; too long is refused with the count, so shorten it yourself. The opening
sentence and the sign of the agent are added for you. The answer is the link. A purpose that was already used for this message is refused with
the link to what stands there: there is no need to say it again.`,
  input: z.strictObject({
    message: ledgerNumber().describe('the number on the Trigger card'),
    purpose: z.enum(REPLY_PURPOSES),
    text: z.string().trim().min(1).max(10_000),
  }),
})
